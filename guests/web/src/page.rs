//! Types and encodings of pages.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Bytes in which a page's declared encoding is searched, as in browsers.
const PROLOGUE: usize = 1024;

/// The kind of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Html,
    Text,
    Binary,
    /// Not declared.
    Unknown,
}

impl Kind {
    /// From the `content-type`.
    pub fn of_type(content_type: Option<&str>) -> Kind {
        let Some(content_type) = content_type else { return Kind::Unknown };
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let Some((family, name)) = essence.split_once('/') else { return Kind::Unknown };
        let ending = name.rsplit('+').next().unwrap_or_default();
        match (family, name) {
            ("text", "html") | ("application", "xhtml+xml") => Kind::Html,
            ("text", _) => Kind::Text,
            ("application", "octet-stream") => Kind::Unknown,
            ("application", "javascript" | "x-javascript" | "ecmascript" | "x-sh" | "sql" | "toml" | "graphql") => {
                Kind::Text
            }
            _ if ["json", "xml", "yaml", "x-yaml", "x-ndjson", "ndjson", "jsonlines"].contains(&ending) => Kind::Text,
            _ => Kind::Binary,
        }
    }

    /// From the content, if the type is not declared or evidently wrong.
    pub fn sniffed(self, body: &[u8]) -> Kind {
        let head = body.get(..PROLOGUE).unwrap_or(body);
        let is_wide = head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]);
        if head.contains(&0) && !is_wide {
            return Kind::Binary;
        }
        if self != Kind::Unknown {
            return self;
        }
        let start = String::from_utf8_lossy(head).trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
        match () {
            () if start.starts_with("<!doctype html") || start.starts_with("<html") => Kind::Html,
            // The last character may be truncated.
            () if is_wide || std::str::from_utf8(head).is_err_and(|error| error.error_len().is_some()) => Kind::Binary,
            () => Kind::Text,
        }
    }
}

/// Decodes the text: by byte order mark, the server's encoding, the page's own declaration, as UTF-8 if valid, or else
/// the web's legacy default.
pub fn decode(body: &[u8], content_type: Option<&str>, kind: Kind, is_cut: bool) -> String {
    let declared = content_type.and_then(charset).or_else(|| {
        let head = body.get(..PROLOGUE).unwrap_or(body);
        let head = (kind == Kind::Html).then(|| String::from_utf8_lossy(head).to_ascii_lowercase())?;
        charset(&head)
    });
    let is_utf8 = || std::str::from_utf8(body).err().is_none_or(|error| is_cut && error.error_len().is_none());
    let encoding = declared.unwrap_or_else(|| if is_utf8() { UTF_8 } else { WINDOWS_1252 });
    let (text, _, _) = encoding.decode(body);
    let text = if is_cut { text.trim_end_matches('\u{fffd}') } else { &*text };
    text.to_owned()
}

/// The encoding after `charset=`.
fn charset(text: &str) -> Option<&'static Encoding> {
    let lower = text.to_ascii_lowercase();
    let (_, behind) = lower.split_once("charset")?;
    let behind = behind.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let name = behind.split(|c: char| c.is_whitespace() || ['"', '\'', ';', '>', '/'].contains(&c)).next()?;
    Encoding::for_label(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_page_follows_its_declared_type() {
        for (content_type, kind) in [
            ("text/html; charset=utf-8", Kind::Html),
            ("Text/HTML", Kind::Html),
            ("application/xhtml+xml", Kind::Html),
            ("text/markdown", Kind::Text),
            ("application/json", Kind::Text),
            ("application/ld+json", Kind::Text),
            ("application/rss+xml; charset=x", Kind::Text),
            ("image/png", Kind::Binary),
            ("application/pdf", Kind::Binary),
            ("application/zip", Kind::Binary),
            ("application/octet-stream", Kind::Unknown),
            ("nonsense", Kind::Unknown),
        ] {
            assert_eq!(Kind::of_type(Some(content_type)), kind, "{content_type}");
        }
        assert_eq!(Kind::of_type(None), Kind::Unknown);
    }

    #[test]
    fn undeclared_content_is_detected_from_its_bytes() {
        for (body, kind) in [
            (b"\xef\xbb\xbf <!DOCTYPE html><p>".as_slice(), Kind::Html),
            (b"<HTML lang=de>", Kind::Html),
            (b"plain", Kind::Text),
            (b"\x7fELF\0", Kind::Binary),
            (b"\x89PNG", Kind::Binary),
            (b"", Kind::Text),
        ] {
            assert_eq!(Kind::Unknown.sniffed(body), kind, "{body:?}");
        }
        assert_eq!(Kind::Text.sniffed(b"a\0b"), Kind::Binary);
        assert_eq!(Kind::Text.sniffed(b"\xff\xfea\0"), Kind::Text);
    }

    #[test]
    fn text_is_decoded_with_the_declared_encoding() {
        let decoded = |body: &[u8], said: Option<&str>, kind| decode(body, said, kind, false);
        assert_eq!(decoded("ä".as_bytes(), None, Kind::Text), "ä");
        assert_eq!(decoded(b"\xe4", None, Kind::Text), "ä");
        assert_eq!(decoded(b"\xc4\xe3", Some("text/plain; charset=\"GBK\""), Kind::Text), "你");
        let page = b"<meta http-equiv=x content='text/html; charset=gb2312'>\xc4\xe3";
        assert!(decoded(page, Some("text/html"), Kind::Html).ends_with('你'));
        assert_eq!(decoded(b"\xff\xfea\0", Some("text/plain; charset=utf-8"), Kind::Text), "a");
        assert_eq!(decode(b"a\xe4\xbd", None, Kind::Text, true), "a");
    }
}
