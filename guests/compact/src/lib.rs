//! A minimal selector: the last exchanges unchanged, preceded by one line per older exchange with question and answer.

use bub_guest::tape::Entry;
use bub_guest::view::{Part, Selected};
use bub_guest::{Result, Schema, View, config};
use serde::{Deserialize, Serialize};

bub_guest::plugin! {
    about: "Selects the last exchanges as they are, and folds older ones into a line each.",
    config: Settings,
    hooks: {
        /// to select
        selector: select,
    },
}

#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// How many exchanges stay as they are.
    #[serde(default = "four")]
    #[schema(minimum = 1, default = 4)]
    whole: usize,
}

fn four() -> usize {
    4
}

/// Maximum characters of a question, and of its answer, in a line.
const SHOWN: usize = 80;

/// A chat message in words.
#[derive(Deserialize, Serialize)]
struct Message {
    role: String,
    content: String,
}

/// The notes on a selection, for people.
#[derive(Serialize)]
struct Notes {
    folded: usize,
    whole: usize,
}

/// An exchange: its entries, what was asked and what was said last.
#[derive(Default)]
struct Exchange {
    ids: Vec<u64>,
    asked: String,
    answered: String,
}

fn select(view: &View) -> Result<Selected> {
    let whole = config::load::<Settings>()?.whole;
    let mut exchanges = vec![Exchange::default()];
    loop {
        let page = view.next(256)?;
        if page.is_empty() {
            break;
        }
        page.iter().for_each(|entry| add(&mut exchanges, entry));
    }
    let recent = exchanges.split_off(exchanges.len().saturating_sub(whole));
    let lines: Vec<String> = exchanges.iter().filter(|exchange| !exchange.asked.is_empty()).map(line).collect();
    let mut before = Vec::new();
    if !lines.is_empty() {
        let content = format!("[Earlier in this conversation]\n{}", lines.join("\n"));
        before.push(Part::Message(serde_json::to_string(&Message { role: "system".to_owned(), content })?));
    }
    let notes = Notes { folded: lines.len(), whole: recent.len() };
    let history = Selected::entries(recent.iter().flat_map(|exchange| &exchange.ids).copied());
    Ok(Selected { before, ..history.with_notes(&notes) })
}

fn add(exchanges: &mut Vec<Exchange>, entry: &Entry) {
    if entry.is_event("loop.start") {
        exchanges.push(Exchange::default());
    }
    let Some(exchange) = exchanges.last_mut() else { return };
    exchange.ids.push(entry.id);
    let Ok(message) = entry.read::<Message>() else { return };
    match message.role.as_str() {
        // The first is what the person asked; later ones are the loop's own.
        "user" if exchange.asked.is_empty() => exchange.asked = short(&message.content),
        "assistant" => exchange.answered = short(&message.content),
        _ => {}
    }
}

fn line(exchange: &Exchange) -> String {
    format!("- {} -> {}", exchange.asked, exchange.answered)
}

/// The last lines of a text, after date and context, joined.
fn short(text: &str) -> String {
    let said = text.split_once("---\n").map_or(text, |(_, said)| said);
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::select;
    use bub_guest::test::Host;
    use bub_guest::view::Part;
    use serde_json::json;

    #[test]
    fn older_exchanges_are_folded_into_a_line_each() {
        let mut host = Host::new().config(json!({ "whole": 1 }));
        for (asked, answered) in [("a  date\n---\nfirst  question", "first answer"), ("second", "last")] {
            host = host
                .entry("event", json!({ "name": "loop.start" }))
                .entry("message", json!({ "role": "user", "content": asked }))
                .entry("message", json!({ "role": "assistant", "content": answered }));
        }
        let selected = select(&host.view()).unwrap();
        assert_eq!(selected.history, [4, 5, 6].map(Part::Entry));
        let Part::Message(folded) = &selected.before[0] else { panic!("a message is folded") };
        assert!(folded.contains("- first question -> first answer"), "{folded}");
    }
}
