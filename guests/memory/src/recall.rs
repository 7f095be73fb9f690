//! Recall: search in the sections and the conversation.

use crate::block::TAINTED;
use crate::day;
use crate::scope::Scope;
use crate::snapshot::{Part, Snapshot};
use bub_guest::tape::{Hit, Search};
use bub_guest::{Result, Tape};

/// Marks the output, so that recalled text is not found again.
pub const MARK: &str = "[memory.recall]";

/// Marks the output of the tape's own search.
const TAPE_MARK: &str = "[tape.search]";

/// Maximum hits of the conversation.
const HITS: usize = 10;

/// Maximum characters of a hit.
const MAX_HIT: usize = 500;

/// The texts of the sections, with notes of the last `days` days; with a query, the lines that contain its words.
pub fn of_zones(zones: &[(Scope, Snapshot)], query: Option<&str>, today: &str, days: i64) -> Vec<String> {
    let first = day::before(today, days - 1);
    let mut found = Vec::new();
    for (scope, zone) in zones {
        let whose = scope.whose();
        let long_term = zone.long_term.iter().map(|part| (format!("## Long-term Memory{whose}"), part));
        let notes = zone.since(&first).map(|note| (format!("## {}{whose}", note.date), &note.part));
        for (heading, part) in long_term.chain(notes) {
            if let Some(text) = matching(part, query) {
                found.push(format!("{heading}\n{text}"));
            }
        }
    }
    found
}

/// The lines of a text that contain all words; all without a query.
fn matching(part: &Part, query: Option<&str>) -> Option<String> {
    let text = match query {
        None => part.content.clone(),
        Some(query) => {
            let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
            let holds = |line: &&str| {
                let line = line.to_lowercase();
                words.iter().all(|word| line.contains(word.as_str()))
            };
            part.content.lines().filter(holds).collect::<Vec<_>>().join("\n")
        }
    };
    let tainted = if part.tainted { format!("{TAINTED}\n") } else { String::new() };
    (!text.is_empty()).then(|| format!("{tainted}{text}"))
}

/// Messages with these words, one per line, newest first.
///
/// # Errors
///
/// The error of the search: that the query is too long, for one.
pub fn of_tape(tape: &Tape, query: &str) -> Result<Vec<String>> {
    let hits = tape.search(&Search {
        text: query.to_owned(),
        kinds: vec!["message".to_owned(), "tool_result".to_owned()],
        since: None,
        until: None,
        // Some are filtered out.
        limit: 3 * HITS as u32,
        patience: None,
    })?;
    let is_said = |hit: &&Hit| ![MARK, TAPE_MARK].iter().any(|mark| hit.entry.payload.contains(mark));
    Ok(hits.iter().filter(is_said).take(HITS).map(line).collect())
}

fn line(hit: &Hit) -> String {
    let shown: String = hit.entry.payload.chars().take(MAX_HIT).collect();
    let more = if shown.len() < hit.entry.payload.len() { " ..." } else { "" };
    format!("- {} {}{more}", hit.entry.date, shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::tests::part;

    fn zones() -> Vec<(Scope, Snapshot)> {
        let mut zone = Snapshot::default();
        zone.save(part("Likes dark mode.\nUses Python 3.12."));
        zone.add_note("2026-02-10", part("- dark theme done"));
        zone.add_note("2026-02-09", part("- python upgraded"));
        vec![(Scope::Workspace, zone)]
    }

    #[test]
    fn days_are_today_and_those_before() {
        let found = of_zones(&zones(), None, "2026-02-10", 1);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].starts_with("## 2026-02-10\n"));
        assert_eq!(of_zones(&zones(), None, "2026-02-10", 2).len(), 3);
    }

    #[test]
    fn a_query_finds_lines_that_hold_all_its_words() {
        let expected = ["## Long-term Memory\nLikes dark mode.", "## 2026-02-10\n- dark theme done"];
        assert_eq!(of_zones(&zones(), Some("DARK"), "2026-02-10", 7), expected);
        assert_eq!(of_zones(&zones(), Some("mode dark"), "2026-02-10", 7), expected[..1]);
        assert!(of_zones(&zones(), Some("coffee"), "2026-02-10", 7).is_empty());
    }
}
