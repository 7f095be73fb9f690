//! The line that is typed while a turn runs, and when a line is the answer to a question about a tool call.
//!
//! Keys reach this program whether or not the person has seen the question, so a key alone decides nothing. An answer
//! is a whole line: typed, by keys without modifiers, on a line that was empty when the question appeared, each key
//! [`ANSWER_DELAY`] or more after it appeared, and ended by Enter. Everything else is text: a draft from before the
//! question stays in the line and is sent by Enter as a message, and the question waits for an empty line.

use super::super::prompt::ANSWER_DELAY;
use super::keys::{KeyAction, LineBuffer};
use super::question;
use bub_runtime::channel::ApprovalDecision;
use std::time::Instant;
use termimad::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// The result of an event of the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputOutcome {
    /// The line may have changed.
    Changed,
    /// A message was submitted.
    Submitted(String),
    /// The approval request on the screen was answered.
    Answered(ApprovalDecision),
    /// The line reads like an answer and is not accepted as one: it was begun too early, pasted, or typed with modifiers.
    /// It is discarded, and the request still waits.
    Rejected,
    /// Ctrl-C: the turn is to end.
    Interrupted,
}

/// The origin of the text in the line, relative to the approval request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Text from before the request.
    Draft,
    /// Text that was begun during a request and cannot answer it: a key came too early, had a modifier, or was pasted.
    Unfit,
    /// Text whose every key may be part of an answer.
    Answer,
}

/// The line of a chat while a turn runs. It reads no clock: each event, and each drawing of the screen, comes with its
/// time.
#[derive(Default)]
pub struct ChatInput {
    line: LineBuffer,
    origin: Option<Origin>,
    /// The number of the request on the screen.
    question: Option<u64>,
    /// When it was first drawn above an empty line. `None`: it has not been yet.
    since: Option<Instant>,
}

impl ChatInput {
    /// A line with a draft.
    pub fn new(draft: String) -> Self {
        let origin = (!draft.is_empty()).then_some(Origin::Draft);
        Self { line: LineBuffer::from(draft), origin, ..Self::default() }
    }

    /// The text of the line.
    pub fn text(&self) -> &str {
        self.line.text()
    }

    /// Takes the text out of the line.
    pub fn take(&mut self) -> String {
        self.clear();
        self.line.take()
    }

    /// Whether the request on the screen waits for an empty line.
    pub fn holds_draft(&self) -> bool {
        self.origin.is_some_and(|origin| origin != Origin::Answer)
    }

    /// Records that the screen was drawn at that time, with that request on it. Each request has a number of its own.
    pub fn drawn(&mut self, question: Option<u64>, at: Instant) {
        if self.question != question {
            self.question = question;
            self.since = None;
            // Text that was typed for another request does not answer this one.
            if self.origin == Some(Origin::Answer) {
                self.origin = Some(Origin::Unfit);
            }
        }
        if question.is_some() && self.since.is_none() && self.line.text().is_empty() {
            self.since = Some(at);
        }
    }

    /// Handles an event of the terminal, read at that time.
    pub fn event(&mut self, event: &Event, at: Instant) -> InputOutcome {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(*key, at),
            Event::Paste(text) => {
                self.touch(false);
                self.line.paste(text);
                self.settle();
                InputOutcome::Changed
            }
            _ => InputOutcome::Changed,
        }
    }

    fn key(&mut self, key: KeyEvent, at: Instant) -> InputOutcome {
        let is_timely = self.since.is_some_and(|since| at.saturating_duration_since(since) >= ANSWER_DELAY);
        if key.code == KeyCode::Enter && !key.modifiers.contains(KeyModifiers::ALT) {
            let is_plain = key.modifiers.is_empty() && key.kind == KeyEventKind::Press;
            // The line may stay blank, but it is no longer one of plain keys alone.
            if !is_plain && !self.line.text().is_empty() {
                self.touch(false);
            }
            return self.enter(is_plain && is_timely);
        }
        // Shift is allowed; a key that repeats may have been pressed before the request appeared.
        let is_plain = match key.code {
            KeyCode::Char(_) => (key.modifiers - KeyModifiers::SHIFT).is_empty(),
            KeyCode::Backspace => key.modifiers.is_empty(),
            _ => false,
        } && key.kind == KeyEventKind::Press;
        self.touch(is_plain && is_timely);
        let meaning = self.line.key(key);
        self.settle();
        match meaning {
            KeyAction::Interrupt => InputOutcome::Interrupted,
            KeyAction::Changed => InputOutcome::Changed,
            KeyAction::Submit(line) => InputOutcome::Submitted(line),
        }
    }

    /// Enter. `may_answer`: the key itself may end an answer.
    fn enter(&mut self, may_answer: bool) -> InputOutcome {
        let answer = question::answer(self.line.text());
        match (answer, self.origin) {
            (Some(answer), Some(Origin::Answer)) if may_answer => {
                // The next request is another one, whatever its number.
                self.question = None;
                self.take();
                InputOutcome::Answered(answer)
            }
            // Text from before the request is a message, whatever it reads like.
            (Some(_), Some(Origin::Unfit | Origin::Answer)) => {
                self.take();
                InputOutcome::Rejected
            }
            _ if self.line.text().trim().is_empty() => InputOutcome::Changed,
            _ => InputOutcome::Submitted(self.take()),
        }
    }

    /// A key is about to change the line. `is_fit`: it may be part of an answer.
    fn touch(&mut self, is_fit: bool) {
        self.origin = match (self.origin, is_fit) {
            (None, _) if self.question.is_none() => Some(Origin::Draft),
            (None | Some(Origin::Answer), true) => Some(Origin::Answer),
            (None | Some(Origin::Answer), false) => Some(Origin::Unfit),
            (Some(origin), _) => Some(origin),
        };
    }

    /// An empty line has no origin, and a request that waited for one has to be drawn above it first.
    fn settle(&mut self) {
        if self.line.text().is_empty() {
            match self.origin {
                Some(Origin::Answer) => self.origin = None,
                _ => self.clear(),
            }
        }
    }

    fn clear(&mut self) {
        self.origin = None;
        self.since = None;
    }
}
