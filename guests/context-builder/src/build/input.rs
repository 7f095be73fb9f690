//! The current input: user messages of this request, those already on the tape in later steps, and a safety net that
//! adds the prompt if it is missing.

use super::Build;
use crate::budget::Category;
use crate::safety;
use crate::thread::{self, Unit};
use crate::window::{Window, cut_input, user, weigh_one};
use serde_json::{Value, json};

/// The original's minimum for the safety net.
const NET: u64 = 500;

/// Minimum tokens of an earlier message when the last one takes the rest.
const LITTLE: u64 = 24;

impl Build<'_> {
    /// 5. The user's current messages, allocated before everything else: cut only if they exceed the whole remainder.
    pub(super) fn said(&mut self) -> Option<Vec<Value>> {
        let share = if self.options.include_current_input { self.budget.current_input.max(NET) } else { u64::MAX };
        let mut left = share.min(self.tracker.left());
        let mut said = self.request.said.clone();
        // Each earlier message keeps a minimum, whatever the last one needs.
        let mut others = said.len().saturating_sub(1) as u64 * LITTLE;
        let mut is_cut = false;
        for message in said.iter_mut().rev() {
            let most = left.saturating_sub(others);
            if self.scale.message(message) > most {
                *message = self.shortened(message, most);
                is_cut = true;
            }
            let weighs = self.scale.message(message).min(left);
            left -= weighs;
            self.take(Category::CurrentInput, weighs);
            others = others.saturating_sub(LITTLE);
        }
        let tokens: u64 = said.iter().map(|message| self.scale.message(message)).sum();
        self.log.push(format!("[5] current input: {tokens} tokens{}", if is_cut { ", cut" } else { "" }));
        is_cut.then_some(said)
    }

    /// A message cut to a number of tokens: its media if they fit, and head and tail of its text.
    fn shortened(&self, message: &Value, most: u64) -> Value {
        let note = |left: usize| format!("[... {left} characters left out ...]");
        let text = thread::words(&message["content"]);
        let mut short = message.clone();
        if let Value::Array(parts) = &message["content"] {
            let media: Vec<Value> = parts.iter().filter(|part| part.get("text").is_none()).cloned().collect();
            short["content"] = media.clone().into();
            let weighs = self.scale.message(&short);
            if weighs < most {
                let words = self.scale.ends(&text, most - weighs, note);
                let words = json!({ "type": "text", "text": words });
                short["content"] = std::iter::once(words).chain(media).collect();
                return short;
            }
        }
        short["content"] = self.scale.ends(&text, most, note).into();
        short
    }

    /// The current input in later steps, when this turn's user messages are on the tape. Leaves room for the safety net
    /// if needed.
    pub(super) fn own_input(&mut self, window: &Window) -> Vec<Unit> {
        let own = window.own_input(self.request.began);
        let net = if self.says_prompt(own.last().map(|(_, text)| (*text).to_owned())) { 0 } else { self.net_room() };
        let mut placed = Vec::new();
        for (earlier, (unit, text)) in own.into_iter().enumerate().rev() {
            let most = self.tracker.left().saturating_sub(net + earlier as u64 * LITTLE);
            let mut unit = unit.clone();
            if weigh_one(&unit, self.scale) > most {
                unit = cut_input(unit.id(), text, self.scale, most);
            }
            let weighs = weigh_one(&unit, self.scale);
            if weighs <= most && self.tracker.allocate(Category::CurrentInput, weighs) {
                placed.push(unit);
            }
        }
        placed.reverse();
        placed
    }

    /// Whether the last user message is the prompt: in this request, or `own`, of this turn.
    fn says_prompt(&self, own: Option<String>) -> bool {
        let last = self.request.said.last().map(|message| thread::words(&message["content"])).or(own);
        safety::is_there(last.as_deref(), &self.request.prompt)
    }

    /// Tokens for the safety net: its share, at least the original's minimum.
    fn net_room(&self) -> u64 {
        self.scale.message(&user(&self.request.prompt)).min(self.budget.current_input.max(NET))
    }

    /// Appends the current input if no message contains it.
    pub(super) fn safety_net(&mut self, own: &[Unit]) -> Option<Value> {
        let last = own.last().and_then(|last| match last {
            Unit::Message { asked, .. } => asked.clone(),
            Unit::Cut { message, .. } => Some(thread::words(&message["content"])),
            Unit::Calls { .. } => None,
        });
        if self.says_prompt(last) {
            return None;
        }
        let most = self.net_room().min(self.tracker.left());
        let note = |left| format!("[... {left} characters left out ...]");
        let message = user(&self.scale.ends(&self.request.prompt, most, note));
        // A message without text has a size too.
        if !self.tracker.allocate(Category::CurrentInput, self.scale.message(&message)) {
            self.log.push("[5] the current input is missing: no room".to_owned());
            return None;
        }
        self.log.push("[5] the current input is missing: appended".to_owned());
        Some(message)
    }
}
