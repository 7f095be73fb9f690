//! Estimates corrected by the provider's reports.

use bub_estimate::Ratio;
use serde_json::Value;

/// The correction of one turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scale(pub Ratio);

impl Scale {
    pub fn text(self, text: &str) -> u64 {
        self.0.correct(bub_estimate::estimate(text))
    }

    /// A text message.
    pub fn plain(self, text: &str) -> u64 {
        self.0.correct(bub_estimate::chat::plain(text))
    }

    pub fn message(self, message: &Value) -> u64 {
        self.0.correct(bub_estimate::chat::message(message))
    }

    /// The beginning of a text whose message has at most that many tokens; empty if none fits.
    pub fn cut(self, text: &str, most: u64) -> &str {
        bub_estimate::to_tokens(text, self.room(most))
    }

    /// Head and tail of a text whose message has at most that many tokens.
    pub fn ends(self, text: &str, most: u64, note: impl Fn(usize) -> String) -> String {
        bub_estimate::ends(text, self.room(most), note)
    }

    /// The maximum estimate of a text whose message has at most that many tokens.
    fn room(self, most: u64) -> u64 {
        let mut room = (most as f64 / self.0.value()) as u64;
        while room > 0 && self.0.correct(room) > most {
            room -= 1;
        }
        room.saturating_sub(bub_estimate::chat::plain(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cut_to_a_number_of_tokens_does_not_exceed_it() {
        let text = "some words 和一些字 ".repeat(60);
        for ratio in [0.5, 0.8, 1.0, 1.3, 3.9] {
            let scale = Scale(Ratio::kept(ratio));
            for most in [0, 4, 5, 17, 100, 333] {
                let cut = scale.cut(&text, most);
                assert!(cut.is_empty() || scale.plain(cut) <= most, "{ratio} {most}");
                let ends = scale.ends(&text, most, |left| format!("[{left}]"));
                assert!(ends.is_empty() || scale.plain(&ends) <= most, "{ratio} {most}");
            }
            assert_eq!(scale.cut(&text, scale.plain(&text)), text);
        }
    }
}
