//! How a turn asks: the question is posted, and the first decision counts, wherever it is made.

use super::{ApprovalBoard, Decided, Decision, INTERVAL, Question, RENEWAL, board};
use crate::channel::{ApprovalDecision, ApprovalRequest, Channel};
use crate::host::{Host, RuntimeEvent};
use crate::turn::CallScope;
use anyhow::Result;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a question waits after the last approver has left: a page that is loaded again comes back.
const GRACE: Duration = Duration::from_secs(60);

/// Questions at once. Beyond them, calls are denied without being asked about.
const MAX_QUESTIONS: usize = 256;

/// The longest arguments that are shown, in bytes; the board's rows stay small.
const MAX_ARGUMENTS: usize = 256 << 10;

/// Who can answer a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Approver {
    /// Those who attend the board alone.
    Elsewhere,
    /// A person at the terminal of this process as well, so that the question stays without others.
    Here,
    /// The owner in a chat as well, so that the question stays until then without others.
    InChat(Instant),
}

impl Approver {
    /// Whether the question stays without approvers who attend the board.
    fn is_present(self) -> bool {
        match self {
            Self::Elsewhere => false,
            Self::Here => true,
            Self::InChat(until) => Instant::now() < until,
        }
    }
}

/// The owner's answer.
pub(crate) struct Answer {
    /// The decision.
    pub(crate) decision: ApprovalDecision,
    /// Where it was made, in words.
    pub(crate) place: String,
    /// Who made it; `None`: the one whom the channel of the turn asked.
    pub(crate) by: Option<String>,
    /// The id of the question, if it was on the board.
    pub(crate) id: Option<String>,
}

/// Lets the owner decide at the channel of the turn, or wherever the board is attended; the first decision counts. `None`:
/// no owner can be asked.
pub(crate) async fn ask(scope: &CallScope, session: &str, request: &ApprovalRequest) -> Option<Answer> {
    let (host, channel) = (&scope.host, scope.channel());
    let here = channel.ask(request);
    let Some(source) = channel.asks_as() else {
        return here.await.map(|decision| Answer { decision, place: "the channel".to_owned(), by: None, id: None });
    };
    let board = board(host);
    match race((host, channel), &board, (session, source, request), here).await {
        Ok(decision) => decision,
        Err(error) => {
            tracing::warn!("the owner cannot be asked about `{}`: {error:#}", request.tool);
            None
        }
    }
}

async fn race(
    (host, channel): (&Host, &dyn Channel),
    board: &Arc<dyn ApprovalBoard>,
    (session, source, request): (&str, &str, &ApprovalRequest),
    mut here: Pin<Box<dyn Future<Output = Option<ApprovalDecision>> + Send + '_>>,
) -> Result<Option<Answer>> {
    let question = Question::new(session, source, request)?;
    let asked = || {
        let asked = RuntimeEvent::ApprovalAsked { id: question.id.clone(), tool: question.tool.clone() };
        host.events.publish(asked, session);
        channel.announce(&question);
    };
    let elsewhere =
        channel.patience().map_or(Approver::Elsewhere, |patience| Approver::InChat(Instant::now() + patience));
    // A channel without a person says so at once.
    let said = tokio::select! {
        biased;
        said = &mut here => Some(said),
        () = std::future::ready(()) => None,
    };
    let decision = match said {
        Some(Some(decision)) => {
            return Ok(Some(Answer { decision, place: place(source).to_owned(), by: None, id: None }));
        }
        Some(None) => wait(board, &question, elsewhere, asked).await?,
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
                    let made = Decision { decision, by: place(source).to_owned() };
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
    let id = question.id.clone();
    let answered = RuntimeEvent::ApprovalAnswered { id: id.clone(), decision: decision.name(), by: by.clone() };
    host.events.publish(answered, session);
    Ok(Some(Answer { decision, place: by.clone(), by: Some(by), id: Some(id) }))
}

/// Where the channel's own answer was given.
fn place(source: &str) -> &'static str {
    match source {
        "acp" => "the editor",
        "mcp" => "the client",
        _ => "the terminal",
    }
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
        anyhow::Ok(approver.is_present() || approvers.iter().any(reaches))
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
