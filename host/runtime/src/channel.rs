//! Where envelopes come from and go to.

pub mod attach;
mod cli;
mod provenance;

use crate::approval_board::Question;
use crate::error::Failure;
use bub_config::Commands;
use bub_permissions::policy::KeptRule;
use bub_types::{Envelope, MessageKind};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

pub use cli::Printer;
pub use provenance::foreign;
pub use provenance::{foreign_passage, shown, shown_passage};

/// The names of the program's own channels, which no plugin's may have.
pub const OWN: [&str; 4] = ["acp", "cli", "http", "mcp"];

/// Takes outbound envelopes.
pub trait Channel: Send + Sync {
    /// Hands one envelope over.
    ///
    /// # Errors
    ///
    /// [`Failure::Channel`], when it could not be handed over.
    fn send<'a>(&'a self, envelope: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

    /// Asks the owner whether a tool call may be made. None: no owner can be asked. Dropping the future withdraws the question.
    fn ask<'a>(
        &'a self,
        question: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = Option<ApprovalDecision>> + Send + 'a>> {
        let _ = question;
        Box::pin(std::future::ready(None))
    }

    /// The kind of process that asks, if questions of this channel may be answered elsewhere too: on the page of `serve`, or
    /// by any client of its API.
    fn asks_as(&self) -> Option<&'static str> {
        None
    }

    /// How long a question may wait for the owner at the other end of the channel, who answers on the board as well. `None`:
    /// the owner is not there.
    fn patience(&self) -> Option<Duration> {
        None
    }

    /// Tells the owner at the other end of the channel about a question on the board.
    fn announce(&self, question: &Question) {
        let _ = question;
    }

    /// A call of the owner's turn was not made: the owner cannot be reached, or the approval mode permits reads alone.
    fn not_asked(&self, question: &ApprovalRequest) {
        let _ = question;
    }
}

/// A tool call that the owner is to decide about.
#[derive(Debug, Clone)]
pub struct ApprovalRequest {
    /// The tool's name.
    pub tool: String,
    /// The plugin that it belongs to; none: it came with the program, so that what its name and its arguments mean is
    /// known.
    pub plugin: Option<String>,
    /// The arguments as the tool will get them: JSON that a model wrote, so a terminal must not be given them as they are.
    pub arguments: String,
    /// The effect of the tool: `read`, `write`, `send` or `run`.
    pub effect: &'static str,
    /// Why it is asked.
    pub why: String,
    /// Whether nothing but the files of a workspace that is not trusted is the reason: `bub-wasm trust` ends it.
    pub ends_with_trust: bool,
    /// The rules that would allow the command or the host from now on, if the owner answers with [`ApprovalDecision::Rule`].
    pub rules: Vec<KeptRule>,
}

/// The owner's answer to an [`ApprovalRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// This call may be made.
    Once,
    /// This one, and each of the same tool with exactly the same arguments in this session.
    Always,
    /// This one, and from now on each that the rules of the request allow. They are kept in config.toml. Without such rules,
    /// this call alone.
    Rule,
    /// This call is not made.
    No,
    /// This one is not, nor any of this tool in this session.
    Never,
}

/// A message in a session on a channel, with the context keys of Bub.
pub fn message(
    session: Option<String>,
    [channel, chat_id, sender]: [&str; 3],
    content: &str,
    kind: MessageKind,
) -> Envelope {
    let json = |text: &str| serde_json::Value::from(text).to_string();
    Envelope {
        session_id: session,
        sender: Some(sender.to_owned()),
        kind,
        context: vec![
            ("sender_id".into(), json(sender)),
            ("channel".into(), json(&format!("${channel}"))),
            ("chat_id".into(), json(chat_id)),
        ],
        ..Envelope::new(channel, chat_id, content)
    }
}

/// A reply to the chat that a message came from.
pub fn reply(session: &str, to: &Envelope, content: &str) -> Envelope {
    Envelope {
        session_id: Some(session.to_owned()),
        output_channel: to.output_channel.clone(),
        ..Envelope::new(&to.channel, &to.chat_id, content)
    }
}

/// Decides what an inbound text is: where the channel has commands, one that begins with a comma is a command.
pub fn kind_of(commands: Commands, content: &str) -> MessageKind {
    if commands != Commands::None && content.starts_with(',') { MessageKind::Command } else { MessageKind::Normal }
}

/// The session of a chat on a channel. Two chats never have one session: what parts the two names is escaped in both, and
/// what would make of the first a session that is not kept.
pub fn session_of(channel: &str, chat_id: &str) -> String {
    let escaped = |name: &str| name.replace('%', "%25").replace(':', "%3A");
    format!("{}:{}", escaped(channel).replace('/', "%2F"), escaped(chat_id))
}
