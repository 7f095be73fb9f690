//! A selector: the last exchanges. It reads the tape from its end, so its cost does not depend on the length.

wit_bindgen::generate!({
    inline: "
        package my:selector@0.1.0;
        world plugin {
            import bub:plugin/config@0.1.0;
            export bub:context/selector@0.1.0;
        }
    ",
    path: "../../wit",
    generate_all,
});

use bub::context::view::View;
use bub::plugin::config;
use bub::tape::entries::Entry;
use bub::types::types::Error;
use exports::bub::context::selector::{Guest, Part, Selected};
use serde_json::{Value, json};

const MANIFEST: &[u8] = br#"{
  "name": "bindgen-selector",
  "version": "0.1.0",
  "about": "Selects the last exchanges of a conversation.",
  "wants": [{ "grant": "hook:selector", "why": "to select what the model sees" }],
  "config_schema": {
    "type": "object",
    "properties": {
      "turns": { "type": "integer", "minimum": 1, "default": 20, "description": "How many exchanges are selected." }
    },
    "additionalProperties": false
  }
}"#;

#[used]
#[unsafe(link_section = "bub:manifest")]
static SECTION: [u8; MANIFEST.len()] = *MANIFEST.first_chunk().unwrap();

/// Entries that are read at once.
const PAGE: u32 = 64;

struct Plugin;

impl Guest for Plugin {
    fn select(view: View) -> Result<Selected, Error> {
        // The host has checked the configuration with the schema.
        let wanted = config::get("turns").and_then(|turns| turns.parse().ok()).unwrap_or(20);
        // The current turn is selected whole: its calls and their results are what the model goes on with.
        let start = view.turn_start_id();
        let (mut taken, mut turns): (Vec<Entry>, u64) = (Vec::new(), 0);
        while turns < wanted {
            let page = view.tail(taken.last().map(|oldest| oldest.id), PAGE)?;
            if page.is_empty() {
                break;
            }
            // Newest first. An exchange begins with the event `loop.start`, so that none is cut in half.
            for entry in page.into_iter().rev() {
                turns += u64::from(entry.id <= start && is_start(&entry));
                taken.push(entry);
                if turns == wanted {
                    break;
                }
            }
        }
        Ok(Selected {
            system_prompt: None,
            before: Vec::new(),
            history: taken.iter().rev().map(|entry| Part::Entry(entry.id)).collect(),
            after: Vec::new(),
            notes: json!({ "turns": turns, "entries": taken.len() }).to_string(),
        })
    }
}

fn is_start(entry: &Entry) -> bool {
    entry.kind == "event"
        && serde_json::from_str::<Value>(&entry.payload).is_ok_and(|payload| payload["name"] == "loop.start")
}

export!(Plugin);
