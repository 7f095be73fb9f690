//! Rules of the user for commands, such as "`git status` is allowed": which of them hold for a line.

mod known;
mod matching;
mod offer;

pub use offer::RuleScope;

use super::shell::Script;
use bub_types::text::clipped;
use matching::Match;
use serde::Deserialize;
use std::fmt::{self, Display, Formatter};

/// What a rule says about a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleDecision {
    /// It runs without a question, where a question would be asked.
    Allow,
    /// The owner is asked.
    Ask,
    /// It is refused.
    Deny,
}

impl RuleDecision {
    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Characters of a command that a reason shows.
const SHOWN: usize = 80;

/// Maximum length of a prefix: words, and bytes of each.
const MAX_PREFIX: (usize, usize) = (32, 1024);

/// A rule: `[[process.rules]]` of config.toml.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RuleTable")]
pub struct CommandRule {
    /// The words that a command begins with.
    pub prefix: Vec<String>,
    /// What holds for it.
    pub decision: RuleDecision,
    /// Why, for the owner and the model.
    pub why: Option<String>,
    /// Whether `allow` holds in tainted turns too.
    pub tainted: bool,
    /// Whether `allow` holds for exactly these words, without further arguments.
    pub exact: bool,
    /// Whether `allow` holds outside of the sandbox too.
    pub outside: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleTable {
    prefix: Prefix,
    decision: RuleDecision,
    why: Option<String>,
    tainted: Option<bool>,
    exact: Option<bool>,
    outside: Option<bool>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Prefix {
    Words(Vec<String>),
    Line(String),
}

impl TryFrom<RuleTable> for CommandRule {
    type Error = String;

    fn try_from(table: RuleTable) -> Result<Self, String> {
        let prefix = match table.prefix {
            Prefix::Words(words) => words,
            Prefix::Line(line) => words_of(&line)?,
        };
        let shown = || clipped(&prefix.join(" ").escape_debug().to_string(), SHOWN);
        if prefix.first().is_none_or(String::is_empty) {
            return Err(
                "`prefix` of a rule names no command: write it as in `prefix = [\"git\", \"status\"]`".to_owned()
            );
        }
        if prefix.len() > MAX_PREFIX.0 || prefix.iter().any(|word| word.len() > MAX_PREFIX.1) {
            return Err(format!(
                "`prefix = {}` is longer than {} words of {} bytes",
                shown(),
                MAX_PREFIX.0,
                MAX_PREFIX.1
            ));
        }
        let flags = [table.tainted, table.exact, table.outside];
        if table.decision != RuleDecision::Allow && flags.iter().any(Option::is_some) {
            let decision = table.decision.name();
            return Err(format!(
                "`tainted`, `exact` and `outside` say what is allowed; the rule for `{}` says `{decision}`: remove them",
                shown()
            ));
        }
        let [tainted, exact, outside] = flags.map(|flag| flag.unwrap_or(false));
        Ok(Self { prefix, decision: table.decision, why: table.why, tainted, exact, outside })
    }
}

/// The words of a prefix that is written as a line.
fn words_of(line: &str) -> Result<Vec<String>, String> {
    let script = Script::parse(line);
    match &script.commands[..] {
        [command] if script.is_understood && script.is_plain && command.words.iter().all(|word| word.is_literal) => {
            Ok(command.words.iter().map(|word| word.text.clone()).collect())
        }
        _ => {
            let shown = clipped(&line.escape_debug().to_string(), SHOWN);
            Err(format!("`prefix = {shown}` is not one command of plain words: write it as a list of words"))
        }
    }
}

/// As it is written in config.toml.
impl Display for CommandRule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let words: Vec<String> =
            self.prefix.iter().map(|word| serde_json::Value::from(word.as_str()).to_string()).collect();
        write!(f, "prefix = [{}], decision = \"{}\"", words.join(", "), self.decision.name())?;
        let flags = [("exact", self.exact), ("tainted", self.tainted), ("outside", self.outside)];
        flags.into_iter().filter(|(_, is_set)| *is_set).try_for_each(|(name, _)| write!(f, ", {name} = true"))
    }
}

/// What the rules say about a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleVerdict {
    /// The strictest decision among its commands.
    pub decision: RuleDecision,
    /// Whether `allow` holds in tainted turns too.
    pub tainted: bool,
    /// Whether `allow` holds outside of the sandbox too.
    pub outside: bool,
    /// The reason, with the command; empty for `allow`.
    pub why: String,
    /// The rule that decided, as it is written in config.toml; none: doubts about the line did, or several rules.
    pub rule: Option<String>,
}

/// The rules of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct CommandRules(Vec<CommandRule>);

