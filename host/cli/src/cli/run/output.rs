//! The output of `run` without a person at the terminal: the answer on stdout, everything else on stderr.

use super::super::chat::{ChannelEvent, brief};
use super::super::denied::DeniedCalls;
use super::super::text;
use anyhow::Result;
use bub_config::AnswerFormat;
use bub_runtime::error::Failure;
use bub_runtime::turn::{TurnEvent, TurnResult};
use bub_types::text::one_line;
use bub_types::text::shown;
use bub_types::{Envelope, MessageKind, StreamEvent};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::time::Duration;

/// Tool calls that are listed in JSON.
const MAX_TOOLS: usize = 1000;

/// Columns of a tool's line.
const WIDTH: usize = 100;

/// The output of one turn.
pub(super) struct Output {
    format: AnswerFormat,
    /// Whether text is streamed to a terminal.
    streams: bool,
    /// Whether tools are shown on stderr while they run.
    tells: bool,
    /// Text that is not part of an envelope yet.
    streamed: String,
    answers: Vec<String>,
    error: Option<String>,
    running: BTreeMap<u64, (String, String)>,
    tools: Vec<Value>,
    /// Whether the silence was reported since the last event.
    is_slow: bool,
}

impl Output {
    pub(super) fn new(format: AnswerFormat) -> Self {
        Self {
            format,
            streams: format == AnswerFormat::Text && stdout().is_terminal(),
            tells: format == AnswerFormat::Text && stderr().is_terminal(),
            streamed: String::new(),
            answers: Vec::new(),
            error: None,
            running: BTreeMap::new(),
            tools: Vec::new(),
            is_slow: false,
        }
    }

    /// Handles an event of the turn.
    ///
    /// # Errors
    ///
    /// The output is closed.
    pub(super) fn hear(&mut self, heard: TurnEvent) -> Result<()> {
        self.is_slow = false;
        match heard {
            TurnEvent::Event(StreamEvent::Text(piece)) if self.streams => {
                self.streamed.push_str(&piece);
                let mut out = stdout().lock();
                // The text of a model must not control the terminal.
                out.write_all(shown(&piece).as_bytes())?;
                out.flush()?;
            }
            TurnEvent::Event(_) => {}
            TurnEvent::ToolBegins { call, name, arguments, .. } => {
                self.running.insert(call, (name, arguments));
            }
            TurnEvent::ToolEnds { call, took, outcome } => {
                let error = outcome.err();
                let Some((name, arguments)) = self.running.remove(&call) else { return Ok(()) };
                self.tool(&name, &arguments, took, error.as_deref())?;
                if self.tools.len() < MAX_TOOLS && self.format == AnswerFormat::Json {
                    let seconds = (took.as_secs_f64() * 1000.0).round() / 1000.0;
                    self.tools
                        .push(json!({ "name": name, "arguments": arguments, "seconds": seconds, "error": error }));
                }
            }
            TurnEvent::Retry { why, pause } => {
                self.tell(&format!("{}; retrying in {:.1} s", one_line(&why), pause.as_secs_f64()))?
            }
        }
        Ok(())
    }

    /// Reports silence.
    pub(super) fn slow(&mut self, silent: Duration) -> Result<()> {
        if std::mem::replace(&mut self.is_slow, true) {
            return Ok(());
        }
        let seconds = silent.as_secs();
        match self.running.values().next() {
            Some((name, arguments)) => {
                let brief = text::cut(&brief(name, arguments), WIDTH);
                self.tell(&format!("still running after {seconds} s: {brief}"))
            }
            None => self.tell(&format!("no output from the model for {seconds} s; Ctrl-C ends the turn")),
        }
    }

    fn tool(&mut self, name: &str, arguments: &str, took: Duration, error: Option<&str>) -> Result<()> {
        let brief = brief(name, arguments);
        let line = match error {
            None => text::cut(&brief, WIDTH),
            Some(error) => {
                text::cut(&format!("{brief}: {}", text::line(error.lines().next().unwrap_or_default())), WIDTH)
            }
        };
        let mark = if error.is_none() { '✓' } else { '✗' };
        self.tell(&format!("{mark} {line} · {:.1} s", took.as_secs_f64()))
    }

