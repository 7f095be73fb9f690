//! Builds the messages in the original's order: system prompt, summary, memories, recent messages, current input,
//! pinned instruction. The last two are allocated first, since they are mandatory. Every other step is guaranteed its
//! share; unused tokens are lent to steps that would be cut, and the rest goes to the recent messages.

mod input;
#[cfg(test)]
mod laws;
mod left;
#[cfg(test)]
mod lost;
#[cfg(test)]
mod steps;
pub mod system;

use crate::budget::{Budget, Category, Tracker};
use crate::compress::Compression;
use crate::options::{LEAST_BUDGET, Language, Options};
use crate::pin::{self, ActiveTask, Goal};
use crate::retrieval::{self, Memory};
use crate::scale::Scale;
use crate::source::Source;
use crate::summary::{self, Summary};
use crate::thread::{self, Unit};
use crate::window::{CONTINUE, Fitted, Phase, Window, weigh_one};
use bub_estimate::chat;
use bub_guest::view::{Part, Selected};
use bub_guest::{Error, ErrorKind};
use left::{Covered, Left};
use serde_json::{Value, json};
use system::Cut;

/// The inputs that the selection does not decide.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub system_prompt: String,
    /// Its parts.
    pub system_parts: Vec<system::Part>,
    /// The text of the current prompt.
    pub prompt: String,
    /// User messages that are not on the tape yet.
    pub said: Vec<Value>,
    /// Name, description, parameters.
    pub tools: Vec<(String, String, String)>,
    /// The tape's last id when the turn began.
    pub began: u64,
    /// The input budget of the model, if known.
    pub room: Option<u64>,
    pub scale: Scale,
}

/// The result.
#[derive(Debug)]
pub struct Built {
    pub system_prompt: Option<String>,
    /// The parts that were shortened.
    pub cuts: Vec<Cut>,
    pub before: Vec<Value>,
    pub history: Vec<Unit>,
    /// Replaces the user messages, if they were cut.
    pub said: Option<Vec<Value>>,
    pub after: Vec<Value>,
    pub tracker: Tracker,
    pub metadata: Value,
    /// One line per step.
    pub log: Vec<String>,
}

/// Builds the context.
///
/// # Errors
///
/// The budget is too small for a conversation, or the tape cannot be read.
pub fn context(options: &Options, request: &Request, source: &dyn Source) -> Result<Built, Error> {
    let total = request.room.map_or(options.total_budget, |room| room.min(options.total_budget));
    if total < LEAST_BUDGET {
        let message = format!(
            "the model's window leaves {total} tokens for a request, and {LEAST_BUDGET} are the least: lower `max_tokens`, or set its window in `[windows]`"
        );
        return Err(Error::new(ErrorKind::Config, message));
    }
    let first = source.first()?;
    let phase = first.as_ref().map_or(0, |first| first.id);
    let mut build = Build::new(options, request, total);
    build.tools(total);
    let system = build.system_share();
    let naming = build.name_what_is_left(first.is_some());
    let said = build.said();
    let summary = if options.enable_summary { build.newest_summary(source, phase) } else { None };
    let through = summary.as_ref().map_or(0, |summary| summary.through);
    let mut window = Window::read(source, through, options, request.scale, build.tracker.left())?;
    build.language = options.language.of(request.spoken().chain(window.spoken()));
    let anchor = first.as_ref().filter(|first| first.kind == "anchor").map(|anchor| anchor.payload.clone());
    let head = window.take_phase(first.as_ref());
    let own = build.own_input(&window);
    let net = build.safety_net(&own);
    let goal = build.goal(source, &window, anchor.as_deref(), phase);
    let pinned = build.pin(&window, goal.as_ref());

    let found = build.find(source, &window, &own);
    let whole = retrieval::unsent(&found, &request.system_prompt, options);
    let needs = build.needs(&window, &own, head.as_ref(), summary.as_ref(), &whole);
    let (system_prompt, cuts) = build.system_prompt(system, needs);
    let head = head.and_then(|head| build.phase(head, needs));
    let shown = summary.as_ref().and_then(|summary| build.summary(summary, needs));
    // Compare with the system prompt as it is sent, possibly cut.
    let sent = system_prompt.as_deref().unwrap_or(&request.system_prompt);
    let told = build.memories(retrieval::unsent(&found, sent, options), needs);
    let (fitted, quoting) = build.recent(&window, &own, naming);

    let window_start = fitted.units.first().map_or(request.began.saturating_add(1), Unit::id);
    let mut history: Vec<Unit> = head.into_iter().chain(fitted.units).collect();
    // If there is no room for the exchange, its user messages are kept.
    let kept: Vec<u64> = history.iter().map(Unit::id).collect();
    history.extend(own.into_iter().filter(|own| !kept.contains(&own.id())));
    history.sort_by_key(Unit::id);
    let kept: Vec<u64> = history.iter().map(Unit::id).collect();
    // On a tape without an anchor the first message follows entry 0.
    let begins = if anchor.is_some() { phase } else { phase.saturating_sub(1) };
    let covered = Covered {
        phase: begins,
        has_anchor: anchor.is_some(),
        through: through.max(begins),
        is_shown: shown.is_some(),
    };
    let left = build.left(source, &window, covered, &kept, quoting)?;
    let before = build.earlier(shown, &left, naming);
    let metadata = json!({
        "includedMessageCount": history.iter().map(Unit::len).sum::<usize>(),
        "summarizedMessageCount": if covered.is_shown { through } else { 0 },
        "usedSummary": covered.is_shown,
        "retrievedMemoryCount": told.as_ref().map_or(0, |(_, count)| *count),
        "budget": total,
        "reserved": build.budget.reserved,
        "ratio": request.scale.0.value(),
        "rounds": fitted.rounds,
        "compressedResults": fitted.compressed,
        "windowStart": window_start,
        "safetyNet": net.is_some(),
        "language": if build.language == Language::Chinese { "zh" } else { "en" },
        "goal": goal.map(|goal| goal.shown()),
        "quoted": left.ids,
        "notShown": left.ranges(),
    });
    build.log.push(format!("context built: {} tokens of {total}", build.tracker.used()));
    Ok(Built {
        system_prompt,
        cuts,
        before: before.into_iter().chain(told.map(|(message, _)| message)).collect(),
        history,
        said,
        after: net.into_iter().chain(pinned).collect(),
        tracker: build.tracker,
        metadata,
        log: build.log,
    })
}

