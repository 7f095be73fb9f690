//! A selector: the last exchanges. It reads the tape from its end, so its cost does not depend on the length.

use bub_guest::tape::Entry;
use bub_guest::view::Selected;
use bub_guest::{Result, Schema, View, config};
use serde::{Deserialize, Serialize};

bub_guest::plugin! {
    about: "Selects the last exchanges of a conversation.",
    config: Settings,
    hooks: {
        /// to select what the model sees
        selector: select,
    },
}

/// The table `[plugins.{{name}}.config]`.
#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// How many exchanges are selected.
    #[serde(default = "twenty")]
    #[schema(minimum = 1, default = 20)]
    turns: u64,
}

fn twenty() -> u64 {
    20
}

/// The notes on a selection, shown by `bub-wasm tape`.
#[derive(Serialize)]
struct Notes {
    turns: u64,
    entries: usize,
}

/// Entries that are read at once.
const PAGE: u32 = 64;

fn select(view: &View) -> Result<Selected> {
    let wanted = config::load::<Settings>()?.turns;
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
            turns += u64::from(entry.id <= start && entry.is_event("loop.start"));
            taken.push(entry);
            if turns == wanted {
                break;
            }
        }
    }
    let notes = Notes {
        turns,
        entries: taken.len(),
    };
    Ok(Selected::entries(taken.iter().rev().map(|entry| entry.id)).with_notes(&notes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bub_guest::test::Host;
    use bub_guest::view::Part;
    use serde_json::json;

    fn conversation() -> Host {
        ["one", "two", "three"]
            .iter()
            .fold(Host::new(), |host, text| {
                host.entry("event", json!({ "name": "loop.start" }))
                    .entry("message", json!({ "content": text }))
            })
    }

    #[test]
    fn the_last_exchanges_are_selected_from_their_first_entry_on() {
        let host = conversation().config(json!({ "turns": 2 }));
        assert_eq!(
            select(&host.view()).unwrap().history,
            [3, 4, 5, 6].map(Part::Entry)
        );
    }

    #[test]
    fn a_short_conversation_is_selected_whole() {
        assert_eq!(select(&conversation().view()).unwrap().history.len(), 6);
        assert!(select(&Host::new().view()).unwrap().history.is_empty());
    }
}
