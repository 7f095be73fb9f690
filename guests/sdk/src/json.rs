//! JSON written at compile time.

/// Writes JSON into `N` bytes. With too few it counts on, so that a first pass with none gives the length.
#[derive(Debug)]
pub struct Writer<const N: usize> {
    bytes: [u8; N],
    len: usize,
    last: u8,
}

impl<const N: usize> Writer<N> {
    /// Nothing is written yet.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self { bytes: [0; N], len: 0, last: b'{' }
    }

    /// The bytes that were written, or would have been.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was written.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of it.
    ///
    /// # Panics
    ///
    /// At compile time, if `N` is not the length.
    pub const fn finish(self) -> [u8; N] {
        assert!(self.len == N, "the length is that of a first pass");
        self.bytes
    }

    const fn byte(&mut self, byte: u8) {
        if self.len < N {
            self.bytes[self.len] = byte;
        }
        self.len += 1;
        self.last = byte;
    }

    /// JSON as it is.
    pub const fn raw(&mut self, json: &str) {
        let bytes = json.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            self.byte(bytes[at]);
            at += 1;
        }
    }

    /// A comma, unless an object or a list has just begun.
    pub const fn comma(&mut self) {
        if !matches!(self.last, b'{' | b'[') {
            self.byte(b',');
        }
    }

    /// A member's name and its colon, behind a comma if there is a member before.
    pub const fn key(&mut self, key: &str) {
        self.comma();
        self.text(&[key]);
        self.byte(b':');
    }

    /// One string, made of several texts without the blanks around them and with one between them: doc comments have one in
    /// front of each line.
    pub const fn text(&mut self, lines: &[&str]) {
        self.byte(b'"');
        self.unquoted(lines);
        self.byte(b'"');
    }

    /// The same without its quotation marks, for a string of several parts.
    pub const fn unquoted(&mut self, lines: &[&str]) {
        let mut line = 0;
        let mut is_begun = false;
        while line < lines.len() {
            let text = lines[line].trim_ascii();
            if !text.is_empty() {
                if is_begun {
                    self.byte(b' ');
                }
                self.escaped(text);
                is_begun = true;
            }
            line += 1;
        }
    }

    const fn escaped(&mut self, text: &str) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                byte @ (b'"' | b'\\') => {
                    self.byte(b'\\');
                    self.byte(byte);
                }
                b'\n' => self.raw("\\n"),
                byte @ 0..0x20 => {
                    self.raw("\\u00");
                    self.byte(HEX[(byte >> 4) as usize]);
                    self.byte(HEX[(byte & 15) as usize]);
                }
                byte => self.byte(byte),
            }
            at += 1;
        }
    }

    /// A whole number.
    pub const fn integer(&mut self, number: i128) {
        if number < 0 {
            self.byte(b'-');
        }
        let mut rest = number.unsigned_abs();
        let mut digits = [0_u8; 40];
        let mut count = 0;
        loop {
            digits[count] = b'0' + (rest % 10) as u8;
            rest /= 10;
            count += 1;
            if rest == 0 {
                break;
            }
        }
        while count > 0 {
            count -= 1;
            self.byte(digits[count]);
        }
    }

    /// `true` or `false`.
    pub const fn boolean(&mut self, value: bool) {
        self.raw(if value { "true" } else { "false" });
    }
}

/// The text of bytes that a [`Writer`] wrote.
///
/// # Panics
///
/// At compile time, if they are no UTF-8.
pub const fn text(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("a writer writes UTF-8"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_as_json_asks_and_numbers_keep_their_digits() {
        let mut writer = Writer::<256>::new();
        writer.text(&[" a \"b\"\\", "", " c\td\u{1}é "]);
        writer.raw(",");
        writer.integer(i128::from(u64::MAX));
        writer.raw(",");
        writer.integer(-10);
        let written = std::str::from_utf8(&writer.bytes[..writer.len()]).unwrap();
        let read: serde_json::Value = serde_json::from_str(&format!("[{written}]")).unwrap();
        assert_eq!(read, serde_json::json!(["a \"b\"\\ c\td\u{1}é", u64::MAX, -10]));
    }
}
