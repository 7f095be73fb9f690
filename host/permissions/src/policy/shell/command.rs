//! Simple commands, the reserved words before them, and redirections.

use super::{Command, Parser, Word};

/// Files that a redirection may write without changing anything.
const HARMLESS: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// What a word that begins a command means to the shell's grammar.
enum Reserved {
    /// A command follows.
    Skipped,
    /// Options of `time`, and then a command.
    Time,
    /// `for` or `select`: a name and words, up to `do`.
    Loop,
    /// `function`: a name, and then the body.
    Function,
    /// A condition, up to `]]`.
    Condition,
    /// The words up to the next separator are no command.
    Header,
}

fn reserved(word: &str) -> Option<Reserved> {
    Some(match word {
        "if" | "then" | "elif" | "else" | "fi" | "while" | "until" | "do" | "done" | "{" | "}" | "!" | "esac" => {
            Reserved::Skipped
        }
        "time" => Reserved::Time,
        "for" | "select" => Reserved::Loop,
        "function" => Reserved::Function,
        "[[" => Reserved::Condition,
        "case" | "coproc" => Reserved::Header,
        _ => return None,
    })
}

impl Parser {
    /// Parses a simple command, and reserved words before it.
    pub(super) fn simple_command(&mut self) {
        let mut command = Command::default();
        // Whether a reserved word may come, whether an assignment may, and whether the words are none of a command.
        let (mut is_start, mut is_header, mut is_timed) = (true, false, false);
        let mut loop_words: Option<usize> = None;
        loop {
            self.skip_blanks();
            match (self.peek(), self.peek_at(1)) {
                (None | Some('\n' | ';' | ')' | '|'), _) => break,
                (Some('#'), _) => {
                    self.skip_comment();
                    break;
                }
                (Some('&'), Some('>')) | (Some('<' | '>'), _) if !self.is_process_substitution() => {
                    self.redirection(&mut command);
                    is_start = false;
                    continue;
                }
                (Some('&'), _) => break,
                (Some('('), _) => {
                    if command.words.len() == 1 && self.takes_empty_parentheses() {
                        // A function: the body follows, and runs where its name is called.
                        self.script.is_plain = false;
                        return;
                    }
                    self.script.give_up();
                    break;
                }
                _ => {}
            }
            let before = self.at;
            let word = self.word();
            if self.at == before {
                // No character may stop the parser.
                self.at += 1;
                self.script.give_up();
                continue;
            }
            let is_number =
                !word.is_quoted && !word.text.is_empty() && word.text.bytes().all(|byte| byte.is_ascii_digit());
            if is_number && matches!(self.peek(), Some('<' | '>')) && !self.is_process_substitution() {
                continue;
            }
            if let Some(words) = &mut loop_words {
                *words += 1;
                if *words > 1 && !word.is_quoted && matches!(word.text.as_str(), "do" | "{") {
                    (loop_words, is_header, is_start) = (None, false, true);
                }
                continue;
            }
            if is_header {
                continue;
            }
            if command.words.is_empty() && word.is_assignment {
                self.script.is_plain = false;
                if word.text.ends_with('=') && self.peek() == Some('(') {
                    self.array();
                }
                is_start = false;
                continue;
            }
            if is_timed && !word.is_quoted && matches!(word.text.as_str(), "-p" | "--") {
                continue;
            }
            if std::mem::take(&mut is_timed) && word.text.starts_with('-') {
                self.script.give_up();
            }
            let meaning = if is_start && !word.is_quoted { reserved(&word.text) } else { None };
            match meaning {
                Some(Reserved::Skipped) => continue,
                Some(Reserved::Time) => {
                    // Behind a pipe it is a program.
                    self.script.is_plain = false;
                    is_timed = true;
                    continue;
                }
                Some(Reserved::Loop) => {
                    self.script.is_plain = false;
                    (loop_words, is_header) = (Some(0), true);
                    continue;
                }
                Some(Reserved::Function) => {
                    self.script.is_plain = false;
                    self.skip_blanks();
                    self.word();
                    return;
                }
                Some(Reserved::Condition) => {
                    self.script.is_plain = false;
                    self.condition();
                    is_start = false;
                    is_header = true;
                    continue;
                }
                Some(Reserved::Header) => {
                    self.script.give_up();
                    is_header = true;
                    continue;
                }
                None => {}
            }
            is_start = false;
            command.words.push(Word { text: word.text, is_literal: word.is_literal });
        }
        if !command.words.is_empty() || !command.writes.is_empty() {
            self.script.commands.push(command);
        }
    }

    /// Takes `( )`, if it comes next.
    fn takes_empty_parentheses(&mut self) -> bool {
        let before = self.at;
        self.at += 1;
        self.skip_blanks();
        if self.takes(")") {
            return true;
        }
        self.at = before;
        false
    }

    /// The elements of an array.
    fn array(&mut self) {
        self.at += 1;
        loop {
            self.skip_blanks();
            match self.peek() {
                None => return self.script.give_up(),
                Some(')') => {
                    self.at += 1;
                    return;
                }
                Some('\n') => {
                    self.at += 1;
                    if !self.heredocs.is_empty() {
                        self.script.give_up();
                    }
                }
                Some('#') => self.skip_comment(),
                Some(_) => {
                    let before = self.at;
                    self.word();
                    if self.at == before {
                        self.at += 1;
                        self.script.give_up();
                    }
                }
            }
        }
    }

    /// A condition, up to `]]`.
    fn condition(&mut self) {
        loop {
            self.skip_blanks();
            match self.peek() {
                None => return self.script.give_up(),
                Some('#') => {
                    self.script.give_up();
                    self.at += 1;
                }
                Some('\n') => {
                    self.at += 1;
                    if !self.heredocs.is_empty() {
                        self.script.give_up();
                    }
                }
                Some('(' | ')' | '&' | '|' | ';') => self.at += 1,
                Some('<' | '>') if !self.is_process_substitution() => self.at += 1,
                Some(_) => {
                    let word = self.word();
                    if !word.is_quoted && word.text == "]]" {
                        return;
                    }
                }
            }
        }
    }

    /// A redirection and its target.
    fn redirection(&mut self, command: &mut Command) {
        let operators = ["&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">"];
        let Some(operator) = operators.into_iter().find(|operator| self.takes(operator)) else {
            self.at += 1;
            return self.script.give_up();
        };
        self.skip_blanks();
        if matches!(operator, "<<" | "<<-") {
            self.script.has_input = true;
            return self.heredoc(operator == "<<-");
        }
        let before = self.at;
        let target = self.word();
        if self.at == before {
            return self.script.give_up();
        }
        let target = Word { text: target.text, is_literal: target.is_literal };
        let is_descriptor = target.is_literal && {
            let number = target.text.strip_suffix('-').unwrap_or(&target.text);
            number.bytes().all(|byte| byte.is_ascii_digit())
        };
        match operator {
            "<<<" => self.script.has_input = true,
            "<" => {
                self.script.has_input = true;
                // bash opens connections by names below `/dev/tcp`.
                if !target.is_literal || (target.text.starts_with("/dev/") && target.text != "/dev/null") {
                    self.script.is_plain = false;
                }
            }
            "<&" | ">&" if is_descriptor => {}
            "<&" => self.script.is_plain = false,
            _ => {
                if !(target.is_literal && HARMLESS.contains(&target.text.as_str())) {
                    self.script.is_plain = false;
                }
                command.writes.push(target);
            }
        }
    }
}
