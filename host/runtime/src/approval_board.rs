//! Questions about tool calls that any process of a home, or any worker of a database, can answer.
//!
//! A turn posts its question on the board and waits for the first decision. Processes where the owner can be reached, such
//! as `serve` with an open page, attend the board. Both are rows that expire unless they are renewed, so a process that was
//! killed leaves neither its question nor its approver behind.

mod files;
mod shared;

use crate::channel::{ApprovalDecision, ApprovalRequest};
use crate::host::{Host, RuntimeEvent};
use crate::turn::CallScope;
use anyhow::Result;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often a question and an approver are renewed.
const RENEWAL: Duration = Duration::from_secs(5);

/// How long they last without that, in seconds.
const LIFETIME: i64 = 15;

/// How often a turn looks for a decision, and a process that attends for questions.
pub const INTERVAL: Duration = Duration::from_millis(250);

/// How long a question waits after the last approver has left: a page that is loaded again comes back.
const GRACE: Duration = Duration::from_secs(60);

/// Questions at once. Beyond them, calls are denied without being asked about.
const MAX_QUESTIONS: usize = 256;

/// The longest arguments that are shown, in bytes; the board's rows stay small.
const MAX_ARGUMENTS: usize = 256 << 10;

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
    /// When it was asked.
    pub asked: Timestamp,
    /// The kind of process that asks: `serve` or `chat`.
    pub source: String,
}

