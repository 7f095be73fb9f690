//! Which rules would allow a line from now on, for an owner who is asked about it.

use super::super::shell::{Command, Script};
use super::{CommandRule, CommandRules, RuleDecision, known, matching};

/// Maximum number of rules for one line.
const MAX_RULES: usize = 4;

/// Maximum length of the prefix of a rule that is offered, in bytes.
const MAX_LENGTH: usize = 200;

/// Where the rules of an offer hold, beside the sandbox in clean turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RuleScope {
    /// In tainted turns too.
    pub tainted: bool,
    /// Outside of the sandbox too.
    pub outside: bool,
}

impl RuleScope {
    /// Whether a rule that says so of `tainted` and `outside` holds here.
    fn is_within(self, tainted: bool, outside: bool) -> bool {
        (tainted || !self.tainted) && (outside || !self.outside)
    }
}

impl CommandRules {
    /// The rules that would allow the line, beside those that there are: one for each command that is not allowed yet.
    /// Empty: no rule may allow it, or it is allowed already.
    pub fn offer(&self, line: &str, scope: RuleScope) -> Vec<CommandRule> {
        let script = Script::parse(line);
        if !(script.is_understood && script.is_plain) {
            return Vec::new();
        }
        let mut offered: Vec<CommandRule> = Vec::new();
        for command in &script.commands {
            let holds = |rule: &CommandRule| {
                scope.is_within(rule.tainted, rule.outside) && matching::allows(rule, command, &script)
            };
            if matching::is_inside(command) || self.iter().chain(&offered).any(holds) {
                continue;
            }
            match rule(command, &script, scope) {
                Some(rule) if offered.len() < MAX_RULES => offered.push(rule),
                _ => return Vec::new(),
            }
        }
        // Nothing is offered that would not end the question.
        let all: CommandRules = self.iter().chain(&offered).cloned().collect();
        let is_enough = all.judge(line).is_some_and(|verdict| {
            verdict.decision == RuleDecision::Allow && scope.is_within(verdict.tainted, verdict.outside)
        });
        if is_enough { offered } else { Vec::new() }
    }
}

/// The rule for one command: of a command of a known program, or of a program that only shows something, with any
/// arguments; of anything else exactly.
fn rule(command: &Command, script: &Script, scope: RuleScope) -> Option<CommandRule> {
    let words: Vec<String> = command.words.iter().map(|word| word.text.clone()).collect();
    let program = words.first()?;
    let length = match words.get(1) {
        _ if known::is_open(&words) => words.len(),
        Some(verb) if known::SUBCOMMANDS.contains(&program.as_str()) && !verb.starts_with('-') => {
            // A script of a package is named by the word after `run`.
            if verb == "run" && words.len() > 2 { 3 } else { 2 }
        }
        _ if known::SHOWING.contains(&program.as_str()) => 1,
        _ => words.len(),
    };
    let is_known = known::SUBCOMMANDS.contains(&program.as_str()) || known::SHOWING.contains(&program.as_str());
    let exact = known::is_open(&words) || !is_known;
    let prefix = words.get(..length)?;
    let is_literal = command.words.iter().take(length).all(|word| word.is_literal);
    let is_shown = prefix.iter().flat_map(|word| word.chars()).all(|c| c.is_ascii_graphic() || c == ' ');
    if !is_literal || !is_shown || prefix.iter().map(String::len).sum::<usize>() > MAX_LENGTH {
        return None;
    }
    let RuleScope { tainted, outside } = scope;
    let prefix = prefix.to_vec();
    let rule = CommandRule { prefix, decision: RuleDecision::Allow, why: None, tainted, exact, outside };
    matching::allows(&rule, command, script).then_some(rule)
}
