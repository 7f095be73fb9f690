//! Lines of text files.

/// Why content cannot be shown.
#[derive(Debug, PartialEq, Eq)]
pub enum Unfit {
    /// A byte that is not text, at that offset.
    Binary(usize),
    /// More than that many bytes.
    TooMuch(usize),
}

/// Extracts a range of lines from chunks of a file.
pub struct Window {
    /// Remaining lines to skip.
    skip: u64,
    /// Remaining lines to keep.
    left: u64,
    max: usize,
    kept: Vec<u8>,
    is_full: bool,
}

impl Window {
    /// Keeps `limit` lines after the first `offset`, at most `max` bytes.
    pub fn new(offset: u64, limit: Option<u64>, max: usize) -> Window {
        Window { skip: offset, left: limit.unwrap_or(u64::MAX), max, kept: Vec::new(), is_full: false }
    }

    /// Processes the next chunk; returns whether more is needed.
    pub fn take(&mut self, mut piece: &[u8]) -> bool {
        while self.skip > 0 {
            let Some(end) = piece.iter().position(|byte| *byte == b'\n') else { return true };
            piece = piece.get(end + 1..).unwrap_or_default();
            self.skip -= 1;
        }
        while self.left > 0 && !piece.is_empty() {
            let end = piece.iter().position(|byte| *byte == b'\n');
            let (line, rest) = piece.split_at(end.map_or(piece.len(), |end| end + 1));
            if self.kept.len() + line.len() > self.max {
                self.is_full = true;
                return false;
            }
            self.kept.extend_from_slice(line);
            self.left -= u64::from(end.is_some());
            piece = rest;
        }
        self.left > 0
    }

    /// The lines, joined by `\n`, without a trailing one.
    ///
    /// # Errors
    ///
    /// [`Unfit`] if they are too long or not text.
    pub fn text(self) -> Result<String, Unfit> {
        if self.is_full {
            return Err(Unfit::TooMuch(self.max));
        }
        let text = decode(self.kept)?.replace("\r\n", "\n");
        Ok(text.strip_suffix('\n').map(str::to_owned).unwrap_or(text))
    }
}

/// Validates UTF-8 without zero bytes: what an editor would show as text.
///
/// # Errors
///
/// [`Unfit::Binary`] with the first invalid byte.
pub fn decode(bytes: Vec<u8>) -> Result<String, Unfit> {
    let zero = bytes.iter().position(|byte| *byte == 0);
    match String::from_utf8(bytes) {
        Ok(text) => zero.map_or(Ok(text), |at| Err(Unfit::Binary(at))),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Err(Unfit::Binary(zero.map_or(at, |zero| zero.min(at))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same in chunks of one, two, ... bytes.
    fn window(text: &str, offset: u64, limit: Option<u64>, max: usize) -> Result<String, Unfit> {
        let mut outcomes: Vec<_> = (1..=text.len().max(1))
            .map(|size| {
                let mut window = Window::new(offset, limit, max);
                let _ = text.as_bytes().chunks(size).all(|piece| window.take(piece));
                window.text()
            })
            .collect();
        outcomes.dedup();
        assert_eq!(outcomes.len(), 1, "{outcomes:?}");
        outcomes.remove(0)
    }

    #[test]
    fn lines_are_counted_from_zero_and_joined_without_an_end() {
        for (text, offset, limit, expected) in [
            ("l1\nl2 old\nl3", 0, None, "l1\nl2 old\nl3"),
            ("l1\nl2 old\nl3\n", 0, None, "l1\nl2 old\nl3"),
            ("l1\nl2 old\nl3", 1, Some(1), "l2 old"),
            ("l1\r\nl2\r\nl3\r\n", 1, Some(1), "l2"),
            ("l1\r\nl2\r\n", 0, None, "l1\nl2"),
            ("a\n\n", 0, None, "a\n"),
            ("a\nb", 7, None, ""),
            ("a\nb", 0, Some(0), ""),
            ("äö\nü", 1, None, "ü"),
            ("", 0, None, ""),
        ] {
            assert_eq!(window(text, offset, limit, 100).as_deref(), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn only_requested_lines_count_toward_the_limit() {
        assert_eq!(window("0123456789\nab\ncd\n", 1, Some(1), 3).as_deref(), Ok("ab"));
        assert_eq!(window("0123456789\nab\n", 0, None, 9), Err(Unfit::TooMuch(9)));
    }

    #[test]
    fn content_that_is_not_text_is_reported_with_its_offset() {
        assert_eq!(decode(b"ab\xff".to_vec()), Err(Unfit::Binary(2)));
        assert_eq!(decode(b"a\0b\xff".to_vec()), Err(Unfit::Binary(1)));
        assert_eq!(decode("aä\t".into()).as_deref(), Ok("aä\t"));
    }
}
