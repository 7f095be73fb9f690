//! A chat without a terminal: one message per line, streamed answers, errors on stderr.

use super::super::denied::DeniedCalls;
use super::super::plugin::PendingPlugins;
use super::super::watchdog::Interrupts;
use super::chat_channel::ChannelEvent;
use anyhow::Result;
use bub_runtime::host::Host;
use bub_runtime::turn::{TurnEvent, TurnOptions, run_turn};
use bub_types::text::one_line;
use bub_types::{Envelope, MessageKind, StreamEvent};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

/// Buffered events of a turn.
const MAX_EVENTS: usize = 256;

/// The exit code is that of the last turn.
pub(super) async fn run(
    host: &Arc<Host>,
    mut channel_events: mpsc::Receiver<ChannelEvent>,
    envelope: &(dyn Fn(&str) -> Envelope + Send),
    mut stop: watch::Receiver<bool>,
    mut pending_plugins: PendingPlugins,
    denied: &DeniedCalls,
) -> Result<ExitCode> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut code = ExitCode::SUCCESS;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let interrupts = Interrupts::from_signal()?;
    loop {
        let line = tokio::select! {
            line = lines.next_line() => line?,
            _ = stop.wait_for(|stop| *stop) => return Ok(code),
            _ = interrupt.recv() => return Ok(ExitCode::from(130)),
        };
        let Some(line) = line.filter(|line| !super::is_quit(line)) else { return Ok(code) };
        if line.trim().is_empty() {
            continue;
        }
        pending_plugins.decide(host)?;
        let (end, cancel) = watch::channel(false);
        let (listener, mut heard) = mpsc::channel(MAX_EVENTS);
        let turn = run_turn(host, envelope(&line), TurnOptions::new(cancel).with_listener(listener));
        tokio::pin!(turn);
        let mut output = PlainOutput::default();
        let outcome = loop {
            tokio::select! {
                biased;
                Some(heard) = heard.recv() => output.hear(heard)?,
                Some(channel_event) = channel_events.recv() => output.channel_event(channel_event)?,
                _ = interrupt.recv() => {
                    interrupts.heard();
                    let _ = end.send(true);
                }
                _ = stop.wait_for(|stop| *stop), if !*end.borrow() => drop(end.send(true)),
                outcome = &mut turn => break outcome,
            }
        };
        while let Ok(channel_event) = channel_events.try_recv() {
            output.channel_event(channel_event)?;
        }
        code = if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        let mode = host.config.policy.approve;
        denied.tell(&mut std::io::stderr(), mode)?;
        output.end(outcome.err().map(|failure| failure.user_message()))?;
    }
}

/// The output of a turn.
#[derive(Default)]
struct PlainOutput {
    all: String,
    said_error: bool,
}

impl PlainOutput {
    fn hear(&mut self, heard: TurnEvent) -> Result<()> {
        if let TurnEvent::Event(StreamEvent::Text(piece)) = heard {
            self.all.push_str(&piece);
            let mut out = std::io::stdout().lock();
            out.write_all(piece.as_bytes())?;
            out.flush()?;
        }
        Ok(())
    }

    fn channel_event(&mut self, channel_event: ChannelEvent) -> Result<()> {
        // No person can answer a request here.
        let ChannelEvent::Envelope(envelope) = channel_event else { return Ok(()) };
        if envelope.kind == MessageKind::Error {
            self.said_error = true;
            writeln!(std::io::stderr(), "error: {}", one_line(&envelope.content))?;
        } else if envelope.content.trim() != self.all.trim() {
            self.line()?;
            writeln!(std::io::stdout(), "{}", envelope.content)?;
            self.all.clear();
        }
        Ok(())
    }

    /// Ends the current line, so that the next output starts on a line of its own.
    fn line(&self) -> Result<()> {
        if !self.all.is_empty() && !self.all.ends_with('\n') {
            writeln!(std::io::stdout())?;
        }
        Ok(())
    }

    fn end(&self, failure: Option<String>) -> Result<()> {
        self.line()?;
        if let Some(failure) = failure.filter(|_| !self.said_error) {
            writeln!(std::io::stderr(), "error: {failure}")?;
        }
        Ok(())
    }
}
