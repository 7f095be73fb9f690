//! Extraction of a page's content.

use markup5ever_rcdom::{Node, NodeData};
use std::rc::Rc;
use url::Url;

/// Elements without content about the page's subject.
const NOISE: &[&str] = &[
    "script", "style", "noscript", "template", "head", "nav", "footer", "aside", "form", "iframe", "svg", "canvas",
    "object", "embed", "audio", "video", "button", "select", "input", "textarea", "dialog", "link", "meta", "base",
];
/// Maximum nesting; deeper elements are reduced to text, because the converter is recursive.
const MAX_DEPTH: usize = 150;
/// Minimum characters of a main part: a shorter one is filled by a script.
const MIN_MAIN: usize = 200;

/// The title.
pub fn title(tree: &Rc<Node>) -> Option<String> {
    let title = find(tree, |node| name(node) == Some("title"))?;
    let text = text(&title).split_whitespace().collect::<Vec<_>>().join(" ");
    Some(text).filter(|text| !text.is_empty())
}

/// The content of the page, with absolute links.
pub fn content(tree: &Rc<Node>, url: &Url) -> Rc<Node> {
    let base = find(tree, |node| name(node) == Some("base") && attribute(node, "href").is_some());
    let base = base.and_then(|base| url.join(&attribute(&base, "href")?).ok());
    clean(tree, base.as_ref().unwrap_or(url));
    let is_main = |node: &Node| {
        name(node) == Some("main") || attribute(node, "role").is_some_and(|role| role.eq_ignore_ascii_case("main"))
    };
    let is_enough = |node: &Rc<Node>| text(node).chars().filter(|c| !c.is_whitespace()).count() >= MIN_MAIN;
    find(tree, is_main).filter(is_enough).unwrap_or_else(|| tree.clone())
}

/// Removes other elements. Iterative, since the page controls its depth.
fn clean(tree: &Rc<Node>, base: &Url) {
    let mut left = vec![(tree.clone(), 0, false)];
    while let Some((node, depth, is_code)) = left.pop() {
        let is_code = is_code || matches!(name(&node), Some("pre" | "code"));
        make_whole(&node, base, is_code);
        if depth >= MAX_DEPTH {
            let texts = texts(&node);
            *node.children.borrow_mut() = texts;
            continue;
        }
        node.children.borrow_mut().retain(|child| !is_noise(child));
        left.extend(node.children.borrow().iter().map(|child| (child.clone(), depth + 1, is_code)));
    }
}

fn is_noise(node: &Rc<Node>) -> bool {
    let Some(name) = name(node) else {
        return matches!(node.data, NodeData::Comment { .. } | NodeData::ProcessingInstruction { .. });
    };
    let says = |key: &str, value: &str| attribute(node, key).is_some_and(|said| said.eq_ignore_ascii_case(value));
    let is_empty_link =
        || name == "a" && text(node).trim().is_empty() && find(node, |n| self::name(n) == Some("img")).is_none();
    NOISE.contains(&name)
        || attribute(node, "hidden").is_some()
        || says("aria-hidden", "true")
        || says("role", "navigation")
        || name == "img" && attribute(node, "src").is_none_or(|source| source.starts_with("data:"))
        || is_empty_link()
        || is_mark(node)
}

/// A symbol next to a heading that links to it.
fn is_mark(node: &Rc<Node>) -> bool {
    let leads_here = || attribute(node, "href").is_some_and(|target| target.starts_with('#'));
    name(node) == Some("a") && leads_here() && !text(node).contains(char::is_alphanumeric)
}

/// Makes a link or an image absolute. Links within the page, and all links in code, are replaced by their text; titles
/// are removed.
fn make_whole(node: &Node, base: &Url, is_code: bool) {
    let NodeData::Element { attrs, .. } = &node.data else { return };
    let key = match name(node) {
        Some("a") => "href",
        Some("img") => "src",
        _ => return,
    };
    attrs.borrow_mut().retain_mut(|attribute| {
        if &*attribute.name.local != key {
            return &*attribute.name.local != "title";
        }
        let target = attribute.value.trim();
        let Ok(whole) = base.join(target) else { return false };
        if key == "href" && (is_code || target.starts_with('#'))
            || !matches!(whole.scheme(), "http" | "https" | "mailto" | "ftp" | "tel")
        {
            return false;
        }
        attribute.value = String::from(whole).into();
        true
    });
}

/// The first matching element in document order.
fn find(tree: &Rc<Node>, is_it: impl Fn(&Node) -> bool) -> Option<Rc<Node>> {
    let mut left = vec![tree.clone()];
    while let Some(node) = left.pop() {
        if is_it(&node) {
            return Some(node);
        }
        left.extend(node.children.borrow().iter().rev().cloned());
    }
    None
}

/// The text nodes below, in order.
fn texts(tree: &Rc<Node>) -> Vec<Rc<Node>> {
    let (mut left, mut found) = (vec![tree.clone()], Vec::new());
    while let Some(node) = left.pop() {
        if matches!(node.data, NodeData::Text { .. }) {
            found.push(node);
            continue;
        }
        if !name(&node).is_some_and(|name| NOISE.contains(&name)) {
            left.extend(node.children.borrow().iter().rev().cloned());
        }
    }
    found
}

fn text(tree: &Rc<Node>) -> String {
    let content = |node: Rc<Node>| match &node.data {
        NodeData::Text { contents } => contents.borrow().to_string(),
        _ => String::new(),
    };
    texts(tree).into_iter().map(content).collect()
}

fn name(node: &Node) -> Option<&str> {
    match &node.data {
        NodeData::Element { name, .. } => Some(&name.local),
        _ => None,
    }
}

fn attribute(node: &Node, key: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else { return None };
    attrs.borrow().iter().find(|attribute| &*attribute.name.local == key).map(|attribute| attribute.value.to_string())
}
