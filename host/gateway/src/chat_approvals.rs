//! Questions about tool calls in the chat of the owner whose turn asks, and the answers that the owner sends there.
//!
//! A question goes to the channel directly, and not to the outbox: it is of no use after its turn. An answer such as
//! `,allow 3f9a21c0` is a message of its own that no turn sees. It is a decision on the board, so that the worker that reads
//! the channel need not be the one that runs the turn.

use super::TurnOutcome;
use super::gateway::{BACKOFF, Gateway};
use super::inbox::target;
use super::run::{HTTP, outbounds};
use super::task::Task;
use bub_runtime::approval_board::{ApprovalBoard, Decided, Decision, Question};
use bub_runtime::channel::{ApprovalDecision, reply};
use bub_runtime::host::Host;
use bub_runtime::turn::{CallScope, principal};
use bub_tape::run_id;
use bub_types::text::{self, clipped, count, line, one_line};
use bub_types::{Envelope, Principal};
use std::sync::Arc;
use std::time::Duration;

/// How long a question waits for an answer from a chat. Its turn keeps its place among those that run meanwhile.
pub(super) const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Digits of a question's id that a person has to type.
const ID_DIGITS: usize = 8;

/// The longest arguments that are shown, in characters: messages of chats have short limits.
const MAX_ARGUMENTS: usize = 1500;

/// Attempts to send a question.
const ATTEMPTS: u32 = 4;

/// The answers, as commands.
const ANSWERS: [(&str, ApprovalDecision); 5] = [
    (",allow", ApprovalDecision::Once),
    (",always", ApprovalDecision::Always),
    (",rule", ApprovalDecision::Rule),
    (",deny", ApprovalDecision::No),
    (",never", ApprovalDecision::Never),
];

/// An answer in a message.
pub(super) struct Answer {
    decision: ApprovalDecision,
    /// The first digits of the question's id.
    id: String,
}

impl Answer {
    fn parse(text: &str) -> Option<Self> {
        let (command, id) = text.trim().split_once(char::is_whitespace)?;
        let (_, decision) = ANSWERS.iter().find(|(name, _)| command.eq_ignore_ascii_case(name))?;
        let id = id.trim().to_ascii_lowercase();
        let is_id = (ID_DIGITS..=32).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then_some(Self { decision: *decision, id })
    }
}

/// Whether the owner reads the chat that a message came from, and its answers go there.
pub(super) fn is_chat_of_owner(host: &Host, message: &Envelope) -> bool {
    message.channel != HTTP && target(message) == message.channel && principal(host, message) == Principal::Owner
}

impl Gateway {
    /// Asks the owner in the chat that the message of a turn came from.
    pub(super) fn announce(self: &Arc<Self>, session: &str, message: &Envelope, question: &Question) {
        let Some(channel) = self.channels.get(target(message)) else { return };
        let (host, key) = (self.host(), format!("question-{}", question.id));
        let asked = reply(session, message, &text_of(question));
        drop(tokio::spawn(async move {
            let mut pause = BACKOFF.0;
            for attempt in 1..=ATTEMPTS {
                let Err(failure) = channel.send(&CallScope::new(&host), &asked, &key).await else { return };
                tracing::warn!("the owner is not asked on channel `{}`: {failure}", asked.channel);
                let Some(wait) = failure.retry_after().filter(|_| attempt < ATTEMPTS) else { return };
                tokio::time::sleep(wait.max(pause).min(PATIENCE)).await;
                pause *= 2;
            }
        }));
    }

    /// The owner's answer to a question, if a message is one.
    pub(super) fn approval_answer(&self, task: &Task) -> Option<Answer> {
        let message = &task.said.message;
        Answer::parse(&message.content).filter(|_| is_chat_of_owner(&self.host(), message))
    }

