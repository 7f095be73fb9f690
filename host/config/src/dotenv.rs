//! `.env`: lines `NAME=value`, as Docker and most tools write them.
//!
//! A value may be quoted, with single quotes around literal text, and contain `$NAME` or `${NAME}` for another
//! variable's value. A line may double the one before it, so expanded values are limited, each and in total.

use std::collections::HashMap;
use std::iter::Peekable;
use std::str::Chars;

/// Maximum size of the file, in bytes.
pub(super) const MAX_FILE: usize = 256 << 10;

/// Maximum length of an expanded value, in bytes: as long as a secret may be.
const MAX_VALUE: usize = 64 << 10;

/// Maximum length of all values together, in bytes.
const MAX_TOTAL: usize = 1 << 20;

/// A syntax error.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    /// Line number, from 1; for a value of several lines, the last line read.
    pub(super) line: usize,
    /// The problem, without the text, which may contain a key.
    pub(super) what: String,
}

/// Parses the variables, in order. A `$NAME` is looked up with `lookup` first, then among the lines above.
///
/// # Errors
///
/// The first line that is not `NAME=value`, or whose value is too long.
pub(super) fn parse(text: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<Vec<(String, String)>, Refused> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser { chars: text.chars().peekable(), line: 1 };
    let (mut variables, mut known, mut total) = (Vec::new(), HashMap::<String, String>::new(), 0);
    while let Some(name) = parser.name()? {
        let value = parser.value(&name, |name| lookup(name).or_else(|| known.get(name).cloned()))?;
        total += value.len();
        if total > MAX_TOTAL {
            return Err(parser.refused(format!("all values together are longer than {MAX_TOTAL} bytes")));
        }
        known.insert(name.clone(), value.clone());
        variables.push((name, value));
    }
    Ok(variables)
}

struct Parser<'a> {
    chars: Peekable<Chars<'a>>,
    line: usize,
}

impl Parser<'_> {
    fn refused(&self, what: impl Into<String>) -> Refused {
        Refused { line: self.line, what: what.into() }
    }

    fn wrong(&self) -> Refused {
        self.refused("it is not `NAME=value`")
    }

    fn next(&mut self) -> Option<char> {
        let next = self.chars.next();
        self.line += usize::from(next == Some('\n'));
        next
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        while self.chars.peek().is_some_and(|next| is_skipped(*next)) {
            self.next();
        }
    }

    fn word(&mut self, is_part: impl Fn(char) -> bool) -> String {
        let mut word = String::new();
        while let Some(next) = self.chars.next_if(|next| is_part(*next)) {
            word.push(next);
        }
        word
    }

    /// Skips blanks and comments, and reads a name up to the `=`; `None` at the end.
    fn name(&mut self) -> Result<Option<String>, Refused> {
        loop {
            self.skip(char::is_whitespace);
            match self.chars.peek() {
                None => return Ok(None),
                Some('#') => self.skip(|next| next != '\n'),
                Some(_) => break,
            }
        }
        let mut name = self.word(is_in_name);
        self.skip(is_blank);
        // `export` is a variable's name where an `=` follows it.
        if name == "export" && self.chars.peek() != Some(&'=') {
            name = self.word(is_in_name);
            self.skip(is_blank);
        }
        if !name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') || self.next() != Some('=') {
            return Err(self.wrong());
        }
        self.skip(is_blank);
        Ok(Some(name))
    }

    /// Reads to the end of the value.
    fn value(&mut self, name: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<String, Refused> {
        let mut value = String::new();
        let mut quote = None;
        let mut is_empty = true;
        loop {
            let next = match (self.chars.peek().copied(), quote) {
                (None, Some(_)) => {
                    return Err(self.refused(format!("the quote in the value of `{name}` is not closed")));
                }
                (None | Some('\n' | '\r'), None) => return Ok(value),
                // A comment begins the value or follows a blank.
                (Some('#'), None) if is_empty => return Ok(value),
                (Some(next), _) => next,
            };
            self.next();
            is_empty = false;
            match (next, quote) {
                ('\'', Some('\'')) | ('"', Some('"')) => quote = None,
                (_, Some('\'')) => value.push(next),
                ('\'' | '"', None) => quote = Some(next),
                ('\\', _) => match self.chars.peek().copied() {
                    Some(escaped @ ('\\' | '\'' | '"' | '$' | ' ')) => {
                        self.next();
                        value.push(escaped);
                    }
                    Some('n') => {
                        self.next();
                        value.push('\n');
                    }
                    None | Some('\n' | '\r') => {}
                    Some(_) => return Err(self.refused(format!("the value of `{name}` has an unknown escape"))),
                },
                ('$', _) => match self.reference()? {
                    None => value.push('$'),
                    Some(other) => {
                        let text = lookup(&other).unwrap_or_default();
                        if value.len() + text.len() <= MAX_VALUE {
                            value.push_str(&text);
                        } else {
                            return Err(self.too_long(name));
                        }
                    }
                },
                (' ' | '\t', None) => {
                    self.skip(is_blank);
                    return match self.chars.peek() {
                        None | Some('\n' | '\r') => Ok(value),
                        Some('#') => {
                            self.skip(|next| next != '\n');
                            Ok(value)
                        }
                        Some(_) => Err(self.refused(format!(
                            "the value of `{name}` continues after a space: put it in quotes, as in `{name}='two words'`"
                        ))),
                    };
                }
                _ => value.push(next),
            }
            if value.len() > MAX_VALUE {
                return Err(self.too_long(name));
            }
        }
    }

    /// The name after a `$`; `None` for a literal `$`.
    fn reference(&mut self) -> Result<Option<String>, Refused> {
        if self.chars.next_if_eq(&'{').is_none() {
            let name = self.word(|next| next.is_ascii_alphanumeric() || next == '_');
            return Ok(Some(name).filter(|name| !name.is_empty()));
        }
        let name = self.word(|next| next != '}' && next != '\n');
        if self.chars.next_if_eq(&'}').is_none() {
            return Err(self.refused("a `${` has no `}`"));
        }
        Ok(Some(name))
    }

    fn too_long(&self, name: &str) -> Refused {
        self.refused(format!("the value of `{name}` is longer than {MAX_VALUE} bytes once it is expanded"))
    }
}

fn is_in_name(next: char) -> bool {
    next.is_ascii_alphanumeric() || next == '_' || next == '.'
}

fn is_blank(next: char) -> bool {
    next == ' ' || next == '\t'
}
