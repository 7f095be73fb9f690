//! Attachments that a person sends along with a message: files, and addresses of what the model's side fetches.

use anyhow::bail;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bub_types::text;
use bub_types::{MediaItem, MediaKind, MessageKind, Provenance};
use infer::MatcherType;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// All files of one message together, in bytes. In base64 they are a third more, which still fits one request
/// ([`MAX_SENT`](bub_tape::MAX_SENT)) and leaves room for the conversation.
const MAX_BYTES: u64 = 20_000_000;

/// Attachments of one message.
pub const MAX_ITEMS: usize = 16;

/// The type of the file behind an address, by how its path ends.
const ENDINGS: &[(&str, MediaKind, &str)] = &[
    ("png", MediaKind::Image, "image/png"),
    ("jpg", MediaKind::Image, "image/jpeg"),
    ("jpeg", MediaKind::Image, "image/jpeg"),
    ("gif", MediaKind::Image, "image/gif"),
    ("webp", MediaKind::Image, "image/webp"),
    ("mp4", MediaKind::Video, "video/mp4"),
    ("webm", MediaKind::Video, "video/webm"),
    ("mov", MediaKind::Video, "video/quicktime"),
    ("mpeg", MediaKind::Video, "video/mpeg"),
    ("pdf", MediaKind::Document, "application/pdf"),
];

/// Endings of sound, which no server fetches.
const SOUND: &[&str] = &["mp3", "wav", "ogg", "opus", "flac", "m4a", "aac"];

/// Each a path, or an `https:` address that is passed on as it is. File types are detected from content, not from names.
///
/// A file is `written`: you vouch for what you attach as for what you paste. Below `foreign`, a workspace that is not
/// trusted, it is `attached`, because a tool that reads the same file taints the turn too.
///
/// # Errors
///
/// A file that cannot be read, or is neither image, sound, video nor document; an address that no server would be
/// given; more than 20 MB together; a command, which would not see them.
pub fn items(places: &[String], kind: MessageKind, foreign: Option<&Path>) -> anyhow::Result<Vec<MediaItem>> {
    if kind == MessageKind::Command && !places.is_empty() {
        bail!("a command takes no attachments: say it without the comma, or leave them out");
    }
    if places.len() > MAX_ITEMS {
        bail!("a message takes {MAX_ITEMS} attachments, not {}", places.len());
    }
    let mut left = MAX_BYTES;
    let foreign = foreign.and_then(|folder| folder.canonicalize().ok());
    let item = |place: &String| match is_address(place) {
        true => address(place),
        false => file(place, &mut left, foreign.as_deref()),
    };
    places.iter().map(item).collect()
}

/// An attachment of a channel. Its data determines its type, not its name or its declared type.
///
/// # Errors
///
/// Why it cannot be attached, as a note in the message.
pub fn received(item: MediaItem) -> Result<MediaItem, String> {
    if item.url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://")) {
        return Ok(item);
    }
    let data = item.url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let Some((_, data)) = data else { return Err("it is neither data nor an `https` address".to_owned()) };
    let bytes = STANDARD.decode(data).map_err(|_| "its data is no base64".to_owned())?;
    let (kind, mime_type) = kind_of(&bytes).ok_or("it is no image, sound, video or document")?;
    let url = format!("data:{mime_type};base64,{data}");
    Ok(self::item(kind, mime_type, item.filename.as_deref(), url, item.provenance))
}

/// `https://...`, or another scheme in its place.
fn is_address(place: &str) -> bool {
    let scheme = place.split_once("://").map_or("", |(scheme, _)| scheme);
    !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        || place.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

fn address(url: &str) -> anyhow::Result<MediaItem> {
    let shown: String = url.escape_debug().take(200).collect();
    if !url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://")) {
        bail!("`{shown}` cannot be attached: an address begins with `https://`, anything else has to be a file");
    }
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    if SOUND.contains(&ending.as_str()) {
        bail!("`{shown}` cannot be attached: models take sound as data, so download it and attach the file");
    }
    let Some((_, kind, mime_type)) = ENDINGS.iter().find(|(known, ..)| *known == ending) else {
        let known: Vec<&str> = ENDINGS.iter().map(|(ending, ..)| *ending).collect();
        bail!(
            "what `{shown}` is cannot be told: its path ends with none of {}; download it and attach the file",
            known.join(", ")
        );
    };
    Ok(item(*kind, mime_type, Some(name), url.to_owned(), Provenance::Attached))
}

/// A file as a `data:` URL; what is left of the room for files grows smaller by it.
fn file(path: &str, left: &mut u64, foreign: Option<&Path>) -> anyhow::Result<MediaItem> {
    let file = Path::new(path);
    let is_foreign = foreign.is_some_and(|foreign| file.canonicalize().is_ok_and(|file| file.starts_with(foreign)));
    let path = path.escape_debug();
    let bytes = match read(file, *left) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => bail!(
            "`{path}` cannot be attached: the files of a message come to at most {} together",
            text::bytes(MAX_BYTES)
        ),
        Err(error) => bail!("`{path}` cannot be attached: {}", text::plain(&error.to_string())),
    };
    *left = left.saturating_sub(bytes.len() as u64);
    let Some((kind, mime_type)) = kind_of(&bytes) else {
        bail!("`{path}` cannot be attached: it is no image, sound, video or document");
    };
    let url = format!("data:{mime_type};base64,{}", STANDARD.encode(&bytes));
    let name = file.file_name().map(|name| name.to_string_lossy());
    let provenance = if is_foreign { Provenance::Attached } else { Provenance::Written };
    Ok(item(kind, mime_type, name.as_deref(), url, provenance))
}

/// The content of a file; `None` when it is longer than `most`.
fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    // A pipe would be waited for.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// The kind of a file, and its MIME type.
fn kind_of(bytes: &[u8]) -> Option<(MediaKind, &'static str)> {
    let found = infer::get(bytes);
    let mime_type = found.map(|found| found.mime_type()).unwrap_or_default();
    if matches!(mime_type, "application/pdf" | "application/rtf") {
        return Some((MediaKind::Document, mime_type));
    }
    // Before anything else that is found: two letters are enough for some kinds of images.
    if is_text(bytes) {
        return Some((MediaKind::Document, "text/plain"));
    }
    match found?.matcher_type() {
        MatcherType::Image => Some((MediaKind::Image, mime_type)),
        MatcherType::Video => Some((MediaKind::Video, mime_type)),
        // The file is a container, whatever it contains.
        MatcherType::Audio if mime_type == "audio/opus" => Some((MediaKind::Audio, "audio/ogg")),
        MatcherType::Audio if mime_type == "audio/x-wav" => Some((MediaKind::Audio, "audio/wav")),
        MatcherType::Audio => Some((MediaKind::Audio, mime_type)),
        MatcherType::Doc | MatcherType::Book => Some((MediaKind::Document, mime_type)),
        _ => None,
    }
}

/// Whether it is UTF-8 that a person can read.
fn is_text(bytes: &[u8]) -> bool {
    let is_read = |c: char| !c.is_control() || c.is_whitespace() || c == '\u{1b}';
    !bytes.is_empty() && std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(is_read))
}

fn item(kind: MediaKind, mime_type: &str, name: Option<&str>, url: String, provenance: Provenance) -> MediaItem {
    let filename = name.filter(|name| !name.is_empty()).map(str::to_owned);
    MediaItem { kind, mime_type: mime_type.to_owned(), filename, url, provenance }
}
