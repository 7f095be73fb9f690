//! The parts of a context, each within its share of the budget.

use super::left::Left;
use super::system::Cut;
use super::{Build, Needs, Request, system};
use crate::budget::{Budget, Category, Tracker};
use crate::compress::Compression;
use crate::options::{LEAST_BUDGET, Language, Options};
use crate::pin::{self, ActiveTask, Goal};
use crate::retrieval::{self, Memory};
use crate::source::Source;
use crate::summary::{self, Summary};
use crate::thread::{self, Unit};
use crate::window::{Fitted, Phase, Window, weigh_one};
use bub_estimate::chat;
use serde_json::{Value, json};

impl<'a> Build<'a> {
    pub(super) fn new(options: &'a Options, request: &'a Request, total: u64) -> Self {
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
    pub(super) fn take(&mut self, category: Category, tokens: u64) {
        let taken = self.tracker.allocate(category, tokens);
        debug_assert!(taken, "{category:?} was given more than there is");
    }

    /// The selection cannot omit tools: if they exceed the budget, the minimum for a conversation remains.
    pub(super) fn tools(&mut self, total: u64) {
        let weights = self.request.tools.iter().map(|(name, about, parameters)| chat::tool(name, about, parameters));
        let tools: u64 = weights.map(|tokens| self.scale.0.correct(tokens)).sum();
        self.take(Category::Tools, tools.min(total - LEAST_BUDGET));
        self.log.push(format!("[0] tools: {tools} tokens"));
    }

    /// 1. Mandatory: its share is reserved first. Returns its size.
    pub(super) fn system_share(&mut self) -> u64 {
        let share = self.system_weight().min(self.budget.system_prompt).min(self.tracker.left());
        self.take(Category::SystemPrompt, share);
        share
    }

    /// Reserves tokens for naming omitted messages, if there may be any. Returns their number.
    pub(super) fn reserve_naming(&mut self, has_history: bool) -> u64 {
        let room = if has_history { self.naming_room().min(self.tracker.left()) } else { 0 };
        self.take(Category::Summary, room);
        room
    }

    /// Tokens left when each part has what it needs of its share, without those already allocated.
    pub(super) fn lendable(&self, others: u64) -> u64 {
        self.tracker.left().saturating_sub(others)
    }

    pub(super) fn needs(
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
    pub(super) fn system_prompt(&mut self, share: u64, needs: Needs) -> (Option<String>, Vec<Cut>) {
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
    pub(super) fn goal(
        &mut self,
        source: &dyn Source,
        window: &Window,
        anchor: Option<&str>,
        phase: u64,
    ) -> Option<Goal> {
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
    pub(super) fn pin(&mut self, window: &Window, goal: Option<&Goal>) -> Option<Value> {
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
    pub(super) fn phase(&mut self, anchor: Phase, needs: Needs) -> Option<Unit> {
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
    pub(super) fn newest_summary(&mut self, source: &dyn Source, phase: u64) -> Option<Summary> {
        match Summary::newest(source) {
            Ok(summary) => summary.filter(|summary| summary.through >= phase),
            Err(error) => {
                self.log.push(format!("[2] the summary cannot be read: {}", error.message));
                None
            }
        }
    }

    /// 2. The summary of what precedes the window, cut to its share and lent tokens.
    pub(super) fn summary(&mut self, summary: &Summary, needs: Needs) -> Option<String> {
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
    pub(super) fn earlier(&mut self, summary: Option<String>, left: &Left, naming: u64) -> Option<Value> {
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
    pub(super) fn find(&mut self, source: &dyn Source, window: &Window, own: &[Unit]) -> Vec<Memory> {
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
    pub(super) fn memories(&mut self, mut memories: Vec<Memory>, needs: Needs) -> Option<(Value, usize)> {
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
    pub(super) fn recent(&mut self, window: &Window, own: &[Unit], naming: u64) -> (Fitted, u64) {
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

    pub(super) fn compression(&self) -> Compression {
        Compression { scale: self.scale, above: self.options.compress_above, searchable: self.is_searchable() }
    }
}
