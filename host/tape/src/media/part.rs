//! Finding media in messages.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::super::json;
use super::replaced;
use bub_types::text;

/// The text around a placeholder's number.
const MARK: [&str; 2] = ["{{media:", "}}"];

/// Precedes the data of a `data:` URL.
const BASE64: &str = ";base64,";

/// Bytes of a URL that are examined to find its type.
const HEAD: usize = 256;

/// Parts that are media even without inline data.
const MEDIA: [&str; 7] = ["image_url", "video_url", "audio_url", "input_audio", "file", "image", "document"];

/// Parts with a member `data`: audio, and Anthropic's sources.
const OWN_DATA: [&str; 2] = ["input_audio", "source"];

/// Substrings that data requires. Prepared once: building a searcher costs more than searching a short message.
static SIGNS: LazyLock<[Finder<'static>; 3]> = LazyLock::new(|| [BASE64, OWN_DATA[0], OWN_DATA[1]].map(Finder::new));

/// The parts of a chat message, or of a list of parts; none if the content is a text.
pub(super) fn media_parts(json: &str) -> Vec<&str> {
    let list = if json.trim_start().starts_with('[') { Some(json) } else { json::get(json, "content") };
    list.filter(|list| list.starts_with('[')).and_then(|list| json::elements(list).ok()).unwrap_or_default()
}

/// Ranges of data or placeholders in a chat message or a list of parts, in order.
pub(super) fn places(json: &str) -> Vec<Range<usize>> {
    if !SIGNS.iter().any(|sign| sign.find(json.as_bytes()).is_some()) {
        return Vec::new();
    }
    media_parts(json).into_iter().flat_map(|part| places_in(part, json)).collect()
}

/// The range of `part` within `whole`.
pub(super) fn place_of(part: &str, whole: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    start..start + part.len()
}

/// The range of the data of a base64 `data:` URL.
pub(super) fn in_url(url: &str) -> Option<Range<usize>> {
    let start = url.get(..HEAD).unwrap_or(url).find(BASE64)? + BASE64.len();
    let is_data = url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
    (is_data && start < url.len()).then_some(start..url.len())
}

pub(super) fn written(number: usize) -> String {
    format!("{}{number}{}", MARK[0], MARK[1])
}

/// The number of the placeholder at that range, if it is one.
pub(super) fn mark(text: &str, place: &Range<usize>) -> Option<usize> {
    text.get(place.clone())?.strip_prefix(MARK[0])?.strip_suffix(MARK[1])?.parse().ok()
}

/// The message for searches: without the data of its media, in which any short word occurs.
pub(crate) fn without_data(message: &str) -> Cow<'_, str> {
    replaced(message, places(message).into_iter().map(|place| (place, "")))
}

/// Describes a media part: `[image/png, 48 KB]`. `None` for a text or an unknown part. `size` returns the bytes of a
/// placeholder's data.
pub fn told(part: &str, size: &dyn Fn(usize) -> Option<u64>) -> Option<String> {
    let kind = json::get(part, "type").and_then(json::string)?;
    let place = places_in(part, part).next();
    if place.is_none() && !MEDIA.contains(&kind.as_str()) {
        return None;
    }
    let inner = json::get(part, &kind).unwrap_or(part);
    let address = ["url", "file_data"].iter().find_map(|key| json::get(inner, key)).unwrap_or(inner);
    let address = address.strip_prefix('"').and_then(|address| address.strip_suffix('"')).unwrap_or_default();
    let what = match address.get(..5) {
        Some(scheme) if scheme.eq_ignore_ascii_case("data:") => {
            let head: String = address.chars().skip(5).take(HEAD).collect();
            head.split([';', ',']).next().unwrap_or_default().to_owned()
        }
        Some(_) => format!("{}, {}", noun(&kind), address.chars().take(HEAD).collect::<String>()),
        None => match json::get(inner, "format").and_then(json::string) {
            Some(format) => format!("audio/{format}"),
            None => noun(&kind).to_owned(),
        },
    };
    let name = json::get(inner, "filename").and_then(json::string).map(|name| format!("{name}, ")).unwrap_or_default();
    let bytes = place.and_then(|place| {
        let bytes = match mark(part, &place) {
            Some(number) => size(number)?,
            None => decoded(part.get(place)?),
        };
        Some(format!(", {}", text::bytes(bytes)))
    });
    Some(format!("[{name}{what}{}]", bytes.unwrap_or_default()))
}

/// The number of bytes that base64 text encodes.
pub(super) fn decoded(data: &str) -> u64 {
    data.trim_end_matches('=').len() as u64 * 3 / 4
}

fn noun(kind: &str) -> &str {
    kind.strip_suffix("_url").or_else(|| kind.strip_prefix("input_")).unwrap_or(kind)
}

/// Ranges of data or placeholders in one part of `whole`.
pub(super) fn places_in<'a>(part: &'a str, whole: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    let is_text = json::get(part, "type") == Some("\"text\"");
    let part = if is_text { "" } else { part };
    let urls = memchr::memmem::find_iter(part.as_bytes(), BASE64.as_bytes()).filter_map(|at| {
        let rest = part.get(at + BASE64.len()..)?;
        rest.get(..memchr::memchr(b'"', rest.as_bytes())?)
    });
    let own = OWN_DATA.iter().filter_map(|key| {
        let data = json::get(json::get(part, key)?, "data")?;
        data.strip_prefix('"')?.strip_suffix('"')
    });
    let data = urls.chain(own).map(move |data| place_of(data, whole));
    data.filter(|place| {
        let data = whole.get(place.clone()).unwrap_or_default();
        !data.is_empty() && (mark(whole, place).is_some() || data.bytes().all(is_base64))
    })
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}
