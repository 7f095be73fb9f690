//! The view of a running turn.

use super::super::style::Style;
use super::super::text;
use super::question;
use bub_runtime::channel::ApprovalRequest;
use bub_runtime::plugin::compiling;
use bub_runtime::turn::TurnEvent;
use bub_terminal::{StreamedText, call_change};
use bub_types::StreamEvent;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Running tools that are shown.
const MAX_RUNNING_SHOWN: usize = 6;

/// The silence after which a notice is shown.
const SILENCE_NOTICE: Duration = Duration::from_secs(10);

/// Bytes of hidden reasoning that are kept in case the user asks for it.
const MAX_HIDDEN: usize = 64 << 10;

const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// A running tool.
struct Running {
    name: String,
    brief: String,
    arguments: String,
    /// Whether an approval request has shown its change.
    is_shown: bool,
    nested: usize,
    began: Instant,
}

/// The state of one turn.
pub(super) struct View {
    style: Style,
    said: StreamedText,
    began: Instant,
    /// When the last event arrived.
    heard: Instant,
    tools: BTreeMap<u64, Running>,
    tools_run: usize,
    tokens: u64,
    /// Whether the model's reasoning is shown.
    thinking: bool,
    reasoning: String,
    /// Final lines that have not been drawn.
    lines: Vec<String>,
    /// Whether text was streamed since the last other event.
    speaks: bool,
    /// The last model call of the turn has ended; text that comes now belongs to another one.
    step_ended: bool,
    ending: bool,
}

/// The lines below the text while the turn runs.
#[derive(Default)]
pub(super) struct Footer<'a> {
    /// The approval request that the turn waits for.
    pub(super) question: Option<&'a ApprovalRequest>,
    /// Messages that wait for the next step or turn.
    pub(super) waiting: usize,
    pub(super) typed: &'a str,
    /// Whether the typed text is not an answer to the request.
    pub(super) is_draft: bool,
}

impl View {
    /// `plain`: the text is the output of a command.
    pub(super) fn new(style: Style, plain: bool, thinking: bool) -> Self {
        Self {
            style,
            said: StreamedText::new(style.has_colors(), plain),
            began: Instant::now(),
            heard: Instant::now(),
            tools: BTreeMap::new(),
            tools_run: 0,
            tokens: 0,
            thinking,
            reasoning: String::new(),
            lines: Vec::new(),
            speaks: false,
            step_ended: false,
            ending: false,
        }
    }

    /// The streamed text.
    pub(super) fn all(&self) -> &str {
        self.said.text()
    }

    /// The user has interrupted the turn.
    pub(super) fn ends(&mut self) {
        self.ending = true;
    }

    pub(super) fn hear(&mut self, heard: TurnEvent, width: usize) {
        self.heard = Instant::now();
        match heard {
            TurnEvent::Event(StreamEvent::Text(piece)) => {
                // A message that was steered in has an answer of its own, in the same turn.
                if std::mem::take(&mut self.step_ended) {
                    self.pause(width);
                }
                self.reasoned(width);
                self.speaks = true;
                self.said.push(&piece);
                let whole = self.said.take_complete(width);
                self.lines.extend(whole);
            }
            TurnEvent::Event(StreamEvent::Reasoning(piece)) => {
                self.reasoning.push_str(&piece);
                // Hidden reasoning is kept, up to a bound, in case the user asks for it.
                if !self.thinking && self.reasoning.len() > 2 * MAX_HIDDEN {
                    let from = self.reasoning.ceil_char_boundary(self.reasoning.len() - MAX_HIDDEN);
                    self.reasoning.drain(..from);
                }
            }
            TurnEvent::Event(StreamEvent::Usage(usage)) => {
                self.tokens = self.tokens.saturating_add(tokens(&usage));
                self.step_ended = true;
            }
            TurnEvent::Event(_) => {}
            TurnEvent::Retry { why, pause } => {
                self.pause(width);
                let line = format!("{}; retrying in {:.1} s", text::line(&why), pause.as_secs_f64());
                self.lines.extend(text::fold(&line, width).iter().map(|line| self.style.dim(line)));
            }
            TurnEvent::ToolBegins { call, name, arguments, nested } => {
                self.pause(width);
                let brief = question::brief(&name, &arguments);
                let began = Instant::now();
                self.tools.insert(call, Running { name, brief, arguments, is_shown: false, nested, began });
            }
            TurnEvent::ToolEnds { call, took, outcome } => {
                let error = outcome.err();
                let Some(Running { brief, arguments, is_shown, nested, began, .. }) = self.tools.remove(&call) else {
                    return;
                };
                let changed = if error.is_some() || is_shown { String::new() } else { arguments };
                let took = took.min(began.elapsed());
                self.tools_run += 1;
                self.pause(width);
                let (indent, took) = ("  ".repeat(nested), seconds(took));
                let most = width.saturating_sub(indent.len() + took.len() + 5);
                let (mark, brief) = match error {
                    None => (self.style.green("✓"), text::cut(&brief, most)),
                    Some(error) => {
                        let error = text::line(error.lines().next().unwrap_or_default());
                        (self.style.red("✗"), text::cut(&format!("{brief}: {error}"), most))
                    }
                };
                self.lines.push(format!("{indent}{mark} {} {}", brief, self.style.dim(format!("· {took}"))));
                let room = width.saturating_sub(indent.len() + 4);
                let changed = call_change::lines(&changed, room, self.style);
                self.lines.extend(changed.into_iter().map(|line| format!("{indent}    {line}")));
            }
        }
    }

