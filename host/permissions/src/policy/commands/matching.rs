//! When a rule holds for a command.

use super::super::shell::{Command, Script, Word};
use super::known::{self, SHELLS, WRAPPERS, name};
use super::{CommandRule, RuleDecision};
use bub_types::text::{clipped, one_line};

/// Maximum nesting of shells that run the text of an argument.
const MAX_NESTING: usize = 4;

/// Maximum number of commands that are looked at.
const MAX_COMMANDS: usize = 4096;

/// Maximum number of wrappers around a command.
const MAX_WRAPPERS: usize = 16;

/// Maximum number of words of a wrapper that may begin the command.
const MAX_CANDIDATES: usize = 48;

/// Maximum number of words of a wrapped command that are looked at.
const MAX_WORDS: usize = 256;

/// Maximum number of bytes of arguments that are parsed as commands.
const MAX_PARSED: usize = 256 << 10;

/// Wrappers that give the command further arguments.
const APPENDING: [&str; 2] = ["xargs", "parallel"];

/// Wrappers with many arguments of their own before the command.
const SEARCHING: [&str; 7] = ["find", "fd", "xargs", "parallel", "flock", "watch", "script"];

/// Whether a restriction holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    Yes,
    /// It depends on what a word expands to.
    Perhaps,
    No,
}

/// The command on one line, clipped.
pub(super) fn shown(command: &Command, characters: usize) -> String {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    one_line(&clipped(&words.join(" "), characters))
}

/// A program with arguments that no shell reads.
pub(super) fn of_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Script {
    let words = words.into_iter().map(|text| Word { text: text.to_owned(), is_literal: true }).collect();
    let commands = vec![Command { words, writes: Vec::new() }];
    Script { commands, is_understood: true, is_plain: true, has_input: false, inputs: Vec::new() }
}

/// The commands of a line, and those that its programs run as far as their arguments name them. `false`: there may be
/// others.
pub(super) fn reachable(script: &Script) -> (Vec<Command>, bool) {
    let mut search = Search { all: Vec::new(), is_complete: true, budget: MAX_PARSED };
    search.collect(script, MAX_NESTING);
    (search.all, search.is_complete)
}

struct Search {
    all: Vec<Command>,
    is_complete: bool,
    /// How many bytes may still be parsed.
    budget: usize,
}

impl Search {
    fn collect(&mut self, script: &Script, nesting: usize) {
        self.is_complete &= script.is_understood;
        for command in &script.commands {
            if self.all.len() >= MAX_COMMANDS {
                self.is_complete = false;
                return;
            }
            self.all.push(command.clone());
            self.wrapped(&command.words, script, nesting);
        }
    }

    /// What follows a wrapper is a command, wherever it begins.
    fn wrapped(&mut self, words: &[Word], script: &Script, nesting: usize) {
        let mut words = words;
        for _ in 0..MAX_WRAPPERS {
            let Some((program, rest)) = words.split_first() else { return };
            let program = name(&program.text);
            if SHELLS.contains(&program) {
                return self.shell(words, script, nesting);
            }
            if !WRAPPERS.contains(&program) {
                return;
            }
            let Some(next) = rest.iter().position(|word| !is_wrapper_argument(word)) else { return };
            // Arguments of a wrapper may stand before the command: some of the next words may begin it, too.
            let candidates = if SEARCHING.contains(&program) { MAX_CANDIDATES } else { 16 };
            if rest.len() - next > candidates && SEARCHING.contains(&program) {
                self.is_complete = false;
            }
            for from in (next..rest.len()).take(candidates) {
                self.push(&rest[from..], APPENDING.contains(&program));
                // A command in one word, as `su -c` and `watch` take it.
                if rest[from].text.contains(char::is_whitespace) {
                    self.texts([&rest[from].text], nesting);
                }
                if from > next && SHELLS.contains(&name(&rest[from].text)) {
                    self.shell(&rest[from..], script, nesting);
                }
            }
            words = &rest[next..];
        }
        self.is_complete = false;
    }

    /// `appends`: the program gets further arguments, which are not known.
    fn push(&mut self, words: &[Word], appends: bool) {
        if words.len() > MAX_WORDS {
            self.is_complete = false;
        }
        let mut words = words[..words.len().min(MAX_WORDS)].to_vec();
        if appends {
            words.push(Word { text: "…".to_owned(), is_literal: false });
        }
        self.all.push(Command { words, writes: Vec::new() });
    }

