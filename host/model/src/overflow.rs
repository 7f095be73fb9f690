//! Detection of context overflow in server errors.

use std::sync::LazyLock;

use regex::Regex;

/// Bub's expression. Servers have no common code for this, so the wording decides.
///
/// The pattern is fixed, and a test compiles it; `ok()` avoids a panic.
static TOO_LONG: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)context.{0,20}(?:length|window)|maximum.{0,20}context|token.{0,10}limit|prompt.{0,10}too long|tokens? > \d+ maximum",
    )
    .ok()
});

/// Whether `text`, an error's message or code, says that the context is too long.
pub fn is_context_length(text: &str) -> bool {
    TOO_LONG.as_ref().is_some_and(|pattern| pattern.is_match(text))
}
