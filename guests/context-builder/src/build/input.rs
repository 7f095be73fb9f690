//! The current input: what the user says in this request, what stands on the tape of it in later steps, and the safety net
//! should nobody say it.

use super::Build;
use crate::budget::Category;
use crate::safety;
use crate::thread::{self, Unit};
use crate::window::{Window, cut_input, user, weigh_one};
use serde_json::{Value, json};

/// The original's floor of what the safety net appends.
const NET: u64 = 500;

/// What an earlier message of the same request keeps where the last one takes all.
const LITTLE: u64 = 24;

impl Build<'_> {
    /// 5. What the user says now, before anything else gets room: it is cut only where it is longer than all that is left.
    pub(super) fn said(&mut self) -> Option<Vec<Value>> {
        let share = if self.options.include_current_input { self.budget.current_input.max(NET) } else { u64::MAX };
        let mut left = share.min(self.tracker.left());
        let mut said = self.request.said.clone();
        // Each earlier one keeps a little, whatever the last one takes.
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

    /// A message in so many tokens: its media where they fit, and both ends of its words.
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

    /// The same of later steps: what the user said in this turn stands on the tape by then. It leaves room for the safety
    /// net, where that is needed.
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

    /// Whether the last thing that the user says is the prompt: it stands in this request, or is `own`, of this turn.
    fn says_prompt(&self, own: Option<String>) -> bool {
        let last = self.request.said.last().map(|message| thread::words(&message["content"])).or(own);
        safety::is_there(last.as_deref(), &self.request.prompt)
    }

    /// What the safety net takes: its share, but not less than the original's floor.
    fn net_room(&self) -> u64 {
        self.scale.message(&user(&self.request.prompt)).min(self.budget.current_input.max(NET))
    }

    /// Should nobody else say it, the current input is appended.
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
        // A message without a word weighs something too.
        if !self.tracker.allocate(Category::CurrentInput, self.scale.message(&message)) {
            self.log.push("[5] the current input is missing: no room".to_owned());
            return None;
        }
        self.log.push("[5] the current input is missing: appended".to_owned());
        Some(message)
    }
}