    /// The commands in the arguments of a shell, and in its input.
    fn shell(&mut self, words: &[Word], script: &Script, nesting: usize) {
        let Some((program, arguments)) = words.split_first() else { return };
        if nesting == 0 || arguments.iter().any(|word| !word.is_literal) {
            self.is_complete = false;
        }
        // What a pipe brings is not known; a here document is.
        if script.has_input && script.inputs.is_empty() {
            self.is_complete = false;
        }
        if nesting == 0 {
            return;
        }
        let texts: Vec<String> = match name(&program.text) == "eval" {
            true => vec![arguments.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")],
            false => arguments.iter().map(|word| word.text.clone()).filter(|text| !text.starts_with('-')).collect(),
        };
        self.texts(texts.iter().chain(&script.inputs), nesting);
    }

    /// Looks for commands in texts that a program runs.
    fn texts<'a>(&mut self, texts: impl IntoIterator<Item = &'a String>, nesting: usize) {
        if nesting == 0 {
            self.is_complete = false;
            return;
        }
        for text in texts {
            let Some(budget) = self.budget.checked_sub(text.len() + 1) else {
                self.is_complete = false;
                return;
            };
            self.budget = budget;
            self.collect(&Script::parse(text), nesting - 1);
        }
    }
}

/// An option of a wrapper, or something that is no program.
fn is_wrapper_argument(word: &Word) -> bool {
    let text = &word.text;
    word.is_literal
        && (text.starts_with('-') || text.contains('=') || text.starts_with(|first: char| first.is_ascii_digit()))
}

/// Whether a rule that asks or denies holds for the command. Options between the words of a prefix are passed over, and
/// options of the prefix may stand anywhere.
pub(super) fn restricts(rule: &CommandRule, command: &Command) -> Match {
    let [program, wanted @ ..] = &rule.prefix[..] else { return Match::No };
    let Some((first, rest)) = command.words.split_first() else { return Match::No };
    if !first.is_literal {
        return Match::Perhaps;
    }
    if first.text != *program && name(&first.text) != program {
        return Match::No;
    }
    let (mut at, mut found) = (0, Match::Yes);
    for wanted in wanted {
        if wanted.starts_with('-') {
            if !rest.iter().any(|word| word.is(wanted)) {
                match rest.iter().any(|word| !word.is_literal) {
                    true => found = Match::Perhaps,
                    false => return Match::No,
                }
            }
            continue;
        }
        loop {
            let Some(word) = rest.get(at) else { return Match::No };
            at += 1;
            if word.is(wanted) {
                break;
            }
            if !word.is_literal {
                return Match::Perhaps;
            }
            let follows_option = at >= 2 && rest[at - 2].text.starts_with('-');
            if !word.text.starts_with('-') && !follows_option {
                return Match::No;
            }
        }
    }
    found
}

/// Whether a rule allows the command of a plain line.
pub(super) fn allows(rule: &CommandRule, command: &Command, script: &Script) -> bool {
    if rule.decision != RuleDecision::Allow || command.words.len() < rule.prefix.len() {
        return false;
    }
    let (words, rest) = command.words.split_at(rule.prefix.len());
    if !words.iter().zip(&rule.prefix).all(|(word, wanted)| word.is(wanted)) {
        return false;
    }
    if known::is_open(&rule.prefix) {
        // Its input may be a program, too.
        return rest.is_empty() && !script.has_input;
    }
    if rule.exact {
        return rest.is_empty();
    }
    let program = &rule.prefix[0];
    let verbs: Vec<String> = command.words.iter().map(|word| word.text.clone()).collect();
    // A short prefix such as `docker` does not cover `docker run`, which would be a prefix of any program.
    let is_wider = rule.prefix.len() == 1 && known::is_open(&verbs);
    let is_known = |word: &Word| {
        let may_open = known::opens(program, &word.text);
        !may_open && (word.is_literal || !known::SUBCOMMANDS.contains(&name(program)))
    };
    !is_wider && rest.iter().all(is_known)
}

/// Whether the command only changes to a directory below the current one.
pub(super) fn is_inside(command: &Command) -> bool {
    let [program, directory] = &command.words[..] else { return false };
    let path = &directory.text;
    program.is("cd")
        && directory.is_literal
        && !path.is_empty()
        && !path.starts_with(['/', '-'])
        && path.split('/').all(|part| part != "..")
}
