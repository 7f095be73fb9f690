//! The whole list of messages, in the order of the original's build: system prompt, summary, memories, recent messages,
//! current input, pinned instruction. The two last are given their room first: they must be there.

mod input;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod steps;

use crate::budget::{Budget, Category, Tracker};
use crate::compress::Compression;
use crate::exports::bub::context::selector::{Part, Selected};
use crate::options::{LEAST_BUDGET, Options};
use crate::pin::{self, ActiveTask};
use crate::retrieval::{self, Known};
use crate::scale::Scale;
use crate::source::Source;
use crate::summary::Summary;
use crate::thread::{self, Unit};
use crate::window::{Fitted, Phase, Window, weigh_one};
use crate::{Error, ErrorKind};
use gist::chat;
use serde_json::{Value, json};

/// What is to be sent, as far as the selection does not decide it.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub system_prompt: String,
    /// The words of the current prompt.
    pub prompt: String,
    /// User messages that are not on the tape yet.
    pub said: Vec<Value>,
    /// Name, description, parameters.
    pub tools: Vec<(String, String, String)>,
    /// The tape's last id when the turn began.
    pub began: u64,
    /// What the model's window leaves, where it is known.
    pub room: Option<u64>,
    pub scale: Scale,
}

/// What was built.
#[derive(Debug)]
pub struct Built {
    pub system_prompt: Option<String>,
    pub before: Vec<Value>,
    pub history: Vec<Unit>,
    /// In place of what was said, where it had to be cut.
    pub said: Option<Vec<Value>>,
    pub after: Vec<Value>,
    pub tracker: Tracker,
    pub metadata: Value,
    /// A line for each step.
    pub log: Vec<String>,
}

/// Builds the context.
///
/// # Errors
///
/// The window leaves fewer tokens than hold a conversation, or the tape cannot be read.
pub fn context(options: &Options, request: &Request, source: &dyn Source) -> Result<Built, Error> {
    let total = request.room.map_or(options.total_budget, |room| room.min(options.total_budget));
    if total < LEAST_BUDGET {
        let message = format!(
            "the model's window leaves {total} tokens for a request, and {LEAST_BUDGET} are the least: lower `max_tokens`, or set its window in `[windows]`"
        );
        return Err(Error { kind: ErrorKind::Config, message, details: None });
    }
    let mut build = Build::new(options, request, total);
    build.tools(total);
    let system_prompt = build.system_prompt();
    let said = build.said();
    let first = source.first()?;
    let phase = first.as_ref().map_or(0, |first| first.id);
    let summary = if options.enable_summary { build.newest_summary(source, phase) } else { None };
    let through = summary.as_ref().map_or(0, |summary| summary.through);
    let mut window = Window::read(source, through, options, request.scale, build.tracker.left())?;
    let head = window.take_phase(first.as_ref());
    let own = build.own_input(&window);
    let net = build.safety_net(&own);
    let pinned = build.pin(&window);
    let head = head.and_then(|head| build.phase(head));
    let shown = summary.as_ref().and_then(|summary| build.summary(summary));
    let found = build.memories(source, &window, &own, phase);
    let fitted = build.recent(&window, &own);

    let window_start = fitted.units.first().map_or(request.began.saturating_add(1), Unit::id);
    let mut history: Vec<Unit> = head.into_iter().chain(fitted.units).collect();
    // Where no room is left for the exchange, what the user said in it stays.
    let kept: Vec<u64> = history.iter().map(Unit::id).collect();
    history.extend(own.into_iter().filter(|own| !kept.contains(&own.id())));
    history.sort_by_key(Unit::id);
    let metadata = json!({
        "includedMessageCount": history.iter().map(Unit::len).sum::<usize>(),
        "summarizedMessageCount": if shown.is_some() { through } else { 0 },
        "usedSummary": shown.is_some(),
        "retrievedMemoryCount": found.as_ref().map_or(0, |(_, count)| *count),
        "budget": total,
        "reserved": build.budget.reserved,
        "ratio": request.scale.0.value(),
        "rounds": fitted.rounds,
        "compressedResults": fitted.compressed,
        "windowStart": window_start,
        "safetyNet": net.is_some(),
    });
    build.log.push(format!("context built: {} tokens of {total}", build.tracker.used()));
    Ok(Built {
        system_prompt,
        before: shown.into_iter().chain(found.map(|(message, _)| message)).collect(),
        history,
        said,
        after: net.into_iter().chain(pinned).collect(),
        tracker: build.tracker,
        metadata,
        log: build.log,
    })
}

