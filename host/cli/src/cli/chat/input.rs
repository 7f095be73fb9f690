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

/// What an event of the terminal led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputOutcome {
    /// The line is another one now, or nothing happened.
    Changed,
    /// A message was sent.
    Submitted(String),
    /// The question on the screen was answered.
    Answered(ApprovalDecision),
    /// The line reads like an answer and cannot be one: it was begun too early, pasted, or typed with modifiers. It is
    /// gone, and the question still waits.
    Rejected,
    /// The turn is to end (Ctrl-C).
    Interrupted,
}

/// What stands in the line, as far as a question is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// A draft from before the question.
    Draft,
    /// Begun while a question was on the screen, and no answer: a key of it came too early, had a modifier, or was
    /// pasted.
    Unfit,
    /// Every key of it may be part of an answer.
    Answer,
}

/// The line of a chat while a turn runs. It reads no clock: each event, and each drawing of the screen, comes with its
/// time.
///
/// ```
/// use bub_runtime::channel::ApprovalDecision;
/// use bub_wasm::cli::{ANSWER_DELAY, ChatInput, InputOutcome};
/// use std::time::Instant;
/// use termimad::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
///
/// let press = |code| Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
/// let (mut input, shown) = (ChatInput::new(String::new()), Instant::now());
/// input.drawn(Some(1), shown);
/// let later = shown + ANSWER_DELAY;
/// assert_eq!(input.event(&press(KeyCode::Char('y')), later), InputOutcome::Changed);
/// assert_eq!(input.event(&press(KeyCode::Enter), later), InputOutcome::Answered(ApprovalDecision::Once));
/// ```
#[derive(Default)]
pub struct ChatInput {
    line: LineBuffer,
    origin: Option<Origin>,
    /// The question on the screen.
    question: Option<u64>,
    /// When it was first drawn above an empty line. None: it has to be drawn once more.
    since: Option<Instant>,
}

impl ChatInput {
    /// A line in which a draft stands already.
    pub fn new(draft: String) -> Self {
        let origin = (!draft.is_empty()).then_some(Origin::Draft);
        Self { line: LineBuffer::from(draft), origin, ..Self::default() }
    }

    /// What stands in the line.
    pub fn text(&self) -> &str {
        self.line.text()
    }

    /// Gives back what stands in the line, which is empty then.
    pub fn take(&mut self) -> String {
        self.clear();
        self.line.take()
    }

    /// Whether the question on the screen waits for the line to be empty.
    pub fn holds_draft(&self) -> bool {
        self.origin.is_some_and(|origin| origin != Origin::Answer)
    }

    /// The screen was drawn at that time, with that question on it. Each question has a number of its own.
    pub fn drawn(&mut self, question: Option<u64>, at: Instant) {
        if self.question != question {
            self.question = question;
            self.since = None;
            // What was typed for another question is no answer to this one.
            if self.origin == Some(Origin::Answer) {
                self.origin = Some(Origin::Unfit);
            }
        }
        if question.is_some() && self.since.is_none() && self.line.text().is_empty() {
            self.since = Some(at);
        }
    }

    /// What the terminal says, and when it said so.
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
            // It leaves a blank line as it is, which is then no longer one of plain keys alone.
            if !is_plain && !self.line.text().is_empty() {
                self.touch(false);
            }
            return self.enter(is_plain && is_timely);
        }
        // A capital letter is a letter, and a key that is held down is a key that may have been pressed before.
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

    /// Enter. `may_answer`: it was pressed as the end of an answer has to be.
    fn enter(&mut self, may_answer: bool) -> InputOutcome {
        let answer = question::answer(self.line.text());
        match (answer, self.origin) {
            (Some(answer), Some(Origin::Answer)) if may_answer => {
                // The next question is another one, whatever its number.
                self.question = None;
                self.take();
                InputOutcome::Answered(answer)
            }
            // What was begun before the question is a message, whatever it reads like.
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

    /// A line that is empty again has no origin, and a question that waited for that has to be drawn above it first.
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
