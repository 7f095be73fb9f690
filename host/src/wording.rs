//! How this program words what others said.

mod invisible;

pub(crate) use invisible::Invisible;

/// The system's sentence in this program's manner: no capital, no number behind it.
pub(crate) fn plain(text: &str) -> String {
    let text = text.split(" (os error").next().unwrap_or(text);
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

/// How many there are of something.
pub(crate) fn count(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// A number of bytes as it is read by people.
pub(crate) fn bytes(bytes: u64) -> String {
    let mut size = bytes as f64;
    for unit in ["B", "KB", "MB", "GB"] {
        if size < 1000.0 {
            let digits = usize::from(unit != "B" && size < 9.95);
            return format!("{size:.digits$} {unit}");
        }
        size /= 1000.0;
    }
    format!("{size:.1} TB")
}

/// The innermost reason of an error of the connection. The outer ones repeat the address, query and all.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    match inner.downcast_ref::<reqwest::Error>() {
        // Its own text holds the address; there is nothing better below it.
        Some(_) => "the connection failed".to_owned(),
        None => plain(&inner.to_string()),
    }
}

/// The text with everything escaped that a terminal would obey, but for the ends of lines and tabs: control characters,
/// and those that turn the direction of what follows.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.replace("\r\n", "\n").chars() {
        match character {
            '\n' | '\t' => shown.push(character),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => shown.extend(character.escape_unicode()),
            control if control.is_control() => shown.extend(control.escape_unicode()),
            other => shown.push(other),
        }
    }
    shown
}
