//! A minimal selector: the last exchanges only. It reads the tape from its end, so its cost does not depend on the
//! length.

use bub_guest::tape::Entry;
use bub_guest::view::Selected;
use bub_guest::{Result, Schema, View, config};
use serde::{Deserialize, Serialize};

bub_guest::plugin! {
    about: "Selects the last exchanges, as many as `exchanges` says.",
    config: Settings,
    hooks: {
        /// to select
        selector: select,
    },
}

#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// How many exchanges are selected.
    #[serde(default = "ten")]
    #[schema(minimum = 1, default = 10)]
    exchanges: u64,
}

/// The notes on a selection, for people.
#[derive(Serialize)]
struct Notes {
    exchanges: u64,
    entries: usize,
}

fn ten() -> u64 {
    10
}

fn select(view: &View) -> Result<Selected> {
    let wanted = config::load::<Settings>()?.exchanges;
    let mut taken: Vec<Entry> = Vec::new();
    let mut exchanges = 0_u64;
    let mut is_all = false;
    while exchanges < wanted && !is_all {
        let page = view.tail(taken.last().map(|oldest| oldest.id), 64)?;
        is_all = page.is_empty();
        // Newest first: an exchange is there once its first message is.
        for entry in page.into_iter().rev() {
            // A turn of the agent loop begins here.
            exchanges += u64::from(entry.is_event("loop.start"));
            taken.push(entry);
            if exchanges == wanted {
                break;
            }
        }
    }
    let notes = Notes { exchanges, entries: taken.len() };
    Ok(Selected::entries(taken.iter().rev().map(|entry| entry.id)).with_notes(&notes))
}

#[cfg(test)]
mod tests {
    use super::select;
    use bub_guest::test::Host;
    use bub_guest::view::Part;
    use serde_json::json;

    fn selected(host: &Host) -> Vec<Part> {
        select(&host.view()).unwrap().history
    }

    #[test]
    fn the_last_exchanges_are_selected_from_their_start_on() {
        let mut host = Host::new().config(json!({ "exchanges": 2 }));
        for content in ["one", "two", "three"] {
            host = host.entry("event", json!({ "name": "loop.start" })).entry("message", json!({ "content": content }));
        }
        assert_eq!(selected(&host), [3, 4, 5, 6].map(Part::Entry));
        assert_eq!(selected(&host.config(json!({}))).len(), 6);
        assert!(selected(&Host::new()).is_empty());
    }
}
