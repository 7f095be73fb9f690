//! The output of `plugin dev`: one line for each event, and details below it.

use crate::cli::style::Style;
use crate::cli::text;
use anyhow::Result;
use bub_types::text::{bytes, one_line};
use serde_json::Value;
use std::fmt::Display;
use std::io::Write;
use std::time::Duration;

/// Columns of the first word of a line.
const WORD: usize = 7;

/// The lines of `plugin dev`.
#[derive(Clone, Copy)]
pub(super) struct Screen(Style);

impl Screen {
    pub(super) fn new() -> Self {
        Self(Style::for_stdout())
    }

    /// A step that succeeded.
    pub(super) fn step(self, word: &str, what: impl Display) -> Result<()> {
        self.line(&self.0.green(text::padded(word, WORD)), &what.to_string(), &[])
    }

    /// A step that failed, with its output.
    pub(super) fn failed(self, word: &str, what: impl Display, details: &[String]) -> Result<()> {
        self.line(&self.0.red(text::padded(word, WORD)), &what.to_string(), details)
    }

    /// Something to know.
    pub(super) fn note(self, what: impl Display) -> Result<()> {
        self.line(&text::padded("", WORD), &what.to_string(), &[])
    }

    fn line(self, word: &str, what: &str, details: &[String]) -> Result<()> {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{word} {what}")?;
        for detail in details {
            writeln!(out, "{:WORD$}  {detail}", "")?;
        }
        Ok(out.flush()?)
    }

    /// A line of the call log. It comes from other processes, so nothing in it is trusted.
    pub(super) fn of_call_log(self, line: &Value) -> Result<()> {
        let word = |key: &str| line[key].as_str().map(one_line);
        if let (Some(level), Some(said)) = (word("level"), word("text")) {
            return self.line(&self.0.dim(text::padded("log", WORD)), &format!("{level}: {said}"), &[]);
        }
        let Some(hook) = word("hook") else { return Ok(()) };
        let number = |key: &str| line[key].as_u64().unwrap_or_default();
        let mut parts = vec![
            took(Duration::from_secs_f64(line["milliseconds"].as_f64().unwrap_or_default().clamp(0.0, 1e9) / 1e3)),
            format!("{} fuel", number("fuel")),
            format!("{} memory", bytes(number("memory"))),
            format!("{} in, {} out", bytes(number("given")), bytes(number("answered"))),
        ];
        parts.extend(
            word("session").filter(|session| !session.is_empty()).map(|session| format!("session `{session}`")),
        );
        let what = format!("{hook}: {}", parts.join(" · "));
        match word("fault") {
            None => self.line(&text::padded("call", WORD), &what, &[]),
            Some(fault) => self.failed("fault", what, &[fault]),
        }
    }
}

/// A duration for people.
pub(super) fn took(took: Duration) -> String {
    match took.as_secs_f64() {
        seconds if seconds >= 1.0 => format!("{seconds:.1} s"),
        seconds => format!("{:.1} ms", seconds * 1e3),
    }
}
