//! Paths of requests.

use std::fmt::{Display, Write};

/// A path with its query.
pub struct Path(String);

impl Path {
    pub fn new(path: &str) -> Self {
        Self(path.to_owned())
    }

    /// A path of a tape. Its name consists of letters, digits, `_`, `.` and `-`, which need no encoding.
    pub fn of_tape(tape: &str, what: &str) -> Self {
        Self(format!("/v1/tapes/{tape}/{what}"))
    }

    pub fn with(mut self, key: &str, value: impl Display) -> Self {
        let sign = if self.0.contains('?') { '&' } else { '?' };
        self.0.push(sign);
        self.0.push_str(key);
        self.0.push('=');
        for byte in value.to_string().bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => self.0.push(char::from(byte)),
                // Writing to a string cannot fail.
                _ => drop(write!(self.0, "%{byte:02X}")),
            }
        }
        self
    }

    pub fn maybe(self, key: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn characters_outside_of_the_query_alphabet_are_escaped() {
        let path = Path::of_tape("a__b", "newest").with("kind", "event").with("name", "a&b=c ü");
        assert_eq!(path.as_str(), "/v1/tapes/a__b/newest?kind=event&name=a%26b%3Dc%20%C3%BC");
    }
}
