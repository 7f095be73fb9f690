//! Questions about tool calls that any process of a home, or any worker of a database, can answer.
//!
//! A turn posts its question on the board and waits for the first decision. Processes where the owner can be reached, such
//! as `serve` with an open page, attend the board. Both are rows that expire unless they are renewed, so a process that was
//! killed leaves neither its question nor its approver behind.

mod asking;
mod files;
mod reader;
mod shared;

use crate::channel::{ApprovalDecision, ApprovalRequest};
use crate::host::Host;
use anyhow::Result;
use bub_types::text::hex;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use asking::{Answer, ask};
pub use reader::{BoardReader, Follower};

/// How often a question and an approver are renewed.
const RENEWAL: Duration = Duration::from_secs(5);

/// How long they last without that, in seconds.
const LIFETIME: i64 = 15;

/// How often a turn looks for a decision, and a process that attends for questions.
const INTERVAL: Duration = Duration::from_millis(250);

/// A question on the board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// A random name.
    pub id: String,
    /// The session of the turn that asks.
    pub session_id: String,
    /// The tool's name.
    pub tool: String,
    /// Its plugin; `None`: it came with the program.
    pub plugin: Option<String>,
    /// The arguments as the tool will get them: JSON that a model wrote.
    pub arguments: String,
    /// What the tool does: `read`, `write`, `send` or `run`.
    pub effect: String,
    /// Why it is asked.
    pub why: String,
    /// Whether `bub-wasm trust` ends such questions.
    pub ends_with_trust: bool,
    /// The rules that the decision `rule` keeps, as they will be written in config.toml. Empty: there is no such decision.
    #[serde(default)]
    pub rules: Vec<String>,
    /// When it was asked.
    pub asked: Timestamp,
    /// The kind of process that asks: `serve`, `chat`, `mcp` or `acp`.
    pub source: String,
}

impl Question {
    /// A new question of that session.
    ///
    /// # Errors
    ///
    /// The system has no random bytes.
    pub fn new(session: &str, source: &str, request: &ApprovalRequest) -> Result<Self> {
        let ApprovalRequest { tool, plugin, arguments, effect, why, ends_with_trust, rules } = request.clone();
        Ok(Self {
            id: random_name()?,
            session_id: session.to_owned(),
            tool,
            plugin,
            arguments,
            effect: effect.to_owned(),
            why,
            ends_with_trust,
            rules: rules.iter().map(ToString::to_string).collect(),
            asked: Timestamp::now(),
            source: source.to_owned(),
        })
    }
}

/// A decision, and who made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What may be done.
    #[serde(with = "decision_name")]
    pub decision: ApprovalDecision,
    /// A short name, for people.
    pub by: String,
}

/// The result of [`ApprovalBoard::decide`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decided {
    /// This decision is the first.
    First,
    /// Another one was first.
    Already(Decision),
}

/// What every operation of a board returns.
pub type BoardFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A board of questions. Each operation fails if the board cannot be read or written.
pub trait ApprovalBoard: Send + Sync {
    /// Puts the question on the board, or renews it.
    fn post<'a>(&'a self, question: &'a Question) -> BoardFuture<'a, ()>;

    /// Takes it from the board. Its decision stays for a while, for those who answer late.
    fn withdraw<'a>(&'a self, id: &'a str) -> BoardFuture<'a, ()>;

    /// The questions on the board that have no decision, oldest first.
    fn questions(&self) -> BoardFuture<'_, Vec<Question>>;

    /// Makes a decision, unless there is one.
    fn decide<'a>(&'a self, id: &'a str, decision: &'a Decision) -> BoardFuture<'a, Decided>;

    /// The decision about a question, if it is made.
    fn decision<'a>(&'a self, id: &'a str) -> BoardFuture<'a, Option<Decision>>;

    /// Says, or says again, that this approver answers questions of sessions that begin with the prefix.
    fn attend<'a>(&'a self, id: &'a str, session_prefix: &'a str) -> BoardFuture<'a, ()>;

    /// The approver has left.
    fn leave<'a>(&'a self, id: &'a str) -> BoardFuture<'a, ()>;

    /// The session prefixes of all approvers.
    fn approvers(&self) -> BoardFuture<'_, Vec<String>>;
}

/// The board of a host: in its database, or in `$BUB_HOME/approvals`.
pub fn board(host: &Host) -> Arc<dyn ApprovalBoard> {
    match host.database() {
        Some(database) => Arc::new(shared::SharedBoard::new(database.clone())),
        None => Arc::new(files::FileBoard::new(&host.config.home)),
    }
}

/// A random name of 32 hexadecimal digits.
///
/// # Errors
///
/// The system has no random bytes.
pub fn random_name() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?;
    Ok(hex(&bytes))
}

/// The names of decisions in files, rows and requests.
const DECISIONS: [(ApprovalDecision, &str); 5] = [
    (ApprovalDecision::Once, "once"),
    (ApprovalDecision::Always, "session"),
    (ApprovalDecision::Rule, "rule"),
    (ApprovalDecision::No, "no"),
    (ApprovalDecision::Never, "never"),
];

impl ApprovalDecision {
    /// Its name: `once`, `session`, `rule`, `no` or `never`.
    pub fn name(self) -> &'static str {
        DECISIONS.iter().find(|(decision, _)| *decision == self).map_or("no", |(_, name)| name)
    }

    /// The decision of that name.
    pub fn parse(name: &str) -> Option<Self> {
        DECISIONS.iter().find(|(_, known)| *known == name).map(|(decision, _)| *decision)
    }
}

mod decision_name {
    use super::ApprovalDecision;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(decision: &ApprovalDecision, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(decision.name())
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<ApprovalDecision, D::Error> {
        let name = String::deserialize(deserializer)?;
        ApprovalDecision::parse(&name).ok_or_else(|| serde::de::Error::custom("not the name of a decision"))
    }
}
