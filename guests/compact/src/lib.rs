//! A minimal selector: the last exchanges unchanged, preceded by one line per older exchange with question and answer.

wit_bindgen::generate!({
    inline: "
        package bub:compact@0.1.0;
        world compact {
            import bub:plugin/config@0.1.0;
            export bub:context/selector@0.1.0;
        }
    ",
    path: "../../wit",
    generate_all,
});

/// The manifest, which the host reads without running the component.
#[used]
#[unsafe(link_section = "bub:manifest")]
static MANIFEST: [u8; include_bytes!("../manifest.json").len()] = *include_bytes!("../manifest.json");

use bub::plugin::config;
use bub::tape::entries::Entry;
use bub::types::types::Error;
use exports::bub::context::selector::{Guest, Part, Selected, View};
use serde_json::{Value, json};

/// Maximum characters of a question, and of its answer, in a line.
const SHOWN: usize = 80;

/// An exchange: its entries, the question and the last answer.
#[derive(Default)]
struct Exchange {
    ids: Vec<u64>,
    asked: String,
    answered: String,
}

struct Compact;

impl Guest for Compact {
    fn select(view: View) -> Result<Selected, Error> {
        let whole = config::get("whole").and_then(|number| number.parse().ok()).unwrap_or(4);
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
        let folded = (!lines.is_empty()).then(|| {
            let text = format!("[Earlier in this conversation]\n{}", lines.join("\n"));
            Part::Message(json!({ "role": "system", "content": text }).to_string())
        });
        let history = recent.iter().flat_map(|exchange| &exchange.ids).map(|id| Part::Entry(*id)).collect();
        let notes = json!({ "folded": lines.len(), "whole": recent.len() }).to_string();
        Ok(Selected { system_prompt: None, before: folded.into_iter().collect(), history, after: Vec::new(), notes })
    }
}

fn add(exchanges: &mut Vec<Exchange>, entry: &Entry) {
    let payload: Value = serde_json::from_str(&entry.payload).unwrap_or_default();
    if entry.kind == "event" && payload["name"] == "loop.start" {
        exchanges.push(Exchange::default());
    }
    let Some(exchange) = exchanges.last_mut() else { return };
    exchange.ids.push(entry.id);
    let text = payload["content"].as_str().unwrap_or_default();
    match payload["role"].as_str() {
        // The first one is the user's; later ones are the loop's own.
        Some("user") if exchange.asked.is_empty() => exchange.asked = short(text),
        Some("assistant") => exchange.answered = short(text),
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

export!(Compact);
