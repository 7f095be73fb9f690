//! How the server looks for entries.

use super::{Answer, Shared, number, wait};
use bub_tape::{Candidates, Condition, Entry, Error, SimilarWord, find_candidates};
use std::collections::HashMap;

/// How the server looks for entries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Searching {
    /// It does not: it is of an earlier version.
    Not,
    /// The least that the contract requires: it folds ASCII, ignores names, dates and misspelled words, and reads 300
    /// entries at a time.
    Plainly,
    /// As `bub-wasm serve` does.
    Served,
}

impl Shared {
    pub(super) fn look(&self, tape: &str, query: &HashMap<&str, String>) -> Result<Answer, Error> {
        let similar: Vec<(String, u8)> = listed(query, "similar");
        let condition = Condition {
            after: number(query, "after").unwrap_or(0),
            before: number(query, "before"),
            kinds: listed(query, "kinds"),
            name: query.get("name").cloned(),
            texts: listed(query, "texts"),
            similar: similar.into_iter().map(|(text, edits)| SimilarWord { text, edits }).collect(),
            since: query.get("since").cloned(),
            until: query.get("until").cloned(),
            newest_first: query.get("newest_first").is_some_and(|newest| newest == "true"),
        };
        let max = number(query, "max").unwrap_or(0) as usize;
        Ok(found(wait(find_candidates(&*self.store, tape, &condition, max))?))
    }

    pub(super) fn look_plainly(&self, tape: &str, query: &HashMap<&str, String>) -> Result<Answer, Error> {
        let newest_first = query.get("newest_first").is_some_and(|newest| newest == "true");
        let (after, before) = (number(query, "after").unwrap_or(0), number(query, "before").unwrap_or(u64::MAX));
        let mut entries = wait(self.store.read(tape, after, usize::MAX))?;
        entries.retain(|entry| entry.id < before);
        if newest_first {
            entries.reverse();
        }
        let (kinds, texts): (Vec<String>, Vec<String>) = (listed(query, "kinds"), listed(query, "texts"));
        let is_candidate = |entry: &Entry| {
            let line = entry.line().to_ascii_lowercase();
            let is_kind = kinds.is_empty() || kinds.iter().any(|kind| entry.is(kind));
            let may_differ = !line.is_ascii() || line.contains("\\u") || line.contains("\\/");
            is_kind && (may_differ || texts.iter().all(|text| line.contains(text)))
        };
        let max = number(query, "max").unwrap_or(0) as usize;
        let mut answer = Candidates::default();
        let all = entries.len();
        for (at, entry) in entries.into_iter().enumerate().take(300) {
            let is_last = at + 1 == all;
            let id = entry.id;
            if is_candidate(&entry) {
                answer.entries.push(entry);
            }
            answer.next = Some(id).filter(|_| !is_last);
            if answer.entries.len() == max {
                break;
            }
        }
        Ok(found(answer))
    }
}

fn found(found: Candidates) -> Answer {
    let lines: String = found.entries.iter().map(|entry| entry.line() + "\n").collect();
    (200, found.next.map_or_else(String::new, |next| format!("bub-next: {next}\r\n")), lines)
}

fn listed<T: serde::de::DeserializeOwned>(query: &HashMap<&str, String>, key: &str) -> Vec<T> {
    query.get(key).map(|list| serde_json::from_str(list).unwrap()).unwrap_or_default()
}
