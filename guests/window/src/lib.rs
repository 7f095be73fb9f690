//! A minimal selector: the last exchanges only. It reads the tape from its end, so its cost does not depend on the
//! length.

wit_bindgen::generate!({
    inline: "
        package bub:window@0.1.0;
        world window {
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

struct Window;

impl Guest for Window {
    fn select(view: View) -> Result<Selected, Error> {
        let wanted = config::get("exchanges").and_then(|number| number.parse().ok()).unwrap_or(10);
        let mut taken: Vec<Entry> = Vec::new();
        let mut exchanges = 0_u64;
        let mut is_all = false;
        while exchanges < wanted && !is_all {
            let page = view.tail(taken.last().map(|oldest| oldest.id), 64)?;
            is_all = page.is_empty();
            // Newest first: an exchange is complete when its first message is reached.
            for entry in page.into_iter().rev() {
                exchanges += u64::from(begins(&entry));
                taken.push(entry);
                if exchanges == wanted {
                    break;
                }
            }
        }
        let history: Vec<Part> = taken.iter().rev().map(|entry| Part::Entry(entry.id)).collect();
        let notes = json!({ "exchanges": exchanges, "entries": history.len() });
        Ok(Selected { system_prompt: None, before: Vec::new(), history, after: Vec::new(), notes: notes.to_string() })
    }
}

/// Whether a turn of the agent loop begins here.
fn begins(entry: &Entry) -> bool {
    entry.kind == "event"
        && serde_json::from_str::<Value>(&entry.payload).is_ok_and(|payload| payload["name"] == "loop.start")
}

export!(Window);
