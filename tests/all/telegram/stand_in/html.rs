//! The HTML that Telegram reads.

const TAGS: [&str; 13] =
    ["b", "strong", "i", "em", "u", "s", "strike", "del", "code", "pre", "a", "blockquote", "tg-spoiler"];

/// Its visible text.
///
/// # Errors
///
/// The error in it, similar to Telegram's message.
pub fn seen(html: &str) -> Result<String, String> {
    let (mut seen, mut open) = (String::new(), Vec::<&str>::new());
    let mut rest = html;
    while let Some(c) = rest.chars().next() {
        let at = html.len() - rest.len();
        match c {
            '<' => {
                let end = rest.find('>').ok_or_else(|| format!("Unclosed start tag at byte offset {at}"))?;
                let tag = &rest[1..end];
                rest = &rest[end + 1..];
                match tag.strip_prefix('/') {
                    Some(name) if open.pop() == Some(name) => {}
                    Some(name) => return Err(format!("Unmatched end tag at byte offset {at}, found \"</{name}>\"")),
                    None => {
                        let name = tag.split(' ').next().unwrap_or_default();
                        let is_closed = tag.matches('"').count().is_multiple_of(2);
                        if !TAGS.contains(&name) || !is_closed {
                            return Err(format!("Unsupported start tag \"{name}\" at byte offset {at}"));
                        }
                        open.push(name);
                    }
                }
            }
            '&' => {
                let known = [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"')];
                let entity = known.into_iter().find(|(written, _)| rest.starts_with(written));
                seen.push(entity.map_or('&', |(_, meant)| meant));
                rest = &rest[entity.map_or(1, |(written, _)| written.len())..];
            }
            c => {
                seen.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    match open.pop() {
        Some(name) => Err(format!("Can't find end tag corresponding to start tag \"{name}\"")),
        None => Ok(seen),
    }
}
