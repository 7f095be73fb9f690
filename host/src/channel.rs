//! Where envelopes come from and go to.

mod cli;

use crate::error::Failure;
use crate::plugin::bindings::{Envelope, MessageKind};
use std::future::Future;
use std::pin::Pin;

pub use cli::Printer;

/// Takes outbound envelopes.
pub trait Channel: Send + Sync {
    /// Hands one envelope over.
    ///
    /// # Errors
    ///
    /// [`Failure::Channel`], when it could not be handed over.
    fn send<'a>(&'a self, envelope: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;
}

/// Decides what an inbound text is. On `cli` a text that begins with a comma is a command; nowhere else, because a
/// command needs no model and a peer of another channel must not reach a shell with one.
pub fn kind_of(channel: &str, content: &str) -> MessageKind {
    if channel == "cli" && content.starts_with(',') { MessageKind::Command } else { MessageKind::Normal }
}
