//! Limits on the structure of a page. Its tree is in memory, and parsing a tag takes longer at greater depth.

/// Maximum tags: each is a node.
const MAX_TAGS: usize = 60_000;
/// Maximum open tags.
const MAX_OPEN: usize = 400;

/// Void elements, and those that the next one closes implicitly.
const NOT_NESTED: &[&str] = &[
    "area", "base", "body", "br", "col", "dd", "dt", "embed", "head", "hr", "html", "img", "input", "li", "link",
    "meta", "option", "p", "param", "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
];
/// Elements whose content is raw text up to their end tag.
const RAW: &[&str] = &["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"];

/// Where to truncate the page; `None`: not at all.
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
            // The usual spelling; with another one, more tags are counted than there are.
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