    /// Puts the owner's answer on the board, and says in the chat what became of it.
    pub(super) async fn answer_question(self: &Arc<Self>, task: Task, answer: Answer) {
        let host = self.host();
        let message = &task.said.message;
        let calls = CallScope::with_identity(&host, task.said.identity.clone());
        let session = match bub_runtime::turn::resolve_session(&calls, message).await {
            Ok(session) => session,
            Err(failure) => {
                let outcome = TurnOutcome::failed(message.session_id.clone().unwrap_or_default(), &failure);
                return self.finish(vec![task], outcome, Vec::new(), None).await;
            }
        };
        let board = bub_runtime::approval_board::board(&host);
        let by = format!("the owner on {}", message.channel);
        let said = decide(&*board, &session, &answer, by).await.unwrap_or_else(|error| {
            tracing::error!("an answer of the owner on channel `{}` is not stored: {error:#}", message.channel);
            "the answer could not be stored; send it again".to_owned()
        });
        let outbounds = outbounds(&run_id(), vec![reply(&session, message, &said)]);
        self.finish(vec![task], TurnOutcome::silent(session), outbounds, None).await;
    }
}

async fn decide(board: &dyn ApprovalBoard, session: &str, answer: &Answer, by: String) -> anyhow::Result<String> {
    let questions = board.questions().await?;
    let mut named =
        questions.iter().filter(|question| question.session_id == session && question.id.starts_with(&answer.id));
    let (Some(question), None) = (named.next(), named.next()) else {
        return Ok(format!("no question `{}` waits here: it was answered, or its turn has ended", answer.id));
    };
    if answer.decision == ApprovalDecision::Rule && question.rules.is_empty() {
        return Ok("no rule can allow this call from now on: answer `,allow` or `,always`".to_owned());
    }
    let decided = board.decide(&question.id, &Decision { decision: answer.decision, by }).await?;
    Ok(match decided {
        Decided::Already(before) => format!("{} has answered `{}` before", before.by, before.decision.name()),
        Decided::First => {
            let tool = one_line(&question.tool);
            match answer.decision {
                ApprovalDecision::Once => format!("`{tool}` is called"),
                ApprovalDecision::Always => format!("`{tool}` is called, and again with exactly these arguments"),
                ApprovalDecision::Rule => format!("`{tool}` is called, and from now on what the rules allow"),
                ApprovalDecision::No => format!("`{tool}` is not called"),
                ApprovalDecision::Never => format!("`{tool}` is not called in this session"),
            }
        }
    })
}

/// A question, for a chat.
fn text_of(question: &Question) -> String {
    let Question { tool, plugin, arguments, effect, why, rules, .. } = question;
    let id = &question.id[..ID_DIGITS.min(question.id.len())];
    let plugin = plugin.as_ref().map(|plugin| format!(" of the plugin `{}`", one_line(plugin))).unwrap_or_default();
    let arguments = line(arguments);
    let characters = arguments.chars().count();
    let shown = clipped(&arguments, MAX_ARGUMENTS);
    let fence = text::fence(&shown);
    let rest = match characters > MAX_ARGUMENTS {
        true => format!(
            "\nThese are the first {MAX_ARGUMENTS} of {}; the page of `serve` shows all.",
            count(characters as u64, "character", "characters")
        ),
        false => String::new(),
    };
    let by_rule = match rules.is_empty() {
        true => String::new(),
        false => {
            let rules: Vec<String> = rules.iter().map(|rule| one_line(rule)).collect();
            format!("`,rule {id}` always what this allows: {}\n", rules.join("; "))
        }
    };
    format!(
        "May `{tool}`{plugin} be called? It would {effect} ({why}).\n{fence}\n{shown}\n{fence}{rest}\n\
         `,allow {id}` this call\n`,always {id}` exactly this call in this session\n{by_rule}`,deny {id}` not this call\n\
         `,never {id}` no call of this tool in this session\n\
         Without an answer the call is denied after {} minutes.",
        PATIENCE.as_secs() / 60,
        tool = one_line(tool),
        why = one_line(why),
    )
}
