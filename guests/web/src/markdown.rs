//! Conversion of HTML to Markdown.

use crate::{bounds, prune};
use htmd::HtmlToMarkdown;
use htmd::options::{BulletListMarker, Options};
use url::Url;

/// The content of a page, and whether it was truncated.
pub fn of_html(html: String, url: &Url) -> (String, bool) {
    let end = bounds::end(&html);
    let html = end.and_then(|end| html.get(..end)).unwrap_or(&html);
    let converter = HtmlToMarkdown::builder().options(options()).scripting_enabled(false).build();
    // Reading from memory cannot fail.
    let Ok(tree) = converter.html_to_tree(html) else { return (html.to_owned(), end.is_some()) };
    let title = prune::title(&tree);
    let content = prune::content(&tree, url);
    let text = converter.tree_to_markdown(&content);
    let has_heading = text.lines().any(|line| line.starts_with("# "));
    let text = match title {
        Some(title) if !has_heading => format!("# {title}\n\n{text}"),
        _ => text.trim_end().to_owned(),
    };
    (text, end.is_some())
}

fn options() -> Options {
    Options {
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn markdown(html: &str) -> String {
        of_html(html.to_owned(), &Url::parse("https://a.org/b/c").unwrap()).0
    }

    #[test]
    fn a_page_keeps_its_content_and_loses_its_noise() {
        let page = "<!doctype html><html><head><title>The title</title><style>p{}</style><script>x()</script></head><body>\
            <nav><a href=/>Home</a></nav><h2>Part</h2><p>One <b>two</b> <a href='d?e#f'>three</a>.</p>\
            <ul><li>a</li><li>b</li></ul><pre><code>x &lt; y\n</code></pre><img src=/i.png alt=Pic>\
            <script>evil()</script><noscript>turn it on</noscript><footer>imprint</footer><p hidden>unseen</p></body></html>";
        let text = markdown(page);
        let expected = "# The title\n\n## Part\n\nOne **two** [three](https://a.org/b/d?e#f).\n\n- a\n- b\n\n```\nx < y\n```\n\n\
            ![Pic](https://a.org/i.png)";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_main_element_of_a_page_is_its_content() {
        let part = "word ".repeat(100);
        let page = format!("<title>T</title><div>menu</div><main><h1>Head</h1><p>{part}</p></main><div>more</div>");
        assert_eq!(markdown(&page), format!("# Head\n\n{}", part.trim_end()));
        // A nearly empty main element is filled by a script, or not the main part.
        assert!(markdown("<main></main><p>all of it</p>").contains("all of it"));
    }

    #[test]
    fn links_are_whole_and_those_that_lead_nowhere_are_text() {
        let page = "<base href='https://x.org/y/'><p><a href=z>z</a> <a href='javascript:evil()'>js</a> <a href='#part'>part</a> \
            <a href='mailto:me@a.org'>mail</a> <a href=q></a><img src='data:image/png;base64,AAAA'></p>";
        assert_eq!(markdown(page), "[z](https://x.org/y/z) js part [mail](mailto:me@a.org)");
    }

    #[test]
    fn code_has_no_links_and_headings_no_marks() {
        let page = "<h2><a href='#part'>\u{a7}</a>Part</h2><pre><code>let a: <a href=/b>B</a>;</code></pre>\
            <p><a href=/c title='much more'>C</a><sup><a href='#note'>[1]</a></sup></p>";
        assert_eq!(markdown(page), "## Part\n\n```\nlet a: B;\n```\n\n[C](https://a.org/c)\\[1\\]");
    }

    #[test]
    fn a_hostile_page_ends_as_well() {
        for tags in ["<div>", "<b><i>", "<table><tr><td>", "<blockquote><ul><li>", "<pre><code>", "<a href=x>"] {
            let page = format!("<p>before</p>{}deep", tags.repeat(100_000));
            let (text, is_cut) = of_html(page, &Url::parse("https://a.org").unwrap());
            assert!(is_cut && text.starts_with("before"), "{tags}");
        }
        assert!(markdown(&("<div><span>".repeat(150) + "deep")).contains("deep"));
        for page in ["", "<", "<!--", "<?php echo 1 ?>", "<![CDATA[x]]>", "\u{0}\u{fffd}", "<svg><p>a", "</p>"] {
            let _ = markdown(page);
        }
    }
}