impl Built {
    /// As the host takes it: the notes are what was decided, and what it costs.
    pub fn selected(self) -> Selected {
        let notes = json!({ "tokenStats": self.tracker.stats(), "metadata": self.metadata });
        Selected {
            system_prompt: self.system_prompt,
            before: self.before.iter().map(own).collect(),
            history: self.history.iter().flat_map(parts).collect(),
            after: self.after.iter().map(own).collect(),
            notes: notes.to_string(),
        }
    }
}

fn own(message: &Value) -> Part {
    Part::Message(message.to_string())
}

/// What stands on the tape as it stands there, and what was cut as a message in its place.
fn parts(unit: &Unit) -> Vec<Part> {
    match unit {
        Unit::Message { id, .. } => vec![Part::Entry(*id)],
        Unit::Cut { message, .. } => vec![own(message)],
        Unit::Calls { id, results, .. } if !results.cut => vec![Part::Entry(*id), Part::Entry(results.id)],
        Unit::Calls { id, results, .. } => {
            std::iter::once(Part::Entry(*id)).chain(results.messages.iter().map(|(message, _)| own(message))).collect()
        }
    }
}

/// The build in progress.
struct Build<'a> {
    options: &'a Options,
    request: &'a Request,
    scale: Scale,
    budget: Budget,
    tracker: Tracker,
    log: Vec<String>,
}

impl<'a> Build<'a> {
    fn new(options: &'a Options, request: &'a Request, total: u64) -> Self {
        let log = vec![format!("context begins: {total} tokens, {} configured", options.total_budget)];
        Self {
            options,
            request,
            scale: request.scale,
            budget: Budget::allocate(total, &options.shares),
            tracker: Tracker::new(total),
            log,
        }
    }

    /// Counts what was measured against what is left.
    fn take(&mut self, category: Category, tokens: u64) {
        let taken = self.tracker.allocate(category, tokens);
        debug_assert!(taken, "{category:?} was given more than there is");
    }

    /// Tools are not the selection's to leave out: where they weigh more than the budget, the least stays that holds a
    /// conversation.
    fn tools(&mut self, total: u64) {
        let weights = self.request.tools.iter().map(|(name, about, parameters)| chat::tool(name, about, parameters));
        let tools: u64 = weights.map(|tokens| self.scale.0.correct(tokens)).sum();
        self.take(Category::Tools, tools.min(total - LEAST_BUDGET));
        self.log.push(format!("[0] tools: {tools} tokens"));
    }

    /// 1. Always there, cut to its share. The text where it had to be cut.
    fn system_prompt(&mut self) -> Option<String> {
        let whole = &self.request.system_prompt;
        let cut = self.scale.cut(whole, self.budget.system_prompt);
        let tokens = if cut.is_empty() { 0 } else { self.scale.plain(cut) };
        self.take(Category::SystemPrompt, tokens);
        self.log.push(format!("[1] system prompt: {tokens} tokens"));
        (cut != whole).then(|| cut.to_owned())
    }

    /// 6. The goal once more, if there is room for it.
    fn pin(&mut self, window: &Window) -> Option<Value> {
        if !self.options.enable_instruction_pinning {
            return None;
        }
        let began = self.request.began;
        let goal = window.own_input(began).first().map(|(_, text)| thread::typed(text));
        let task = ActiveTask::of(window.exchanges.last(), began);
        let text = pin::instruction(goal.unwrap_or_else(|| thread::typed(&self.request.prompt)), &task)?;
        let tokens = self.scale.plain(&text);
        if !self.tracker.allocate(Category::Pinning, tokens) {
            self.log.push("[6] pinned instruction: no room, skipped".to_owned());
            return None;
        }
        self.log.push(format!("[6] pinned instruction: {tokens} tokens"));
        Some(system(&text))
    }