    /// Prints a status line.
    fn tell(&mut self, line: &str) -> Result<()> {
        if self.tells {
            self.line()?;
            writeln!(stderr(), "{line}")?;
        }
        Ok(())
    }

    /// Ends the current line, so that the next output starts on a line of its own.
    fn line(&mut self) -> Result<()> {
        if !self.streamed.is_empty() && !self.streamed.ends_with('\n') {
            writeln!(stdout())?;
            self.streamed.push('\n');
        }
        Ok(())
    }

    /// Handles a message of the turn.
    ///
    /// # Errors
    ///
    /// As [`hear`](Self::hear).
    pub(super) fn channel_event(&mut self, channel_event: ChannelEvent) -> Result<()> {
        let ChannelEvent::Envelope(envelope) = channel_event else { return Ok(()) };
        match envelope.kind {
            MessageKind::Error => self.error(&envelope.content)?,
            MessageKind::Normal | MessageKind::Command => self.answer(&envelope)?,
        }
        Ok(())
    }

    fn answer(&mut self, envelope: &Envelope) -> Result<()> {
        let content = &envelope.content;
        let text = match self.format {
            AnswerFormat::Json => {
                self.answers.push(content.clone());
                return Ok(());
            }
            AnswerFormat::Text => {
                self.line()?;
                // It was streamed already.
                let is_said = !self.streamed.is_empty() && self.streamed.trim() == content.trim();
                self.streamed.clear();
                if is_said {
                    return Ok(());
                }
                content.clone()
            }
            AnswerFormat::Bub => format!("[{}:{}]\n{content}", envelope.channel, envelope.chat_id),
        };
        let mut out = stdout();
        // Other outputs than terminals get it unchanged.
        let text = if out.is_terminal() { shown(&text) } else { text };
        writeln!(out, "{text}")?;
        Ok(())
    }

    fn error(&mut self, message: &str) -> Result<()> {
        self.line()?;
        self.error = Some(message.to_owned());
        // An error is one line, and cannot control the terminal.
        writeln!(stderr(), "error: {}", one_line(message))?;
        Ok(())
    }

    /// Prints the rest when the turn has ended.
    ///
    /// # Errors
    ///
    /// As [`hear`](Self::hear).
    pub(super) fn end(&mut self, outcome: &Result<TurnResult, Failure>, denied: &DeniedCalls, code: u8) -> Result<()> {
        self.line()?;
        if let (Err(failure), None) = (outcome, &self.error) {
            self.error(&failure.user_message())?;
        }
        if self.format == AnswerFormat::Json {
            let told = self.json(outcome, denied, code);
            writeln!(stdout(), "{}", text::json_line(&told.to_string()))?;
        }
        Ok(())
    }

    fn json(&self, outcome: &Result<TurnResult, Failure>, denied: &DeniedCalls, code: u8) -> Value {
        let mut told = Map::new();
        let (session, usage, error) = match outcome {
            Ok(turn) => {
                let usage = json!({
                    "prompt_tokens": turn.usage.prompt,
                    "cached_tokens": turn.usage.cached,
                    "completion_tokens": turn.usage.completion,
                    "total_tokens": turn.usage.total,
                    "is_estimate": turn.usage.is_estimate,
                });
                (Value::from(turn.session_id.as_str()), usage, Value::Null)
            }
            Err(failure) => {
                let error = failure.to_error();
                let message = self.error.clone().unwrap_or_else(|| failure.user_message());
                let error = json!({ "kind": error.kind.name(), "message": one_line(&message) });
                (Value::Null, Value::Null, error)
            }
        };
        let answer = (!self.answers.is_empty()).then(|| self.answers.join("\n"));
        told.insert("session".to_owned(), session);
        told.insert("answer".to_owned(), answer.into());
        told.insert("error".to_owned(), error);
        told.insert("usage".to_owned(), usage);
        told.insert("tools".to_owned(), self.tools.clone().into());
        told.insert("denied".to_owned(), denied.json().into());
        told.insert("exit_code".to_owned(), code.into());
        Value::Object(told)
    }
}