impl Request {
    /// The user messages of this request, newest first.
    fn spoken(&self) -> impl Iterator<Item = String> {
        self.said
            .iter()
            .rev()
            .map(|message| thread::words(&message["content"]))
            .filter(|text| !text.starts_with(CONTINUE))
    }
}

impl Built {
    /// The selection for the host; the notes record the decisions and their costs.
    pub fn selected(self) -> Selected {
        let mut notes = json!({ "tokenStats": self.tracker.stats(), "metadata": self.metadata });
        if !self.cuts.is_empty() {
            notes["cuts"] = self.cuts.iter().map(Cut::note).collect();
        }
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

/// Ids of unchanged entries, and messages for those that were cut.
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
    language: Language,
    log: Vec<String>,
}

/// Tokens that the optional steps need; each is guaranteed its share, and unused tokens are lent.
#[derive(Debug, Clone, Copy, Default)]
struct Needs {
    system_prompt: u64,
    /// The phase's anchor and the summary.
    summary: u64,
    retrieved: u64,
    /// The recent messages, up to their share; beyond it they get only what the others leave.
    recent: u64,
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
            language: Language::English,
            log,
        }
    }

    /// Allocates measured tokens.
    fn take(&mut self, category: Category, tokens: u64) {
        let taken = self.tracker.allocate(category, tokens);
        debug_assert!(taken, "{category:?} was given more than there is");
    }

    /// The selection cannot omit tools: if they exceed the budget, the minimum for a conversation remains.
    fn tools(&mut self, total: u64) {
        let weights = self.request.tools.iter().map(|(name, about, parameters)| chat::tool(name, about, parameters));
        let tools: u64 = weights.map(|tokens| self.scale.0.correct(tokens)).sum();
        self.take(Category::Tools, tools.min(total - LEAST_BUDGET));
        self.log.push(format!("[0] tools: {tools} tokens"));
    }

    /// 1. Mandatory: its share is reserved first. Returns its size.
    fn system_share(&mut self) -> u64 {
        let share = self.system_weight().min(self.budget.system_prompt).min(self.tracker.left());
        self.take(Category::SystemPrompt, share);
        share
    }

    /// Reserves tokens for naming omitted messages, if there may be any. Returns their number.
    fn name_what_is_left(&mut self, has_history: bool) -> u64 {
        let room = if has_history { self.naming_room().min(self.tracker.left()) } else { 0 };
        self.take(Category::Summary, room);
        room
    }

    /// Tokens left when each part has what it needs of its share, without those already allocated.
    fn lendable(&self, others: u64) -> u64 {
        self.tracker.left().saturating_sub(others)
    }

    fn needs(
        &self,
        window: &Window,
        own: &[Unit],
        head: Option<&Phase>,
        summary: Option<&Summary>,
        found: &[Memory],
    ) -> Needs {
        let left = self.tracker.left();
        let head = head.map_or(0, |head| weigh_one(&head.unit, self.scale));
        let summary = summary.map_or(0, |summary| self.scale.plain(&summary.shown(self.language)));
        let memories = retrieval::message(found, self.language).map_or(0, |text| self.scale.plain(&text));
        let share = self.budget.recent_messages.min(left);
        Needs {
            system_prompt: self.system_weight(),
            summary: head + summary,
            retrieved: memories,
            recent: window.fit(self.options, self.compression(), share, own).tokens,
        }
    }

    /// The rest of step 1: whole if there is room, else cut. Returns the text if it was cut.
    fn system_prompt(&mut self, share: u64, needs: Needs) -> (Option<String>, Vec<Cut>) {
        let others = needs.summary.min(self.budget.summary) + needs.retrieved.min(self.budget.retrieved) + needs.recent;
        let most = share + self.lendable(others);
        let (text, cuts) = self.cut_system(most);
        let tokens = match &text {
            Some(text) if text.is_empty() => 0,
            Some(text) => self.scale.plain(text),
            None => needs.system_prompt,
        };
        self.tracker.release(Category::SystemPrompt, share);
        self.take(Category::SystemPrompt, tokens);
        self.log.push(format!("[1] system prompt: {tokens} tokens"));
        for Cut { part, tokens, kept } in &cuts {
            self.log.push(format!("[1] {part} was cut from {tokens} to {kept} tokens"));
        }
        (text, cuts)
    }

    /// The goal of the thread: the task of this turn, or an earlier one that this turn continues.
    fn goal(&mut self, source: &dyn Source, window: &Window, anchor: Option<&str>, phase: u64) -> Option<Goal> {
        if !self.options.enable_instruction_pinning {
            return None;
        }
        let asked = pin::Asked { source, window, request: self.request, anchor, phase };
        match asked.goal() {
            Ok(goal) => goal,
            Err(error) => {
                self.log.push(format!("[6] the goal cannot be looked up: {}", error.message));
                None
            }
        }
    }

    /// 6. The goal once more, if there is room.
    fn pin(&mut self, window: &Window, goal: Option<&Goal>) -> Option<Value> {
        let goal = goal?;
        let task = ActiveTask::of(window.exchanges.last(), self.request.began);
        let text = pin::instruction(goal, &task)?;
        let tokens = self.scale.plain(&text);
        if !self.tracker.allocate(Category::Pinning, tokens) {
            self.log.push("[6] pinned instruction: no room, skipped".to_owned());
            return None;
        }
        self.log.push(format!("[6] pinned instruction: {tokens} tokens"));
        Some(system(&text))
    }

    /// The anchor of this phase, with the state from the previous phase.
    fn phase(&mut self, anchor: Phase, needs: Needs) -> Option<Unit> {
        let mut unit = anchor.unit;
        let lent = self.lendable(needs.retrieved.min(self.budget.retrieved) + needs.recent);
        let most = lent.max(self.budget.summary.min(self.tracker.left()));
        if weigh_one(&unit, self.scale) > most {
            let text = self.scale.ends(&anchor.text, most, |left| format!("[... {left} characters left out ...]"));
            unit = Unit::Cut { id: unit.id(), message: json!({ "role": "assistant", "content": text }) };
        }
        let tokens = weigh_one(&unit, self.scale);
        self.tracker.allocate(Category::Summary, tokens).then_some(unit)
    }

    /// A summary of an earlier phase is ignored: the anchor's state replaces it.
    fn newest_summary(&mut self, source: &dyn Source, phase: u64) -> Option<Summary> {
        match Summary::newest(source) {
            Ok(summary) => summary.filter(|summary| summary.through >= phase),
            Err(error) => {
                self.log.push(format!("[2] the summary cannot be read: {}", error.message));
                None
            }
        }
    }

    /// 2. The summary of what precedes the window, cut to its share and lent tokens.
    fn summary(&mut self, summary: &Summary, needs: Needs) -> Option<String> {
        let shown = summary.shown(self.language);
        let lent = self.lendable(needs.retrieved.min(self.budget.retrieved) + needs.recent);
        let text = self.scale.cut(&shown, lent.max(self.budget.summary.min(self.tracker.left())));
        let tokens = self.scale.plain(text);
        // A label without content is useless.
        let is_short = summary.content.is_empty() || !text.contains('\n');
        if is_short || !self.tracker.allocate(Category::Summary, tokens) {
            self.log.push("[2] summary: no room, skipped".to_owned());
            return None;
        }
        self.log.push(format!("[2] summary: {tokens} tokens, through entry {}", summary.through));
        Some(text.to_owned())
    }

    /// The summary, followed by quotations or ranges of messages that are neither in it nor in the window.
    fn earlier(&mut self, summary: Option<String>, left: &Left, naming: u64) -> Option<Value> {
        let told = summary.as_ref().map_or(0, |summary| self.scale.plain(summary));
        self.tracker.release(Category::Summary, naming + told);
        let summary = summary.unwrap_or_else(|| summary::label(self.language).to_owned());
        if left.is_empty() {
            if told == 0 {
                return None;
            }
            self.take(Category::Summary, told);
            return Some(system(&summary));
        }
        let text = format!("{summary}\n{}", left.shown(self.language, self.is_searchable()));
        let tokens = self.scale.plain(&text);
        self.take(Category::Summary, tokens.min(self.tracker.left()));
        self.log.push(format!(
            "[2] not in the window: {} quoted, {} ranges named",
            left.ids.len(),
            left.ranges().len()
        ));
        Some(system(&text))
    }

    /// 3. Memories about the question.
    fn find(&mut self, source: &dyn Source, window: &Window, own: &[Unit]) -> Vec<Memory> {
        if !self.options.enable_memory_retrieval {
            return Vec::new();
        }
        let asked = window.own_input(self.request.began);
        let question = asked.first().map_or(self.request.prompt.as_str(), |(_, text)| *text);
        let question = thread::typed(question);
        if question.trim().is_empty() {
            return Vec::new();
        }
        // The minimum of the window.
        let rest = self.tracker.left().saturating_sub(self.budget.retrieved);
        let held = window.fit(self.options, self.compression(), rest, own);
        let window_start = held.units.first().map_or(self.request.began.saturating_add(1), Unit::id);
        let found = retrieval::search(source, question, self.options, window_start);
        self.log.extend(found.missed.iter().map(|why| format!("[3] {why}")));
        found.memories
    }

    /// As many of them as fit, with their number.
    fn memories(&mut self, mut memories: Vec<Memory>, needs: Needs) -> Option<(Value, usize)> {
        let most = self.lendable(needs.recent).max(self.budget.retrieved.min(self.tracker.left()));
        loop {
            let text = retrieval::message(&memories, self.language)?;
            let tokens = self.scale.plain(&text);
            if tokens <= most {
                self.take(Category::Retrieved, tokens);
                self.log.push(format!("[3] {} memories: {tokens} tokens", memories.len()));
                return Some((system(&text), memories.len()));
            }
            memories.pop();
        }
    }

    /// 4. The sliding window: its share, and what the others have left. If it cannot hold everything, the rest of the
    /// summary's share is reserved for quotations; returns its size.
    fn recent(&mut self, window: &Window, own: &[Unit], naming: u64) -> (Fitted, u64) {
        let all = |fitted: &Fitted| {
            let there: usize = window.exchanges.iter().map(|exchange| exchange.units.len()).sum();
            window.unread_before.is_none() && fitted.units.len() == there
        };
        let left = self.tracker.left();
        let mut fitted = window.fit(self.options, self.compression(), left, own);
        let mut quoting = 0;
        if !all(&fitted) && self.options.enable_summary {
            let told = self.tracker.of(Category::Summary).saturating_sub(naming);
            quoting = self.budget.summary.saturating_sub(told).min(left / 4);
            fitted = window.fit(self.options, self.compression(), left - quoting, own);
        }
        self.take(Category::RecentMessages, fitted.tokens);
        self.log.push(format!("[4] recent messages: {} tokens, {} exchanges", fitted.tokens, fitted.rounds));
        (fitted, quoting)
    }

    fn compression(&self) -> Compression {
        Compression { scale: self.scale, above: self.options.compress_above, searchable: self.is_searchable() }
    }
}

fn system(text: &str) -> Value {
    json!({ "role": "system", "content": text })
}
