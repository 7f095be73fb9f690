//! Fitting the system prompt into its budget: whole, or cut part by part in the order that plugins declare.

use super::Build;
use crate::scale::Scale;
use bub_guest::CutOrder;
use serde_json::{Value, json};

/// A part of the system prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Author and name: `memory/date`.
    pub name: String,
    pub text: String,
    pub cut: CutOrder,
}

/// A part that was shortened, in tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    pub part: String,
    pub tokens: u64,
    pub kept: u64,
}

impl Cut {
    pub fn note(&self) -> Value {
        json!({ "part": self.part, "tokens": self.tokens, "kept": self.kept })
    }
}

/// The minimum size of a part; a smaller one is dropped.
const LEAST: u64 = 16;

impl Build<'_> {
    /// The tokens of the whole system prompt.
    pub(super) fn system_weight(&self) -> u64 {
        let text = &self.request.system_prompt;
        if text.is_empty() { 0 } else { self.scale.plain(text) }
    }

    /// Cuts the system prompt to that size; returns the text and the cuts, if any.
    pub(super) fn cut_system(&self, most: u64) -> (Option<String>, Vec<Cut>) {
        if self.system_weight() <= most {
            return (None, Vec::new());
        }
        let (text, cuts) = fit(&self.request.system_parts, most, self.scale);
        (Some(text), cuts)
    }
}

/// Cuts parts until all together have at most `most` tokens: by cut order, and of equals the longest first.
pub fn fit(parts: &[Part], most: u64, scale: Scale) -> (String, Vec<Cut>) {
    let mut texts: Vec<String> = parts.iter().map(|part| part.text.clone()).collect();
    let joined = |texts: &[String]| {
        texts.iter().filter(|text| !text.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n\n")
    };
    let weight = |text: &str| if text.is_empty() { 0 } else { scale.plain(text) };
    for order in [CutOrder::First, CutOrder::Normal, CutOrder::Last] {
        loop {
            let over = weight(&joined(&texts)).saturating_sub(most);
            let among = parts.iter().enumerate().filter(|(at, part)| part.cut == order && !texts[*at].is_empty());
            let Some((at, _)) = among.max_by_key(|(at, _)| texts[*at].len()) else { break };
            if over == 0 {
                break;
            }
            let tokens = weight(&texts[at]);
            // Rounding and mixed scripts may leave slightly more than intended.
            let shorter = shortened(&texts[at], tokens.saturating_sub(over + 2), scale);
            texts[at] = if shorter.len() < texts[at].len() { shorter } else { String::new() };
        }
    }
    let cuts = parts.iter().zip(&texts).filter(|(part, text)| part.text != **text).map(|(part, text)| Cut {
        part: part.name.clone(),
        tokens: weight(&part.text),
        kept: weight(text),
    });
    let cuts = cuts.collect();
    (joined(&texts), cuts)
}

/// The beginning of a part with a notice of the omission, and its closing line if it has one: a quotation must be
/// closed.
fn shortened(text: &str, most: u64, scale: Scale) -> String {
    let (body, close) = match text.rsplit_once('\n') {
        Some((body, last)) if last.starts_with("</") => (body, format!("\n{last}")),
        _ => (text, String::new()),
    };
    let all = body.chars().count();
    let note = |left: usize| format!("\n[... {left} characters left out: no room ...]{close}");
    let room = most.saturating_sub(scale.text(&note(all)) + 2);
    if room < LEAST {
        return String::new();
    }
    let head = scale.cut(body, room);
    if head.is_empty() { String::new() } else { format!("{head}{}", note(all - head.chars().count())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, text: String, cut: CutOrder) -> Part {
        Part { name: name.to_owned(), text, cut }
    }

    fn prompt() -> Vec<Part> {
        vec![
            part("builtin/agent", "You are an agent. ".repeat(20), CutOrder::Normal),
            part(
                "builtin/workspace",
                format!("<w>\n{}\n</w>", "A rule of the workspace.\n".repeat(900)),
                CutOrder::First,
            ),
            part("memory/date", "Today is 2026-11-21.".to_owned(), CutOrder::Last),
            part("memory/memory", format!("<memory>\n{}</memory>", "- a fact\n".repeat(60)), CutOrder::Last),
        ]
    }

    #[test]
    fn parts_with_cut_order_first_are_cut_first_and_their_quotation_stays_closed() {
        let scale = Scale::default();
        let (text, cuts) = fit(&prompt(), 1_500, scale);
        assert!(scale.plain(&text) <= 1_500 && scale.plain(&text) > 1_400, "{}", scale.plain(&text));
        let names: Vec<&str> = cuts.iter().map(|cut| cut.part.as_str()).collect();
        assert_eq!(names, ["builtin/workspace"]);
        assert!(text.contains("characters left out: no room ...]\n</w>\n\nToday is 2026-11-21."), "{text}");
        assert!(text.ends_with("- a fact\n</memory>"));
    }

    #[test]
    fn the_date_and_the_memory_are_the_last_to_go() {
        for most in [4, 20, 60, 120, 200, 300, 500] {
            let (text, cuts) = fit(&prompt(), most, Scale::default());
            assert!(text.is_empty() || Scale::default().plain(&text) <= most, "{most}: {text}");
            if most >= 200 {
                assert!(
                    text.contains("Today is 2026-11-21.") && text.contains("- a fact\n</memory>"),
                    "{most}: {text}"
                );
            }
            if most >= 20 {
                assert!(text.contains("Today is 2026-11-21."), "{most}: {text}");
            }
            assert!(cuts.iter().all(|cut| cut.kept < cut.tokens), "{cuts:?}");
        }
    }
}
