//! Words: quotes, escapes, and the characters that a shell expands.

use super::Parser;

/// A word, and what the grammar asks about it.
pub(super) struct ParsedWord {
    pub(super) text: String,
    pub(super) is_literal: bool,
    /// Whether a part of it is quoted or expanded, so that it is no reserved word.
    pub(super) is_quoted: bool,
    /// Whether it assigns a variable where it stands before a command.
    pub(super) is_assignment: bool,
}

impl Parser {
    /// Whether a process substitution comes next.
    pub(super) fn is_process_substitution(&self) -> bool {
        matches!(self.peek(), Some('<' | '>')) && self.peek_at(1) == Some('(')
    }

    /// Reads a word; an empty one without a quote leaves the parser where it is.
    pub(super) fn word(&mut self) -> ParsedWord {
        let mut word = ParsedWord { text: String::new(), is_literal: true, is_quoted: false, is_assignment: false };
        let (mut has_brace, mut is_name) = (false, true);
        while let Some(character) = self.peek() {
            match character {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' => break,
                '<' | '>' if self.is_process_substitution() => {
                    self.at += 2;
                    word.text.push_str(if character == '<' { "<(…)" } else { ">(…)" });
                    word.is_literal = false;
                    word.is_quoted = true;
                    self.nested();
                }
                '<' | '>' => break,
                '\'' => {
                    self.at += 1;
                    word.is_quoted = true;
                    self.single_quoted(&mut word.text);
                }
                '"' => {
                    self.at += 1;
                    word.is_quoted = true;
                    self.double_quoted(&mut word);
                }
                '\\' => match self.peek_at(1) {
                    Some('\n') => self.at += 2,
                    Some(escaped) => {
                        self.at += 2;
                        word.text.push(escaped);
                        word.is_quoted = true;
                    }
                    None => {
                        self.at += 1;
                        word.text.push('\\');
                        word.is_quoted = true;
                    }
                },
                '$' => {
                    self.at += 1;
                    self.dollar(&mut word, false);
                }
                '`' => {
                    self.at += 1;
                    self.backquoted(&mut word, false);
                }
                '=' => {
                    self.at += 1;
                    let name = word.text.strip_suffix('+').unwrap_or(&word.text);
                    if is_name && !word.is_quoted && is_variable(name) {
                        word.is_assignment = true;
                    } else if !word.is_assignment && is_element(name) {
                        // An element of an array, if the word stands before a command.
                        self.script.give_up();
                        word.is_assignment = true;
                    }
                    is_name = false;
                    word.text.push('=');
                }
                other => {
                    self.at += 1;
                    let is_tilde =
                        other == '~' && (word.text.is_empty() || word.text.ends_with('=') || word.text.ends_with(':'));
                    if is_tilde || matches!(other, '*' | '?' | '[') {
                        word.is_literal = false;
                    }
                    has_brace |= other == '{';
                    word.text.push(other);
                }
            }
        }
        // `{}` and a brace alone are no expansion.
        if has_brace && !matches!(word.text.as_str(), "{" | "{}") {
            word.is_literal = false;
        }
        // `[` is a command.
        if word.text == "[" && !word.is_quoted {
            word.is_literal = true;
        }
        word
    }

    fn single_quoted(&mut self, text: &mut String) {
        while let Some(character) = self.peek() {
            self.at += 1;
            if character == '\'' {
                return;
            }
            text.push(character);
        }
        self.script.give_up();
    }

    fn double_quoted(&mut self, word: &mut ParsedWord) {
        while let Some(character) = self.peek() {
            self.at += 1;
            match character {
                '"' => return,
                '\\' => match self.peek() {
                    Some('\n') => self.at += 1,
                    Some(escaped @ ('$' | '`' | '"' | '\\')) => {
                        self.at += 1;
                        word.text.push(escaped);
                    }
                    _ => word.text.push('\\'),
                },
                '$' => self.dollar(word, true),
                '`' => self.backquoted(word, true),
                other => word.text.push(other),
            }
        }
        self.script.give_up();
    }
}

/// Whether a variable may have that name.
pub(super) fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
}

/// `NAME[…]`.
fn is_element(text: &str) -> bool {
    text.ends_with(']') && text.split_once('[').is_some_and(|(name, _)| is_variable(name))
}
