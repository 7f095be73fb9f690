//! The terminal, for one turn: answers go to stdout, errors to stderr.

use super::{ApprovalDecision, ApprovalRequest, Channel};
use crate::error::Failure;
use bub_types::text::one_line;
use bub_types::text::shown;
use bub_types::{Envelope, MessageKind};
use std::future::Future;
use std::io::{IsTerminal, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Prints every envelope, whatever channel it is for.
#[derive(Clone, Default)]
pub struct Printer {
    said_error: Arc<AtomicBool>,
    /// Effects that the owner has allowed beforehand.
    allowed: Arc<[String]>,
}

impl Printer {
    /// A printer whose owner has answered for these effects beforehand.
    pub fn allowing(effects: impl IntoIterator<Item = String>) -> Self {
        Self { allowed: effects.into_iter().collect(), ..Self::default() }
    }

    /// Whether an envelope of kind error was printed: then the failure has been said already.
    pub fn said_error(&self) -> bool {
        self.said_error.load(Ordering::Relaxed)
    }
}

impl Channel for Printer {
    fn send<'a>(&'a self, envelope: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        let written = match envelope.kind {
            MessageKind::Error => {
                self.said_error.store(true, Ordering::Relaxed);
                // Whoever wrote it, one error is one line, and no terminal is told what to do by it.
                writeln!(std::io::stderr(), "{}", one_line(&envelope.content))
            }
            MessageKind::Normal | MessageKind::Command => {
                let text = format!("[{}:{}]\n{}", envelope.channel, envelope.chat_id, envelope.content);
                let mut out = std::io::stdout();
                // A terminal obeys what it is sent, and models, pages and plugins have written this. Whatever else reads
                // it gets it as it is.
                let text = if out.is_terminal() { shown(&text) } else { text };
                writeln!(out, "{text}")
            }
        };
        Box::pin(std::future::ready(
            written.map_err(|error| Failure::Channel(format!("the terminal took no output: {error}"))),
        ))
    }

    fn ask<'a>(
        &'a self,
        question: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = Option<ApprovalDecision>> + Send + 'a>> {
        let is_allowed = self.allowed.iter().any(|effect| effect == question.effect);
        Box::pin(std::future::ready(is_allowed.then_some(ApprovalDecision::Once)))
    }
}
