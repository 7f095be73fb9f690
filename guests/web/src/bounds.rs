//! How much of a page is read. Its tree is held in memory, and reading a tag takes the longer, the deeper it stands.

/// Tags that are read: each is a node.
const MAX_TAGS: usize = 60_000;
/// Tags that may be open at once.
const MAX_OPEN: usize = 400;

/// Elements that are never open, or that are closed by the next one without being told.
const NOT_NESTED: &[&str] = &[
    "area", "base", "body", "br", "col", "dd", "dt", "embed", "head", "hr", "html", "img", "input", "li", "link",
    "meta", "option", "p", "param", "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
];
/// Elements in which no tag begins but their own end.
const RAW: &[&str] = &["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"];

/// Where reading ends; none: at the end.
pub fn end(html: &str) -> Option<usize> {
    let (mut tags, mut open, mut at) = (0_usize, 0_usize, 0_usize);
    while let Some(begin) = find(html, at, "<") {
        let behind = html.get(begin + 1..)?;
        at = begin + 1;
        if behind.starts_with("!--") {
            at = find(html, at, "-->")?;
            continue;
        }
        let (is_end, behind) = behind.strip_prefix('/').map_or((false, behind), |behind| (true, behind));
        let length = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(behind.len());
        let name = behind.get(..length)?.to_ascii_lowercase();
        if name.is_empty() {
            continue;
        }
        tags += 1;
        if !NOT_NESTED.contains(&name.as_str()) {
            open = if is_end { open.saturating_sub(1) } else { open + 1 };
        }
        if tags > MAX_TAGS || open > MAX_OPEN {
            return Some(begin);
        }
        if !is_end && RAW.contains(&name.as_str()) {
            // As it is written by nearly everybody; another spelling only counts more tags than there are.
            at = find(html, at, &format!("</{name}")).unwrap_or(at);
        }
    }
    None
}

fn find(html: &str, from: usize, what: &str) -> Option<usize> {
    html.get(from..)?.find(what).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_page_is_read_to_its_end() {
        let long = "<p>a<br><li><a href=x>b</a><img src=y>".repeat(10_000);
        assert_eq!(end(&long), None);
        let code = format!("<script>{}</script><!-- {} -->", "'<div>'".repeat(1_000), "<div>".repeat(1_000));
        assert_eq!(end(&code.repeat(3)), None);
        assert_eq!(end(&"<div><b></b></div>".repeat(10_000)), None);
    }

    #[test]
    fn a_page_without_end_is_cut_before_a_tag() {
        let deep = "<div>".repeat(100_000);
        assert_eq!(end(&deep), Some(MAX_OPEN * "<div>".len()));
        let long = "<p>ä".repeat(100_000);
        assert_eq!(end(&long), Some(MAX_TAGS * "<p>ä".len()));
        for odd in ["<", "</", "<!--", "< a", "<\u{e4}", "<script>", "a", ""] {
            assert_eq!(end(odd), None, "{odd}");
        }
    }
}
