//! A scanner over JSON text.

use super::super::error::{Error, Result};
use super::float;

/// The output of a scan.
pub(super) enum Out<'o> {
    /// Validate only.
    Nowhere,
    /// Print as JSON.
    Json(&'o mut String),
    /// Decode a string.
    Plain(&'o mut String),
}

impl Out<'_> {
    /// Punctuation, numbers, words.
    fn put(&mut self, text: &str) {
        if let Out::Json(out) = self {
            out.push_str(text);
        }
    }

    /// A part of a string that needs no escapes.
    fn stretch(&mut self, text: &str) {
        match self {
            Out::Nowhere => {}
            Out::Json(out) | Out::Plain(out) => out.push_str(text),
        }
    }

    fn character(&mut self, character: char) {
        match self {
            Out::Nowhere => {}
            Out::Json(out) => escape(character, out),
            Out::Plain(out) => out.push(character),
        }
    }

    /// An unpaired surrogate, `written` as an escape.
    fn surrogate(&mut self, written: &str) {
        match self {
            Out::Nowhere => {}
            Out::Json(out) => out.push_str(written),
            Out::Plain(out) => out.push(char::REPLACEMENT_CHARACTER),
        }
    }
}

/// Appends one character of a JSON string, escaped where Python escapes it.
pub(super) fn escape(character: char, out: &mut String) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\0'..=' ' if character != ' ' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
        _ => out.push(character),
    }
}

/// Whether that byte of a string needs no escape. A table lookup is twice as fast as three comparisons.
pub(super) fn is_plain(byte: u8) -> bool {
    const PLAIN: [bool; 256] = {
        let mut plain = [true; 256];
        let mut byte = 0;
        while byte < b' ' as usize {
            plain[byte] = false;
            byte += 1;
        }
        plain[b'"' as usize] = false;
        plain[b'\\' as usize] = false;
        plain
    };
    PLAIN[usize::from(byte)]
}