impl Question {
    /// A new question of that session.
    ///
    /// # Errors
    ///
    /// The system has no random bytes.
    pub fn new(session: &str, source: &str, request: &ApprovalRequest) -> Result<Self> {
        let ApprovalRequest { tool, plugin, arguments, effect, why, ends_with_trust } = request.clone();
        Ok(Self {
            id: random_name()?,
            session_id: session.to_owned(),
            tool,
            plugin,
            arguments,
            effect: effect.to_owned(),
            why,
            ends_with_trust,
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
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Who can answer a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Approver {
    /// Those who attend the board alone.
    Elsewhere,
    /// A person at the terminal of this process as well, so that the question stays without others.
    Here,
}

/// Lets the owner decide at the channel of the turn, or wherever the board is attended; the first decision counts. `None`:
/// no owner can be asked.
pub(crate) async fn ask(scope: &CallScope, session: &str, request: &ApprovalRequest) -> Option<ApprovalDecision> {
    let (host, channel) = (&scope.host, scope.channel());
    let here = channel.ask(request);
    let Some(source) = channel.asks_as() else { return here.await };
    let board = board(host);
    match race(host, &board, (session, source, request), here).await {
        Ok(decision) => decision,
        Err(error) => {
            tracing::warn!("the owner cannot be asked about `{}`: {error:#}", request.tool);
            None
        }
    }
}

async fn race(
    host: &Host,
    board: &Arc<dyn ApprovalBoard>,
    (session, source, request): (&str, &str, &ApprovalRequest),
    mut here: Pin<Box<dyn Future<Output = Option<ApprovalDecision>> + Send + '_>>,
) -> Result<Option<ApprovalDecision>> {
    let question = Question::new(session, source, request)?;
    let asked = || {
        let asked = RuntimeEvent::ApprovalAsked { id: question.id.clone(), tool: question.tool.clone() };
        host.events.publish(asked, session);
    };
    // A channel without a person says so at once.
    let said = tokio::select! {
        biased;
        said = &mut here => Some(said),
        () = std::future::ready(()) => None,
    };
    let decision = match said {
        Some(Some(decision)) => return Ok(Some(decision)),
        Some(None) => wait(board, &question, Approver::Elsewhere, asked).await?,
        None => {
            let elsewhere = async {
                match wait(board, &question, Approver::Here, asked).await {
                    Ok(Some(decision)) => decision,
                    // The channel's own answer is still to come.
                    Ok(None) => std::future::pending().await,
                    Err(error) => {
                        tracing::warn!("`{}` is asked about at the terminal alone: {error:#}", question.tool);
                        std::future::pending().await
                    }
                }
            };
            tokio::select! {
                here = here => {
                    let Some(decision) = here else { return Ok(None) };
                    let made = Decision { decision, by: "the terminal".to_owned() };
                    match board.decide(&question.id, &made).await {
                        Ok(Decided::Already(before)) => Some(before),
                        Ok(Decided::First) => Some(made),
                        Err(error) => {
                            tracing::debug!("the decision of the terminal is not on the board: {error:#}");
                            Some(made)
                        }
                    }
                }
                decision = elsewhere => Some(decision),
            }
        }
    };
    let Some(Decision { decision, by }) = decision else { return Ok(None) };
    let answered = RuntimeEvent::ApprovalAnswered { id: question.id.clone(), decision: decision.name(), by };
    host.events.publish(answered, session);
    Ok(Some(decision))
}

/// Posts a question, and waits for a decision. `None`: no approver reaches the session, or all have left.
async fn wait(
    board: &Arc<dyn ApprovalBoard>,
    question: &Question,
    approver: Approver,
    posted: impl FnOnce() + Send,
) -> Result<Option<Decision>> {
    let is_attended = async || {
        let approvers = board.approvers().await?;
        let reaches = |prefix: &String| question.session_id.starts_with(prefix);
        anyhow::Ok(approver == Approver::Here || approvers.iter().any(reaches))
    };
    let is_full = question.arguments.len() > MAX_ARGUMENTS || board.questions().await?.len() >= MAX_QUESTIONS;
    if is_full || !is_attended().await? {
        return Ok(None);
    }
    let mut posted = Some(posted);
    let _posted = Posted { board: Arc::clone(board), id: question.id.clone() };
    let (mut renewed, mut attended) = (None::<Instant>, Instant::now());
    loop {
        if renewed.is_none_or(|renewed| renewed.elapsed() >= RENEWAL) {
            board.post(question).await?;
            if let Some(posted) = posted.take() {
                posted();
            }
            renewed = Some(Instant::now());
            if is_attended().await? {
                attended = Instant::now();
            }
        }
        if let Some(decision) = board.decision(&question.id).await? {
            return Ok(Some(decision));
        }
        if attended.elapsed() > GRACE {
            return Ok(None);
        }
        sleep(INTERVAL).await;
    }
}

/// Withdraws a question when it is dropped.
struct Posted {
    board: Arc<dyn ApprovalBoard>,
    id: String,
}

impl Drop for Posted {
    fn drop(&mut self) {
        let (board, id) = (Arc::clone(&self.board), std::mem::take(&mut self.id));
        // Without a runtime the process ends, and the row expires.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Err(error) = board.withdraw(&id).await {
                tracing::debug!("a question stays on the board until it expires: {error:#}");
            }
        });
    }
}

/// An approver, who attends until this is dropped.
pub struct Attendance {
    board: Arc<dyn ApprovalBoard>,
    id: String,
    task: tokio::task::JoinHandle<()>,
}

impl Attendance {
    /// Attends the board for sessions that begin with the prefix.
    ///
    /// # Errors
    ///
    /// The board cannot be written.
    pub async fn begin(board: Arc<dyn ApprovalBoard>, session_prefix: &str) -> Result<Self> {
        let (id, prefix) = (random_name()?, session_prefix.to_owned());
        board.attend(&id, &prefix).await?;
        let (renewing, named) = (Arc::clone(&board), id.clone());
        let task = tokio::spawn(async move {
            loop {
                sleep(RENEWAL).await;
                if let Err(error) = renewing.attend(&named, &prefix).await {
                    tracing::warn!("turns do not see that the owner can be asked: {error:#}");
                }
            }
        });
        Ok(Self { board, id, task })
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        self.task.abort();
        let (board, id) = (Arc::clone(&self.board), std::mem::take(&mut self.id));
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Err(error) = board.leave(&id).await {
                tracing::debug!("an approver who has left is seen until it expires: {error:#}");
            }
        });
    }
}

/// The names of decisions in files, rows and requests.
const DECISIONS: [(ApprovalDecision, &str); 4] = [
    (ApprovalDecision::Once, "once"),
    (ApprovalDecision::Always, "session"),
    (ApprovalDecision::No, "no"),
    (ApprovalDecision::Never, "never"),
];

impl ApprovalDecision {
    /// Its name: `once`, `session`, `no` or `never`.
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
