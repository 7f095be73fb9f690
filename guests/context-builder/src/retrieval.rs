//! Long-term retrieval from memory, daily notes and earlier conversations. The host keeps the index and decides on
//! access.

use crate::options::{Category, Language, Options};
use crate::source::Source;
use bub_guest::recall;
use bub_guest::{Error, ErrorKind};

/// Requested hits: some may be in the system prompt, which is cut later.
const HITS: u32 = 64;

/// Maximum characters of a memory.
const SHOWN: usize = 300;

/// A retrieved memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    pub content: String,
    /// 0 to 1, calibrated by the host.
    pub similarity: f64,
}

/// The hits, and failed queries.
#[derive(Debug, Default)]
pub struct Found {
    pub memories: Vec<Memory>,
    /// One line per failure.
    pub missed: Vec<String>,
}

/// Memories above the threshold, nearest first. `window_start`: the first entry that is in the context anyway.
pub fn search(source: &dyn Source, question: &str, options: &Options, window_start: u64) -> Found {
    let asked = recall::Options {
        sources: options.categories.iter().map(of_category).collect(),
        limit: HITS,
        min_score: options.min_similarity,
        timeout_ms: u32::try_from(options.retrieval_timeout_ms).unwrap_or(u32::MAX),
        // The final system prompt is not known yet.
        sent: Vec::new(),
        window_start: Some(window_start),
    };
    match source.recall(question, &asked) {
        Ok(answer) => {
            let memory = |hit: recall::Hit| Memory { content: one_line(&hit.text), similarity: hit.score };
            Found { memories: answer.hits.into_iter().map(memory).collect(), missed: answer.missed }
        }
        Err(error) => Found { memories: Vec::new(), missed: vec![why(&error)] },
    }
}

/// Memories that are not in the final system prompt, up to the maximum.
pub fn unsent(memories: &[Memory], system_prompt: &str, options: &Options) -> Vec<Memory> {
    let most = usize::try_from(options.retrieval_limit).unwrap_or(usize::MAX);
    let new = memories.iter().filter(|memory| !system_prompt.contains(&memory.content));
    new.take(most).map(|memory| Memory { content: shown(&memory.content), ..memory.clone() }).collect()
}

/// The message for the model; `None` without memories.
pub fn message(memories: &[Memory], language: Language) -> Option<String> {
    if memories.is_empty() {
        return None;
    }
    let (label, score) = match language {
        Language::Chinese => ("[相关历史记忆]", "相关度"),
        Language::English => ("[Related memories]", "similarity"),
    };
    let lines = memories.iter().map(|memory| format!("- {} ({score}: {:.2})", memory.content, memory.similarity));
    Some(format!("{label}\n{}", lines.collect::<Vec<_>>().join("\n")))
}

fn of_category(category: &Category) -> recall::Source {
    match category {
        Category::UserPreference => recall::Source::Memory,
        Category::Note => recall::Source::Note,
        Category::History => recall::Source::History,
    }
}

/// Distinguishes a timeout from a failure.
fn why(error: &Error) -> String {
    match error.kind {
        ErrorKind::Temporary => format!("memories are skipped: {}", error.message),
        _ => format!("looking for memories failed: {}", error.message),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Truncates a line.
fn shown(line: &str) -> String {
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Store;
    use serde_json::Map;

    fn options() -> Options {
        Options::read(|_| None, &Map::new()).unwrap()
    }

    fn store() -> Store {
        let known =
            [(recall::Source::Memory, "My cat is called Miso."), (recall::Source::History, "The boat leaves at noon.")];
        Store { known: known.map(|(source, text)| (source, text.to_owned())).to_vec(), ..Store::default() }
    }

    #[test]
    fn the_host_is_queried_for_the_configured_sources() {
        let found = search(&store(), "What is my cat called?", &options(), 1);
        assert_eq!(found.memories.first().map(|memory| memory.content.as_str()), Some("My cat is called Miso."));
        let only = Options { categories: vec![Category::Note], ..options() };
        assert!(search(&store(), "What is my cat called?", &only, 1).memories.is_empty());
    }

    #[test]
    fn memories_in_the_final_system_prompt_are_not_repeated_and_cut_ones_are() {
        let found = search(&store(), "What is my cat called?", &options(), 1).memories;
        assert!(unsent(&found, "<memory>My cat is called Miso.</memory>", &options()).is_empty());
        assert_eq!(unsent(&found, "<memory>My cat", &options()).len(), 1);
        let many: Vec<Memory> = (0..9).map(|at| Memory { content: format!("memory {at}"), similarity: 0.9 }).collect();
        assert_eq!(unsent(&many, "memory 0", &options()), many[1..4]);
    }

    #[test]
    fn a_timeout_and_a_failure_are_reported_separately_and_skipped() {
        for (kind, said) in [
            (ErrorKind::Temporary, "memories are skipped: it is broken"),
            (ErrorKind::Unknown, "looking for memories failed: it is broken"),
        ] {
            let store = Store { broken: Some(kind), ..store() };
            let found = search(&store, "What is my cat called?", &options(), 1);
            assert!(found.memories.is_empty());
            assert_eq!(found.missed, [said]);
            assert!(store.asked.borrow().iter().sum::<u32>() <= 500, "{:?}", store.asked);
        }
    }

    #[test]
    fn memories_are_shown_with_their_score() {
        let memories = [
            Memory { content: "喜欢猫".to_owned(), similarity: 0.876 },
            Memory { content: "x".to_owned(), similarity: 0.6 },
        ];
        assert_eq!(
            message(&memories, Language::Chinese).unwrap(),
            "[相关历史记忆]\n- 喜欢猫 (相关度: 0.88)\n- x (相关度: 0.60)"
        );
        assert_eq!(message(&memories[1..], Language::English).unwrap(), "[Related memories]\n- x (similarity: 0.60)");
        assert_eq!(message(&[], Language::English), None);
    }
}
