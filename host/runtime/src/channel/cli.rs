//! The terminal, for one turn: answers go to stdout, errors to stderr.

use super::Channel;
use crate::error::Failure;
use bub_types::text::one_line;
use bub_types::text::shown;
use bub_types::{Envelope, MessageKind};
use std::future::Future;
use std::io::{IsTerminal, Write};
use std::pin::Pin;

/// Prints every envelope, whatever channel it is for.
#[derive(Clone, Copy)]
pub struct Printer;

impl Channel for Printer {
    fn send<'a>(&'a self, envelope: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        let written = match envelope.kind {
            MessageKind::Error => {
                // One error is one line, and its text cannot control the terminal.
                writeln!(std::io::stderr(), "{}", one_line(&envelope.content))
            }
            MessageKind::Normal | MessageKind::Command => {
                let text = format!("[{}:{}]\n{}", envelope.channel, envelope.chat_id, envelope.content);
                let mut out = std::io::stdout();
                // A terminal obeys what it is sent, and models, pages and plugins have written this. Any other reader
                // gets it as it is.
                let text = if out.is_terminal() { shown(&text) } else { text };
                writeln!(out, "{text}")
            }
        };
        Box::pin(std::future::ready(
            written.map_err(|error| Failure::Channel(format!("the terminal took no output: {error}"))),
        ))
    }
}
