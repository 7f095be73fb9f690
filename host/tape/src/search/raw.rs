//! Prefiltering of raw lines.
//!
//! Parsing a line costs ten times as much as scanning its bytes, and most lines do not match. The prefilter has false
//! positives, but no false negatives.

use super::matcher::Matcher;
use super::spelling::is_plain;
use super::tokens::Tokens;

impl Matcher {
    /// Whether the entry on a line may match literally.
    pub(super) fn may_be_literal(&self, line: &[u8]) -> bool {
        let look = RawLine(line);
        match self.words.iter().all(|word| word.literal.may_stand_in(line)) {
            true => !self.is_left_out(&look),
            false => !look.shows_all(),
        }
    }

    /// Whether the entry on a line may match with typing errors.
    pub(super) fn may_be_forgiven(&self, line: &[u8], tokens: &mut Tokens) -> bool {
        let look = RawLine(line);
        if self.is_left_out(&look) {
            return false;
        }
        if !look.shows_all() {
            return true;
        }
        // Skip the kind, which must not be taken for a word of the payload.
        let behind_kind = look.kind().map_or(line, |(_, rest)| rest);
        // A line that is not UTF-8 is not an entry.
        let Ok(text) = std::str::from_utf8(behind_kind) else { return false };
        self.edits(text, tokens, &mut |pattern| pattern.may_stand_in(line)).is_some()
    }

    /// Whether kind or date exclude the line.
    fn is_left_out(&self, look: &RawLine<'_>) -> bool {
        look.date().is_some_and(|date| !self.filter.accepts_date(date))
            || look.kind().is_some_and(|(kind, _)| !self.filter.accepts_kind(kind)) && look.has_one_kind()
    }
}

/// A line without its line end.
struct RawLine<'l>(&'l [u8]);

impl<'l> RawLine<'l> {
    /// Whether the entry's text occurs verbatim in the line. Otherwise it may be escaped differently, or the date be
    /// derived from a number.
    fn shows_all(&self) -> bool {
        self.date().is_some() && is_plain(self.0)
    }

    /// The date, if it is the line's last member (a member of an inner object would be followed by two brackets).
    /// `None` if it has an escape.
    fn date(&self) -> Option<&'l str> {
        let line = self.0.strip_suffix(b"\"}")?;
        let quote = memchr::memrchr(b'"', line)?;
        let (before, date) = line.split_at_checked(quote)?;
        if !before.ends_with(b", \"date\": ") || date.contains(&b'\\') {
            return None;
        }
        std::str::from_utf8(date.get(1..)?).ok()
    }

    /// The kind, if it is where this program and Bub write it, and the rest of the line. `None` if it has an escape.
    fn kind(&self) -> Option<(&'l str, &'l [u8])> {
        let digits = self.0.strip_prefix(b"{\"id\": ")?;
        let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
        let kind = digits.get(end..)?.strip_prefix(b", \"kind\": \"")?;
        let (kind, rest) = kind.split_at_checked(memchr::memchr2(b'"', b'\\', kind)?)?;
        Some((std::str::from_utf8(kind).ok()?, rest.strip_prefix(b"\"")?))
    }

    /// Whether no other member may be the kind; the last one of duplicate keys wins.
    fn has_one_kind(&self) -> bool {
        is_plain(self.0) && memchr::memmem::find_iter(self.0, b"\"kind\"").nth(1).is_none()
    }
}
