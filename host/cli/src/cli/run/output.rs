//! What `run` prints where nobody sits who answers: the answer on stdout, all else on stderr.

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

/// Calls of tools that are told of in JSON. A turn may have any number of them.
const MAX_TOOLS: usize = 1000;

/// Columns of a tool's line.
const WIDTH: usize = 100;

/// What one turn prints.
pub(super) struct Output {
    format: AnswerFormat,
    /// Whether text goes to a terminal as it is said.
    streams: bool,
    /// Whether tools are told of on stderr as they run.
    tells: bool,
    /// What was said and is not yet part of an envelope.
    streamed: String,
    answers: Vec<String>,
    error: Option<String>,
    running: BTreeMap<u64, (String, String)>,
    tools: Vec<Value>,
    /// Whether it was said that the model takes its time, since it last said something.
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

    /// What happens while the turn runs.
    ///
    /// # Errors
    ///
    /// Nobody reads what is printed.
    pub(super) fn hear(&mut self, heard: TurnEvent) -> Result<()> {
        self.is_slow = false;
        match heard {
            TurnEvent::Event(StreamEvent::Text(piece)) if self.streams => {
                self.streamed.push_str(&piece);
                let mut out = stdout().lock();
                // A terminal obeys what it is sent, and a model has written this.
                out.write_all(shown(&piece).as_bytes())?;
                out.flush()?;
            }
            TurnEvent::Event(_) => {}
            TurnEvent::ToolBegins { call, name, arguments, .. } => {
                self.running.insert(call, (name, arguments));
            }
            TurnEvent::ToolEnds { call, took, error } => {
                let Some((name, arguments)) = self.running.remove(&call) else { return Ok(()) };
                self.tool(&name, &arguments, took, error.as_deref())?;
                if self.tools.len() < MAX_TOOLS && self.format == AnswerFormat::Json {
                    let seconds = (took.as_secs_f64() * 1000.0).round() / 1000.0;
                    self.tools
                        .push(json!({ "name": name, "arguments": arguments, "seconds": seconds, "error": error }));
                }
            }
            TurnEvent::Retry { why, pause } => {
                self.tell(&format!("{}; asking again in {:.1} s", one_line(&why), pause.as_secs_f64()))?
            }
        }
        Ok(())
    }

    /// Nothing was heard for so long.
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
            None => self.tell(&format!("the model has said nothing for {seconds} s; Ctrl-C ends the turn")),
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

    /// A line for a person who looks on.
    fn tell(&mut self, line: &str) -> Result<()> {
        if self.tells {
            self.line()?;
            writeln!(stderr(), "{line}")?;
        }
        Ok(())
    }

    /// What comes next begins on a line of its own.
    fn line(&mut self) -> Result<()> {
        if !self.streamed.is_empty() && !self.streamed.ends_with('\n') {
            writeln!(stdout())?;
            self.streamed.push('\n');
        }
        Ok(())
    }

    /// What the turn hands over.
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
                // It was read as it came.
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
        // Whatever is no terminal gets it as it is.
        let text = if out.is_terminal() { shown(&text) } else { text };
        writeln!(out, "{text}")?;
        Ok(())
    }

    fn error(&mut self, message: &str) -> Result<()> {
        self.line()?;
        self.error = Some(message.to_owned());
        // Whoever wrote it, one error is one line, and no terminal is told what to do by it.
        writeln!(stderr(), "error: {}", one_line(message))?;
        Ok(())
    }

    /// The turn has ended: what is still to be said of it.
    ///
    /// # Errors
    ///
    /// As [`hear`](Self::hear).
    pub(super) fn end(&mut self, outcome: &Result<TurnResult, Failure>, denied: &DeniedCalls, code: u8) -> Result<()> {
        self.line()?;
        if let (Err(failure), None) = (outcome, &self.error) {
            self.error(&failure.told())?;
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
                let message = self.error.clone().unwrap_or_else(|| failure.told());
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
