//! How this program words what others said.

/// The system's sentence in this program's manner: no capital, no number behind it.
pub(crate) fn plain(text: &str) -> String {
    let text = text.split(" (os error").next().unwrap_or(text);
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}
