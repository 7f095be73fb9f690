//! The commands of a shell line, for rules that name commands.
//!
//! The parser reads the grammar of bash as far as it decides which commands run: lists, pipes, groups, substitutions,
//! here documents and redirections. It never fails. What it does not follow exactly, such as `case` or arithmetic, makes
//! the line *not understood*: its commands are then a guess, and nothing may be permitted because of them.

mod command;
mod expansion;
mod heredoc;
mod word;

use heredoc::HereDoc;

/// Maximum length of a line, in bytes. A longer one is not understood.
pub const MAX_LINE: usize = 64 << 10;

/// Maximum nesting of substitutions and subshells.
const MAX_DEPTH: usize = 32;

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The text without quotes; expansions as they are written.
    pub text: String,
    /// Whether the command gets exactly this text, and as one argument.
    pub is_literal: bool,
}

impl Word {
    /// Whether the word is exactly this text.
    pub fn is(&self, text: &str) -> bool {
        self.is_literal && self.text == text
    }
}

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments; empty where there are only redirections.
    pub words: Vec<Word>,
    /// The files that its redirections write.
    pub writes: Vec<Word>,
}

/// A parsed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Its simple commands, those inside substitutions and subshells too, in no particular order.
    pub commands: Vec<Command>,
    /// Whether these are all commands that the shell itself can run for the line.
    pub is_understood: bool,
    /// Whether nothing in it changes what its commands mean or write: no assignment, no function, no arithmetic, no
    /// redirection to a file.
    pub is_plain: bool,
    /// Whether a command may read input that the line provides: by a pipe, a file or a here document.
    pub has_input: bool,
    /// The here documents, without their delimiters.
    pub inputs: Vec<String>,
}

impl Script {
    /// Parses a line.
    ///
    /// ```
    /// use bub_permissions::policy::shell::Script;
    ///
    /// let script = Script::parse("cd src && git log | head -n 3");
    /// let programs: Vec<&str> = script.commands.iter().map(|command| command.words[0].text.as_str()).collect();
    /// assert_eq!(programs, ["cd", "git", "head"]);
    /// assert!(script.is_understood && script.is_plain);
    /// assert!(!Script::parse("git log > ~/.bashrc").is_plain);
    /// ```
    pub fn parse(line: &str) -> Self {
        let mut script =
            Self { commands: Vec::new(), is_understood: true, is_plain: true, has_input: false, inputs: Vec::new() };
        // The shell ends a text at a zero byte, or drops it.
        if line.len() > MAX_LINE || line.contains('\0') {
            script.give_up();
            return script;
        }
        let mut parser = Parser::new(line.chars().collect(), 0, script);
        parser.list(Closer::End);
        parser.finish()
    }

    fn give_up(&mut self) {
        self.is_understood = false;
        self.is_plain = false;
    }
}

/// What ends a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closer {
    End,
    Parenthesis,
}

struct Parser {
    text: Vec<char>,
    at: usize,
    depth: usize,
    heredocs: Vec<HereDoc>,
    script: Script,
}

impl Parser {
    fn new(text: Vec<char>, depth: usize, script: Script) -> Self {
        Self { text, at: 0, depth, heredocs: Vec::new(), script }
    }

    fn finish(mut self) -> Script {
        if !self.heredocs.is_empty() {
            self.script.give_up();
        }
        self.script
    }

    fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    /// Takes the text if it comes next.
    fn takes(&mut self, text: &str) -> bool {
        let comes = text.chars().enumerate().all(|(ahead, wanted)| self.peek_at(ahead) == Some(wanted));
        if comes {
            self.at += text.chars().count();
        }
        comes
    }

    fn skip_blanks(&mut self) {
        loop {
            match (self.peek(), self.peek_at(1)) {
                (Some(' ' | '\t'), _) => self.at += 1,
                (Some('\\'), Some('\n')) => {
                    self.at += 2;
                    // Whether a comment begins here is not worth a guess.
                    if self.peek() == Some('#') {
                        self.script.give_up();
                    }
                }
                _ => return,
            }
        }
    }

    /// A line that goes on within an operator, such as between `$` and `(`, is one that people do not write.
    fn skip_continuations(&mut self) {
        while self.takes("\\\n") {
            self.script.give_up();
        }
    }

    /// Skips a comment, up to its newline.
    fn skip_comment(&mut self) {
        while self.peek().is_some_and(|character| character != '\n') {
            self.at += 1;
        }
    }

    /// Parses commands up to the closer, one level deeper.
    fn nested(&mut self) {
        if self.depth >= MAX_DEPTH {
            self.script.give_up();
            self.at = self.text.len();
            return;
        }
        self.depth += 1;
        self.list(Closer::Parenthesis);
        self.depth -= 1;
    }

    /// Parses commands up to the closer.
    fn list(&mut self, closer: Closer) {
        loop {
            self.skip_blanks();
            match self.peek() {
                None => {
                    if closer != Closer::End {
                        self.script.give_up();
                    }
                    return;
                }
                Some('\n') => {
                    self.at += 1;
                    self.read_heredocs();
                }
                Some('#') => self.skip_comment(),
                Some(';') => {
                    self.at += 1;
                    // The end of an arm of `case`.
                    if matches!(self.peek(), Some(';' | '&')) {
                        self.script.give_up();
                    }
                }
                Some('|') => {
                    self.at += 1;
                    if !self.takes("|") {
                        self.script.has_input = true;
                        self.takes("&");
                    }
                }
                Some('&') if self.peek_at(1) != Some('>') => self.at += 1,
                Some('(') => {
                    self.at += 1;
                    self.skip_continuations();
                    // Arithmetic, or a subshell in a subshell.
                    if self.peek() == Some('(') {
                        self.script.give_up();
                    }
                    self.nested();
                }
                Some(')') => {
                    self.at += 1;
                    if closer == Closer::Parenthesis {
                        if self.heredocs.iter().any(|heredoc| heredoc.depth >= self.depth) {
                            self.script.give_up();
                        }
                        return;
                    }
                    self.script.give_up();
                }
                Some(_) => self.simple_command(),
            }
        }
    }
}
