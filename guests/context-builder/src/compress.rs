//! Shortening of tool results: head, tail, a notice of the omission, and how to read the rest.

use crate::scale::Scale;
use crate::thread::{Results, Unit};
use bub_estimate::chat;

/// The fraction of the threshold to which a long result is cut.
const PART: u64 = 4;

/// How results are shortened.
#[derive(Debug, Clone, Copy)]
pub struct Compression {
    pub scale: Scale,
    /// Tokens above which a result is long.
    pub above: u64,
    /// Whether the model can search the tape.
    pub searchable: bool,
}

impl Compression {
    /// Shortens the long results of a unit; returns their number.
    pub fn shorten(&self, unit: &mut Unit) -> u64 {
        let Unit::Calls { results, .. } = unit else { return 0 };
        let mut count = 0;
        for at in 0..results.messages.len() {
            let tokens = self.scale.0.correct(results.messages[at].1);
            if tokens > self.above {
                count += 1;
                self.cut(results, at, self.above / PART);
            }
        }
        count
    }

    /// Cuts the longest results until all together have at most that many tokens. Returns whether that succeeded.
    pub fn squeeze(&self, results: &mut Results, most: u64) -> bool {
        let weight = |results: &Results, at: usize| self.scale.0.correct(results.messages[at].1);
        let mut order: Vec<usize> = (0..results.messages.len()).collect();
        // Short ones first: their unused tokens are left to the long ones.
        order.sort_by_key(|at| weight(results, *at));
        let mut left = most;
        for (done, at) in order.iter().enumerate() {
            let share = left / (order.len() - done) as u64;
            if weight(results, *at) > share {
                self.cut(results, *at, share);
            }
            let weighs = weight(results, *at);
            if weighs > left {
                return false;
            }
            left -= weighs;
        }
        true
    }

    fn cut(&self, results: &mut Results, at: usize, most: u64) {
        let id = results.id;
        let (message, tokens) = &mut results.messages[at];
        let text = message["content"].as_str().unwrap_or_default();
        let how = if self.searchable { "; `tape_search` finds it by its words" } else { "" };
        let note = |left: usize| format!("[... {left} characters left out: entry {id} of the tape holds all{how} ...]");
        let name = message["name"].as_str().map_or(0, |name| self.scale.text(name));
        let short = self.scale.ends(text, most.saturating_sub(name), note);
        message["content"] = short.into();
        *tokens = chat::message(message);
        results.cut = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Tape;
    use crate::thread::exchanges;

    fn unit(result: &str) -> Unit {
        let mut tape = Tape::default();
        tape.user("go").tool("bash", result);
        exchanges(&tape.0)[0].units[1].clone()
    }

    fn content(unit: &Unit) -> String {
        let Unit::Calls { results, .. } = unit else { panic!() };
        results.messages[0].0["content"].as_str().unwrap().to_owned()
    }

    const PLAIN: Compression = Compression { scale: Scale(bub_estimate::Ratio::ONE), above: 1_000, searchable: true };

    #[test]
    fn a_result_of_a_thousand_tokens_stays_and_a_longer_one_is_shortened() {
        // A message has 4 tokens besides its text, and its name 1.
        let exact = unit(&"abcd".repeat(995));
        let mut same = exact.clone();
        assert_eq!(PLAIN.shorten(&mut same), 0);
        assert_eq!(same, exact);
        let mut long = unit(&format!("begin {} end", "abcd".repeat(995)));
        assert_eq!(PLAIN.shorten(&mut long), 1);
        let text = content(&long);
        assert!(text.starts_with("begin ") && text.ends_with(" end"), "{text}");
        assert!(text.contains("characters left out: entry 3 of the tape holds all; `tape_search` finds it"), "{text}");
        assert!(long.weights()[1] <= 250, "{:?}", long.weights());
    }

    #[test]
    fn room_is_made_by_the_longest_results() {
        let mut tape = Tape::default();
        let results = ["short".to_owned(), "long ".repeat(400), "longer ".repeat(400)];
        tape.user("go").call(&["a", "b", "c"]).push("tool_result", serde_json::json!({ "results": results }));
        let Unit::Calls { mut results, .. } = exchanges(&tape.0)[0].units[1].clone() else { panic!() };
        assert!(PLAIN.squeeze(&mut results, 300));
        let weights: Vec<u64> = results.messages.iter().map(|(_, tokens)| *tokens).collect();
        assert!(weights.iter().sum::<u64>() <= 300 && weights[0] == 7, "{weights:?}");
        assert!(!PLAIN.squeeze(&mut results, 5));
    }
}
