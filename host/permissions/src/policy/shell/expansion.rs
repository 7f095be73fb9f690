//! Expansions: parameters, and the substitution of commands.

use super::Parser;
use super::word::{ParsedWord, is_variable};
use std::mem::replace;

impl Parser {
    /// What follows a dollar sign.
    pub(super) fn dollar(&mut self, word: &mut ParsedWord, in_quotes: bool) {
        self.skip_continuations();
        let name_starts = |character: char| character.is_ascii_alphabetic() || character == '_';
        match self.peek() {
            Some('(') => {
                self.at += 1;
                self.skip_continuations();
                // Arithmetic, or a subshell in a substitution.
                if self.peek() == Some('(') {
                    self.script.give_up();
                }
                word.text.push_str("$(…)");
                self.nested();
            }
            Some('{') => {
                self.at += 1;
                self.parameter(word);
            }
            Some('[') => {
                self.script.give_up();
                word.text.push('$');
            }
            Some('\'') if !in_quotes => {
                self.at += 1;
                self.ansi_quoted(word);
            }
            Some('"') if !in_quotes => {}
            Some(character) if name_starts(character) => {
                word.text.push('$');
                while let Some(character) =
                    self.peek().filter(|character| character.is_ascii_alphanumeric() || *character == '_')
                {
                    self.at += 1;
                    word.text.push(character);
                }
            }
            Some(special @ ('0'..='9' | '?' | '$' | '#' | '@' | '*' | '!' | '-')) => {
                self.at += 1;
                word.text.extend(['$', special]);
            }
            // A dollar sign that stands for itself.
            _ => {
                word.text.push('$');
                return;
            }
        }
        word.is_literal = false;
        word.is_quoted = true;
    }

    /// `$'…'`: its escapes are not read, so it is no literal.
    fn ansi_quoted(&mut self, word: &mut ParsedWord) {
        while let Some(character) = self.peek() {
            self.at += 1;
            match character {
                '\'' => return,
                '\\' => {
                    word.text.push('\\');
                    word.text.extend(self.peek());
                    self.at += 1;
                }
                other => word.text.push(other),
            }
        }
        self.script.give_up();
    }

    /// `${…}`: commands in it are found, and anything but a plain name may change or run more.
    fn parameter(&mut self, word: &mut ParsedWord) {
        if self.depth >= super::MAX_DEPTH {
            self.script.give_up();
            self.at = self.text.len();
            return;
        }
        self.depth += 1;
        self.braced(word);
        self.depth -= 1;
    }

    fn braced(&mut self, word: &mut ParsedWord) {
        let start = self.at;
        let mut depth = 1_usize;
        let mut inner = ParsedWord { text: String::new(), is_literal: true, is_quoted: false, is_assignment: false };
        while let Some(character) = self.peek() {
            self.at += 1;
            match character {
                '}' => {
                    depth -= 1;
                    if depth == 0 {
                        let name: String = self.text[start..self.at - 1].iter().collect();
                        if !is_variable(&name) {
                            self.script.is_plain = false;
                            // Where quotes end, and what prompts, indices and indirections run, is not followed.
                            if name.starts_with('!') || name.contains(['@', '[', '\'', '"', ':', '/', '{']) {
                                self.script.give_up();
                            }
                        }
                        word.text.push_str(&format!("${{{name}}}"));
                        return;
                    }
                }
                '{' => depth += 1,
                '\\' => self.at += 1,
                '$' => self.dollar(&mut inner, true),
                '`' => self.backquoted(&mut inner, true),
                _ => {}
            }
        }
        self.script.give_up();
    }

    /// The commands between backquotes.
    pub(super) fn backquoted(&mut self, word: &mut ParsedWord, in_quotes: bool) {
        word.is_literal = false;
        word.is_quoted = true;
        word.text.push_str("`…`");
        let mut text = Vec::new();
        while let Some(character) = self.peek() {
            self.at += 1;
            match character {
                '`' => return self.within(text),
                '\\' => match self.peek() {
                    Some(escaped) if matches!(escaped, '$' | '`' | '\\') || (in_quotes && escaped == '"') => {
                        self.at += 1;
                        text.push(escaped);
                    }
                    _ => text.push('\\'),
                },
                other => text.push(other),
            }
        }
        self.script.give_up();
        self.within(text);
    }

    /// Parses another text as commands.
    fn within(&mut self, text: Vec<char>) {
        self.parse_text(text, |parser| parser.list(super::Closer::End));
    }

    /// Looks for commands in the expansions of a text, such as a here document.
    pub(super) fn expansions(&mut self, text: Vec<char>) {
        self.parse_text(text, |parser| {
            let mut word = ParsedWord { text: String::new(), is_literal: true, is_quoted: false, is_assignment: false };
            while let Some(character) = parser.peek() {
                parser.at += 1;
                match character {
                    '\\' => parser.at += 1,
                    '$' => parser.dollar(&mut word, true),
                    '`' => parser.backquoted(&mut word, false),
                    _ => {}
                }
            }
        });
    }

    fn parse_text(&mut self, text: Vec<char>, parse: impl FnOnce(&mut Self)) {
        if self.depth >= super::MAX_DEPTH {
            return self.script.give_up();
        }
        let text = replace(&mut self.text, text);
        let (at, heredocs) = (replace(&mut self.at, 0), std::mem::take(&mut self.heredocs));
        self.depth += 1;
        parse(self);
        self.depth -= 1;
        if !self.heredocs.is_empty() {
            self.script.give_up();
        }
        (self.text, self.at, self.heredocs) = (text, at, heredocs);
    }
}