/// A position in a text, with the remaining depth.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str, depth: usize) -> Self {
        Self { text, at: 0, depth }
    }

    /// Only white space may follow.
    pub(super) fn end(&mut self) -> Result<()> {
        self.blanks();
        if self.at == self.text.len() { Ok(()) } else { Err(self.wrong("expected the end")) }
    }

    pub(super) fn value(&mut self, out: &mut Out<'_>) -> Result<()> {
        self.blanks();
        match self.peek() {
            Some(b'{') => self.object(out, &mut |_, _| {}),
            Some(b'[') => self.array(out, &mut |_| {}),
            Some(b'"') => self.string(out),
            Some(b'-' | b'0'..=b'9') => self.number(out),
            _ => {
                for word in ["true", "false", "null", "NaN", "Infinity"] {
                    if self.word(word) {
                        out.put(word);
                        return Ok(());
                    }
                }
                Err(self.wrong("expected a value"))
            }
        }
    }

    /// Scans an object; `each` gets every key and value verbatim.
    pub(super) fn object(&mut self, out: &mut Out<'_>, each: &mut dyn FnMut(&'a str, &'a str)) -> Result<()> {
        self.list(out, [b'{', b'}'], &mut |scanner, out| {
            let start = scanner.at;
            scanner.string(out)?;
            let key = scanner.since(start);
            scanner.blanks();
            scanner.expect(b':')?;
            out.put(": ");
            scanner.blanks();
            let start = scanner.at;
            scanner.value(out)?;
            each(key, scanner.since(start));
            Ok(())
        })
    }

    /// Scans an array; `each` gets every item verbatim.
    pub(super) fn array(&mut self, out: &mut Out<'_>, each: &mut dyn FnMut(&'a str)) -> Result<()> {
        self.list(out, [b'[', b']'], &mut |scanner, out| {
            let start = scanner.at;
            scanner.value(out)?;
            each(scanner.since(start));
            Ok(())
        })
    }

    /// Scans comma-separated items within `brackets`.
    fn list(
        &mut self,
        out: &mut Out<'_>,
        brackets: [u8; 2],
        item: &mut dyn FnMut(&mut Self, &mut Out<'_>) -> Result<()>,
    ) -> Result<()> {
        let [open, close] = if brackets[0] == b'{' { ["{", "}"] } else { ["[", "]"] };
        self.blanks();
        self.expect(brackets[0])?;
        self.depth = self.depth.checked_sub(1).ok_or_else(|| self.wrong("nested too deeply"))?;
        out.put(open);
        self.blanks();
        let mut first = true;
        while !self.take(brackets[1]) {
            if !first {
                self.expect(b',')?;
                out.put(", ");
                self.blanks();
            }
            first = false;
            item(self, out)?;
            self.blanks();
        }
        out.put(close);
        self.depth += 1;
        Ok(())
    }

    pub(super) fn string(&mut self, out: &mut Out<'_>) -> Result<()> {
        self.blanks();
        self.expect(b'"')?;
        if matches!(out, Out::Nowhere) && self.plainly() {
            return Ok(());
        }
        out.put("\"");
        loop {
            let start = self.at;
            let rest = self.text.as_bytes().get(start..).unwrap_or_default();
            let stretch = rest.get(..memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len())).unwrap_or_default();
            self.at += stretch.iter().position(|byte| *byte < b' ').unwrap_or(stretch.len());
            out.stretch(self.since(start));
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escaped(out)?,
                Some(_) => return Err(self.wrong("a control character in a string")),
                None => return Err(self.wrong("a string without an end")),
            }
        }
        self.at += 1;
        out.put("\"");
        Ok(())
    }

    /// Skips the rest of a string that has only characters and simple escapes; returns whether that was possible.
    fn plainly(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            at += rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len());
            at += match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') if bytes.get(at + 1).is_some_and(|byte| b"\"\\/nrtbf".contains(byte)) => 2,
                _ => return false,
            };
        }
        self.at = at + 1;
        true
    }

    fn escaped(&mut self, out: &mut Out<'_>) -> Result<()> {
        let start = self.at;
        self.at += 1;
        let character = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'u') => {
                let unit = self.unit()?;
                if (0xd800..0xdc00).contains(&unit) {
                    let behind = self.at;
                    if self.take(b'\\') && self.peek() == Some(b'u') {
                        let low = self.unit()?;
                        if let Some(Ok(joined)) = char::decode_utf16([unit, low]).next() {
                            out.character(joined);
                            return Ok(());
                        }
                    }
                    self.at = behind;
                }
                match char::from_u32(u32::from(unit)) {
                    Some(character) => out.character(character),
                    None => out.surrogate(self.since(start)),
                }
                return Ok(());
            }
            _ => return Err(self.wrong("an unknown escape")),
        };
        self.at += 1;
        out.character(character);
        Ok(())
    }

    /// Scans `uXXXX`.
    fn unit(&mut self) -> Result<u16> {
        let digits = self.text.get(self.at + 1..self.at + 5).unwrap_or_default();
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(self.wrong("an unknown escape"));
        }
        let unit = u16::from_str_radix(digits, 16).map_err(|_| self.wrong("an unknown escape"))?;
        self.at += 5;
        Ok(unit)
    }

    fn number(&mut self, out: &mut Out<'_>) -> Result<()> {
        let start = self.at;
        self.take(b'-');
        if self.word("Infinity") {
            out.put(self.since(start));
            return Ok(());
        }
        if !self.take(b'0') {
            self.digits()?;
        }
        let mut float = false;
        if self.take(b'.') {
            float = true;
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            float = true;
            let _sign = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        match self.since(start) {
            written if float => out.put(&float::repr(written)),
            // Python's integers have no negative zero.
            "-0" => out.put("0"),
            written => out.put(written),
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.wrong("expected a digit")) } else { Ok(()) }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn word(&mut self, word: &str) -> bool {
        let there = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word));
        self.at += if there { word.len() } else { 0 };
        there
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.take(byte) { Ok(()) } else { Err(self.wrong(&format!("expected `{}`", char::from(byte)))) }
    }

    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn wrong(&self, what: &str) -> Error {
        Error::invalid(format!("no JSON at byte {}: {what}", self.at))
    }
}