    /// Shows or hides reasoning from now on.
    pub(super) fn show_reasoning(&mut self, shows: bool) {
        self.thinking = shows;
    }

    /// The user has answered about that tool: its duration counts from now.
    pub(super) fn answered(&mut self, tool: &str) {
        for running in self.tools.values_mut().filter(|running| running.name == tool) {
            running.began = Instant::now();
            running.is_shown = true;
        }
    }

    /// Adds final lines.
    pub(super) fn put(&mut self, lines: impl IntoIterator<Item = String>, width: usize) {
        self.pause(width);
        self.lines.extend(lines);
    }

    /// Makes the text so far final: something else follows.
    fn pause(&mut self, width: usize) {
        self.reasoned(width);
        let rest = self.said.take_rest(width);
        self.lines.extend(rest);
        if std::mem::take(&mut self.speaks) && self.lines.last().is_none_or(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    fn reasoned(&mut self, width: usize) {
        let reasoning = std::mem::take(&mut self.reasoning);
        if self.thinking && !reasoning.trim().is_empty() {
            self.lines.extend(text::fold(&reasoning, width).iter().map(|line| self.style.dim(line)));
            self.lines.push(String::new());
        }
    }

    /// Takes the final lines.
    pub(super) fn settled(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    /// The lines that are redrawn.
    pub(super) fn live(&self, footer: &Footer<'_>, width: usize) -> Vec<String> {
        let mut lines: Vec<String> = match self.reasoning.trim() {
            _ if !self.thinking => self.said.unfinished(width),
            "" => self.said.unfinished(width),
            reasoning => text::fold(reasoning, width).iter().map(|line| self.style.dim(line)).collect(),
        };
        for Running { brief, nested, began, .. } in self.tools.values().take(MAX_RUNNING_SHOWN) {
            let (indent, took) = ("  ".repeat(*nested), seconds(began.elapsed()));
            let most = width.saturating_sub(indent.len() + took.len() + 5);
            lines.push(format!("{indent}{} {} · {took}", self.spinner(), text::cut(brief, most)));
        }
        if let Some(more) = self.tools.len().checked_sub(MAX_RUNNING_SHOWN).filter(|more| *more > 0) {
            lines.push(format!("  … and {more} more"));
        }
        match footer.question {
            Some(question) => lines.extend(question::choices(question, footer.is_draft, width, self.style)),
            None => lines.push(self.style.dim(self.status(footer, width))),
        }
        if !footer.typed.is_empty() {
            // The end of the line is shown, where the user types.
            let typed: Vec<String> = text::fold(footer.typed, width.saturating_sub(3));
            lines.push(format!("› {}▏", typed.last().map_or("", String::as_str)));
        }
        lines
    }

    fn status(&self, footer: &Footer<'_>, width: usize) -> String {
        let mut parts = vec![format!("{} {}", self.spinner(), seconds(self.began.elapsed()))];
        if self.tokens > 0 {
            parts.push(tokens_said(self.tokens));
        }
        if let Some(plugin) = compiling::now().plugin {
            parts.push(format!("compiling plugin `{plugin}` (once: the result is kept)"));
        } else if self.tools.is_empty() && self.heard.elapsed() >= SILENCE_NOTICE {
            parts.push("the model is silent".to_owned());
        }
        if footer.waiting > 0 {
            parts.push(format!("{} waiting", footer.waiting));
        }
        let is_hidden = !self.thinking && !self.reasoning.trim().is_empty();
        if is_hidden && !self.ending {
            parts.push("it thinks: `,thinking` shows it".to_owned());
        }
        parts.push(if self.ending { "ending the turn" } else { "Ctrl-C ends the turn" }.to_owned());
        if footer.typed.is_empty() && !self.ending && !is_hidden {
            parts.push("type to add something".to_owned());
        }
        text::cut(&parts.join(" · "), width)
    }

    fn spinner(&self) -> char {
        let turned = self.began.elapsed().as_millis() / 100;
        SPINNER.get((turned % 10) as usize).copied().unwrap_or('·')
    }

    /// The last lines of the turn.
    pub(super) fn finish(&mut self, width: usize, shows_summary: bool) -> Vec<String> {
        self.pause(width);
        for Running { brief, nested, .. } in std::mem::take(&mut self.tools).into_values() {
            let brief = text::cut(&format!("{brief}: ended with the turn"), width.saturating_sub(2 * nested + 2));
            self.lines.push(format!("{}{} {brief}", "  ".repeat(nested), self.style.red("✗")));
        }
        while self.lines.last().is_some_and(String::is_empty) {
            self.lines.pop();
        }
        let mut lines = self.settled();
        if !shows_summary {
            return lines;
        }
        let mut took = vec![seconds(self.began.elapsed())];
        if self.tools_run > 0 {
            took.push(format!("{} tool call{}", self.tools_run, if self.tools_run == 1 { "" } else { "s" }));
        }
        if self.tokens > 0 {
            took.push(tokens_said(self.tokens));
        }
        lines.push(self.style.dim(took.join(" · ")));
        lines
    }
}

fn tokens_said(tokens: u64) -> String {
    match tokens {
        0..10_000 => format!("{tokens} tokens"),
        _ => format!("{}k tokens", tokens / 1000),
    }
}

fn tokens(usage: &str) -> u64 {
    let usage: Value = serde_json::from_str(usage).unwrap_or_default();
    usage.get("total_tokens").and_then(Value::as_u64).unwrap_or_default()
}

fn seconds(took: Duration) -> String {
    let seconds = took.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", took.as_secs_f64()),
        _ => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}