impl FromIterator<CommandRule> for CommandRules {
    fn from_iter<T: IntoIterator<Item = CommandRule>>(rules: T) -> Self {
        Self(rules.into_iter().collect())
    }
}

impl CommandRules {
    /// The rules in their order.
    pub fn iter(&self) -> impl Iterator<Item = &CommandRule> {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the rules say about a line; `None`: nothing. The strictest rule of any command decides, and every command has
    /// to be allowed for `allow`. A line that is not understood, or whose program is not literal, is never allowed, and
    /// asked about if a rule asks about or denies anything.
    ///
    /// ```
    /// use bub_permissions::policy::commands::{CommandRules, RuleDecision};
    ///
    /// # fn main() -> Result<(), serde_json::Error> {
    /// let rules: CommandRules = serde_json::from_str(
    ///     r#"[{"prefix": "git status", "decision": "allow"}, {"prefix": "git push", "decision": "deny"}]"#,
    /// )?;
    /// let decision = |line| rules.judge(line).map(|verdict| verdict.decision);
    /// assert_eq!(decision("git status -s"), Some(RuleDecision::Allow));
    /// assert_eq!(decision("git status && git push"), Some(RuleDecision::Deny));
    /// assert_eq!(decision("git status && ls"), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn judge(&self, line: &str) -> Option<RuleVerdict> {
        if self.is_empty() {
            return None;
        }
        self.judge_script(&Script::parse(line))
    }

    /// The same for a program with arguments that no shell reads.
    pub fn judge_words<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Option<RuleVerdict> {
        self.judge_script(&matching::of_words(words))
    }

    fn judge_script(&self, script: &Script) -> Option<RuleVerdict> {
        let is_restriction = |rule: &&CommandRule| rule.decision != RuleDecision::Allow;
        let mut strictest: Option<(&CommandRule, String)> = None;
        let mut doubt = (!script.is_understood).then(|| "it is not understood".to_owned());
        if self.iter().any(|rule| is_restriction(&rule)) {
            let (all, is_complete) = matching::reachable(script);
            if !is_complete {
                doubt.get_or_insert_with(|| "it runs a command that is not known before".to_owned());
            }
            for (rule, command) in
                self.iter().filter(is_restriction).flat_map(|rule| all.iter().map(move |c| (rule, c)))
            {
                match matching::restricts(rule, command) {
                    Match::Yes if strictest.as_ref().is_none_or(|(other, _)| rule.decision > other.decision) => {
                        strictest = Some((rule, matching::shown(command, SHOWN)));
                    }
                    Match::Perhaps => {
                        let shown = matching::shown(command, SHOWN);
                        doubt.get_or_insert_with(|| format!("what `{shown}` runs is not known before"));
                    }
                    Match::Yes | Match::No => {}
                }
            }
            if let Some((rule, command)) = strictest {
                let verb = if rule.decision == RuleDecision::Deny { "denies" } else { "asks about" };
                let why = rule.why.as_ref().map(|why| format!(": {}", clipped(why, 200))).unwrap_or_default();
                let why = format!("a rule of `[[process.rules]]` {verb} `{command}`{why}");
                let (decision, rule) = (rule.decision, Some(rule.to_string()));
                return Some(RuleVerdict { decision, tainted: false, outside: false, why, rule });
            }
            if let Some(doubt) = doubt {
                let why = format!("rules of `[[process.rules]]` restrict commands, and {doubt}");
                let decision = RuleDecision::Ask;
                return Some(RuleVerdict { decision, tainted: false, outside: false, why, rule: None });
            }
        }
        let (tainted, outside, rule) = self.allowed(script)?;
        Some(RuleVerdict { decision: RuleDecision::Allow, tainted, outside, why: String::new(), rule })
    }

    /// Whether every command is allowed, and then whether in tainted turns and outside of the sandbox too, and by which
    /// rule, where it is one.
    fn allowed(&self, script: &Script) -> Option<(bool, bool, Option<String>)> {
        if !(script.is_understood && script.is_plain) || script.commands.is_empty() {
            return None;
        }
        let (mut tainted, mut outside) = (true, true);
        let mut deciding: Vec<&CommandRule> = Vec::new();
        for command in &script.commands {
            let rules: Vec<_> = self.iter().filter(|rule| matching::allows(rule, command, script)).collect();
            if rules.is_empty() && !matching::is_inside(command) {
                return None;
            }
            tainted &= rules.is_empty() || rules.iter().any(|rule| rule.tainted);
            outside &= rules.is_empty() || rules.iter().any(|rule| rule.outside);
            deciding.extend(rules.first().filter(|rule| !deciding.contains(*rule)));
        }
        let rule = if let [only] = deciding[..] { Some(only.to_string()) } else { None };
        Some((tainted, outside, rule))
    }
}