    /// The anchor that this phase begins with: its state is what the phase before has left to this one.
    fn phase(&mut self, anchor: Phase) -> Option<Unit> {
        let mut unit = anchor.unit;
        if weigh_one(&unit, self.scale) > self.budget.summary {
            let text = self
                .scale
                .ends(&anchor.text, self.budget.summary, |left| format!("[... {left} characters left out ...]"));
            unit = Unit::Cut { id: unit.id(), message: json!({ "role": "assistant", "content": text }) };
        }
        let tokens = weigh_one(&unit, self.scale);
        self.tracker.allocate(Category::Summary, tokens).then_some(unit)
    }

    /// A summary of what was said before this phase is none of its own: the anchor's state is in its place.
    fn newest_summary(&mut self, source: &dyn Source, phase: u64) -> Option<Summary> {
        match Summary::newest(source) {
            Ok(summary) => summary.filter(|summary| summary.through >= phase),
            Err(error) => {
                self.log.push(format!("[2] the summary cannot be read: {}", error.message));
                None
            }
        }
    }

    /// 2. What the thread was about before the window, cut to its share.
    fn summary(&mut self, summary: &Summary) -> Option<Value> {
        let shown = summary.shown(self.options.language);
        let text = self.scale.cut(&shown, self.budget.summary.min(self.tracker.left()));
        let tokens = self.scale.plain(text);
        // A label with nothing behind it says nothing.
        let is_short = !text.contains('\n');
        if is_short || !self.tracker.allocate(Category::Summary, tokens) {
            self.log.push("[2] summary: no room, skipped".to_owned());
            return None;
        }
        self.log.push(format!("[2] summary: {tokens} tokens, through entry {}", summary.through));
        Some(system(text))
    }

    /// 3. What is remembered of it, with how many.
    fn memories(&mut self, source: &dyn Source, window: &Window, own: &[Unit], phase: u64) -> Option<(Value, usize)> {
        if !self.options.enable_memory_retrieval {
            return None;
        }
        let asked = window.own_input(self.request.began);
        let question = asked.first().map_or(self.request.prompt.as_str(), |(_, text)| *text);
        let question = thread::typed(question);
        if question.trim().is_empty() {
            return None;
        }
        // What the window will hold at least.
        let rest = self.tracker.left().saturating_sub(self.budget.retrieved);
        let held = window.fit(self.options, self.compression(), rest, own);
        let window_start = held.units.first().map_or(self.request.began.saturating_add(1), Unit::id);
        let known = Known { system_prompt: &self.request.system_prompt, window_start, phase };
        let found = retrieval::search(source, question, self.options, known);
        self.log.extend(found.missed.iter().map(|why| format!("[3] {why}")));
        let mut memories = found.memories;
        let most = self.budget.retrieved.min(self.tracker.left());
        loop {
            let text = retrieval::message(&memories, self.options.language)?;
            let tokens = self.scale.plain(&text);
            if tokens <= most {
                self.take(Category::Retrieved, tokens);
                self.log.push(format!("[3] {} memories: {tokens} tokens", memories.len()));
                return Some((system(&text), memories.len()));
            }
            memories.pop();
        }
    }

    /// 4. The sliding window: its own share, and what the others have left.
    fn recent(&mut self, window: &Window, own: &[Unit]) -> Fitted {
        let fitted = window.fit(self.options, self.compression(), self.tracker.left(), own);
        self.take(Category::RecentMessages, fitted.tokens);
        self.log.push(format!("[4] recent messages: {} tokens, {} exchanges", fitted.tokens, fitted.rounds));
        fitted
    }

    fn compression(&self) -> Compression {
        let searchable = self.request.tools.iter().any(|(name, ..)| name == "tape.search");
        Compression { scale: self.scale, above: self.options.compress_above, searchable }
    }
}

fn system(text: &str) -> Value {
    json!({ "role": "system", "content": text })
}
