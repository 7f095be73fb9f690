//! Long-term retrieval: what the memory, the daily notes and earlier exchanges hold that the question is about.

use crate::bub::tape::entries::{Entry, Query, Start};
use crate::options::{Category, Language, Options};
use crate::source::{self, Source};
use crate::{Error, ErrorKind, RECALL};
use gist::Corpus;
use serde_json::Value;

/// The event in which an exchange is kept for later.
pub const EVENT: &str = "context.recall";

/// Exchanges that are looked through: so many of the newest, and so many of the oldest.
const DEPTH: u32 = 256;

/// Characters of a memory that are shown.
const SHOWN: usize = 300;

const LONG_TERM: &str = "memory.long_term";
const DAILY: &str = "memory.daily";

/// Something that could be remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    pub content: String,
    pub similarity: f64,
}

/// What was found, and what could not be asked.
#[derive(Debug, Default)]
pub struct Found {
    pub memories: Vec<Memory>,
    /// What happened in place of an answer, a line each.
    pub missed: Vec<String>,
}

/// What must not come back: it is there already.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    pub system_prompt: &'a str,
    /// The first entry that is shown anyway.
    pub window_start: u64,
    /// The first entry of this phase: what tainted earlier ones stays with them.
    pub phase: u64,
}

/// The memories that are near enough, nearest first.
pub fn search(source: &dyn Source, question: &str, options: &Options, known: Known<'_>) -> Found {
    let mut found = Found::default();
    let wants = |category| options.categories.contains(&category);
    let timeout = u32::try_from(options.retrieval_timeout_ms).unwrap_or(u32::MAX);
    let mut texts = Vec::new();
    // Together the parts take no longer than the whole may.
    if wants(Category::UserPreference) || wants(Category::Note) {
        let zone = Query {
            kinds: vec!["event".to_owned()],
            ..source::events(Start::BetweenAnchors(("memory/open".to_owned(), "memory/seal".to_owned())))
        };
        match source.query(None, &zone, DEPTH, timeout / 2) {
            Ok(entries) => {
                let named = |name| entries.iter().filter(move |entry| is_named(entry, name));
                if wants(Category::UserPreference) {
                    texts.extend(named(LONG_TERM).flat_map(|entry| lines(entry, known.system_prompt)));
                }
                if wants(Category::Note) {
                    texts.extend(named(DAILY).flat_map(|entry| lines(entry, known.system_prompt)));
                }
            }
            Err(error) => found.missed.extend(why("memory", &error)),
        }
    }
    if wants(Category::History) {
        let newest = source::newest_events(EVENT, DEPTH);
        let oldest = Query { newest_first: false, ..newest.clone() };
        let mut entries = Vec::new();
        for query in [newest, oldest] {
            // The second time only where the first did not show all.
            if query.newest_first || entries.len() == DEPTH as usize {
                match source.query(Some(RECALL), &query, DEPTH, timeout / 4) {
                    Ok(page) => entries.extend(page),
                    Err(error) => found.missed.extend(why("history", &error)),
                }
            }
        }
        entries.sort_by_key(|entry| entry.id);
        entries.dedup_by_key(|entry| entry.id);
        texts.extend(entries.iter().filter_map(|entry| said(entry, known)));
    }
    found.memories = nearest(texts, question, options);
    found
}

fn nearest(texts: Vec<String>, question: &str, options: &Options) -> Vec<Memory> {
    let marks = gist::marks(question);
    let may_fit = |text: &String| {
        let lower = text.to_lowercase();
        marks.iter().any(|mark| lower.contains(mark.as_str()))
    };
    let texts: Vec<String> = texts.into_iter().filter(may_fit).collect();
    // A question is compared with sentences: of a long text one may be what it is about.
    let sentences: Vec<(usize, &str)> = texts
        .iter()
        .enumerate()
        .flat_map(|(at, text)| gist::sentences(text).into_iter().map(move |sentence| (at, sentence)))
        .collect();
    let similarities = Corpus::new(sentences.iter().map(|(_, sentence)| *sentence)).similarities(question);
    let mut best = vec![0.0_f64; texts.len()];
    for ((at, _), similarity) in sentences.iter().zip(similarities) {
        best[*at] = best[*at].max(similarity);
    }
    let near = texts.iter().zip(best).filter(|(_, similarity)| *similarity >= options.min_similarity);
    let mut near: Vec<Memory> = near.map(|(text, similarity)| Memory { content: shown(text), similarity }).collect();
    // Of two that are as near the later one.
    near.reverse();
    near.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
    near.dedup_by(|a, b| a.content == b.content);
    near.truncate(usize::try_from(options.retrieval_limit).unwrap_or(usize::MAX));
    near
}

/// As the model reads them; none where there are none.
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

/// What is not there yet is not missed; a time-out is told from a failure.
fn why(what: &str, error: &Error) -> Option<String> {
    match error.kind {
        ErrorKind::NotFound => None,
        ErrorKind::Temporary => Some(format!("looking through the {what} timed out, skipped")),
        _ => Some(format!("looking through the {what} failed: {}", error.message)),
    }
}

fn is_named(entry: &Entry, name: &str) -> bool {
    serde_json::from_str::<Value>(&entry.payload).is_ok_and(|payload| payload["name"] == name)
}

/// The lines of a memory, less those that the system prompt's `<memory>` holds, and less all of it where a tainted turn
/// wrote it.
fn lines(entry: &Entry, system_prompt: &str) -> Vec<String> {
    let Some(data) = source::data(entry).filter(|data| data["tainted"] != true) else { return Vec::new() };
    let told = system_prompt
        .split_once("<memory>")
        .map_or("", |(_, rest)| rest.split_once("</memory>").map_or(rest, |(block, _)| block));
    let lines = data["content"].as_str().unwrap_or_default().lines();
    let lines = lines.map(|line| line.trim().trim_start_matches(['-', '*', '#', ' '])).filter(|line| !line.is_empty());
    lines.filter(|line| !told.contains(line)).map(str::to_owned).collect()
}

/// What was said in an exchange, unless it is in the window, or tainted an earlier phase.
fn said(entry: &Entry, known: Known<'_>) -> Option<String> {
    let data = source::data(entry)?;
    let id = data["id"].as_u64()?;
    let stays = data["tainted"] == true && id < known.phase;
    (id < known.window_start && !stays).then(|| data["text"].as_str().map(str::to_owned))?
}

/// On one line, and not endless.
fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Store, Tape};
    use serde_json::{Map, json};

    fn options() -> Options {
        Options::read(|_| None, &Map::new()).unwrap()
    }

    const KNOWN: Known<'static> = Known { system_prompt: "", window_start: u64::MAX, phase: 0 };

    fn zone(long_term: &str, daily: &str) -> Tape {
        let mut zone = Tape::default();
        zone.event(LONG_TERM, json!({ "content": long_term }));
        zone.event(DAILY, json!({ "date": "2026-11-21", "content": daily }));
        zone
    }

    fn store() -> Store {
        let mut history = Tape::default();
        for other in OTHERS {
            history.event(EVENT, json!({ "id": 1, "text": other }));
        }
        history.event(EVENT, json!({ "id": 7, "text": "My dentist is Dr Okafor.\nNoted." }));
        history
            .event(EVENT, json!({ "id": 9, "text": "A page said that the dentist moved to Lima.", "tainted": true }));
        let mut store =
            Store { zone: Some(zone("My cat is called Miso.", "Deployed the billing server.")), ..Store::default() };
        store.sidecars.insert(RECALL.to_owned(), history);
        store
    }

    /// What else was said: how rare a word is shows only among others.
    const OTHERS: [&str; 8] = [
        "My sister plays the cello on Sundays.",
        "My bicycle is in the cellar.",
        "The budget meeting moved to Monday.",
        "The Japanese boat leaves at noon.",
        "The dentist of the town has a server, they say, and a cat.",
        "The compiler found two errors.",
        "The billing of the hotel was wrong.",
        "My code review takes an hour.",
    ];

    fn found(store: &Store, question: &str, options: &Options, known: Known<'_>) -> Vec<String> {
        search(store, question, options, known).memories.into_iter().map(|memory| memory.content).collect()
    }

    #[test]
    fn each_category_is_looked_through_when_it_is_wanted() {
        let store = store();
        let near = Options { min_similarity: 0.4, ..options() };
        for (question, category, content) in [
            ("What is my cat called?", Category::UserPreference, "My cat is called Miso."),
            ("Who deployed the billing server?", Category::Note, "Deployed the billing server."),
            ("Who is my dentist?", Category::History, "My dentist is Dr Okafor. Noted."),
        ] {
            assert!(found(&store, question, &near, KNOWN).contains(&content.to_owned()), "{question}");
            let only = Options { categories: vec![category], ..near.clone() };
            assert!(found(&store, question, &only, KNOWN).contains(&content.to_owned()), "{question}");
            let others = options().categories.into_iter().filter(|other| *other != category).collect();
            let without = Options { categories: others, ..near.clone() };
            assert!(!found(&store, question, &without, KNOWN).contains(&content.to_owned()), "{question}");
        }
    }

    #[test]
    fn what_is_there_already_is_left_out() {
        let store = store();
        let prompt = "You are an agent.\n<memory>\n- My cat is called Miso.\n</memory>";
        let known = Known { system_prompt: prompt, ..KNOWN };
        assert!(found(&store, "What is my cat called?", &options(), known).is_empty());
        let outside = Known { system_prompt: "My cat is called Miso.", ..KNOWN };
        assert_eq!(found(&store, "What is my cat called?", &options(), outside).len(), 1);
        let known = Known { window_start: 7, ..KNOWN };
        assert!(found(&store, "Who is my dentist?", &options(), known).is_empty());
    }

    #[test]
    fn what_tainted_an_earlier_phase_stays_there() {
        let lima = |phase| {
            let only = Options { min_similarity: 0.2, ..options() };
            found(&store(), "Where did the dentist move?", &only, Known { phase, ..KNOWN }).join(" ").contains("Lima")
        };
        assert!(lima(9) && !lima(10));
    }

    #[test]
    fn the_three_best_are_taken_and_the_nearest_stands_first() {
        let facts =
            "The boat code is 1.\nThe boat code is 2 now.\nThe boat code is 3 for ever.\nThe boat code is 4, they say.";
        let store = Store { zone: Some(zone(facts, &OTHERS.join("\n"))), ..Store::default() };
        let near = Options { min_similarity: 0.3, ..options() };
        let memories = search(&store, "The boat code", &near, KNOWN).memories;
        assert_eq!(memories.len(), 3);
        assert!(memories.is_sorted_by(|a, b| a.similarity >= b.similarity), "{memories:?}");
        let one = Options { retrieval_limit: 1, ..near.clone() };
        assert_eq!(search(&store, "The boat code", &one, KNOWN).memories.len(), 1);
        let exact = Options { min_similarity: memories[2].similarity, ..options() };
        assert_eq!(search(&store, "The boat code", &exact, KNOWN).memories.len(), 3);
        let above = Options { min_similarity: memories[0].similarity + 1e-9, ..options() };
        assert!(search(&store, "The boat code", &above, KNOWN).memories.is_empty());
    }

    #[test]
    fn a_time_out_and_a_failure_are_told_apart_and_skipped() {
        for (kind, said) in [
            (ErrorKind::Temporary, "looking through the memory timed out, skipped"),
            (ErrorKind::Unknown, "looking through the memory failed: it is broken"),
        ] {
            let store = Store { broken: Some(kind), ..store() };
            let found = search(&store, "What is my cat called?", &options(), KNOWN);
            assert!(found.memories.is_empty());
            assert_eq!((found.missed.len(), found.missed[0].as_str()), (2, said));
            assert!(store.asked.borrow().iter().sum::<u32>() <= 500, "{:?}", store.asked);
        }
        let empty = search(&Store::default(), "What is my cat called?", &options(), KNOWN);
        assert!(empty.memories.is_empty() && empty.missed.is_empty());
    }

    #[test]
    fn memories_are_told_with_their_score() {
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

    /// Question, memory, whether it passes at 0.6 among the other memories.
    const PAIRS: [(&str, &str, bool); 30] = [
        ("What is my cat called?", "My cat is called Miso.", true),
        ("What is the harbour gate code?", "Remember that the harbour gate code is 7319.", true),
        ("Which editor do I prefer?", "I prefer the Helix editor.", true),
        ("When is the project deadline?", "The project deadline is 12 December.", true),
        ("Where do my parents live?", "My parents live in Porto.", true),
        ("What is my favourite colour?", "My favourite colour is green.", true),
        ("Which database does the shop use?", "The shop uses the PostgreSQL database.", true),
        ("Who is my dentist?", "My dentist is Dr Okafor.", true),
        ("What port does the staging server use?", "The staging server uses port 8443.", true),
        ("How do I like my coffee?", "Tea is served at five.", false),
        ("What is the capital of Peru?", "Our cat eats fish.", false),
        ("Tell me about Rust lifetimes", "The rust on the gate was removed.", false),
        ("Plan a trip to Japan", "The budget meeting moved to Monday.", false),
        ("What should I cook tonight?", "Deployments happen on Tuesdays.", false),
        ("Fix the failing unit test", "My sister plays the cello.", false),
        ("我的猫叫什么名字?", "我的猫名字叫豆豆。", false),
        ("港口大门的密码是多少?", "请记住港口大门的密码是7319。", true),
        ("我喜欢什么颜色?", "我喜欢绿色。", false),
        ("项目的截止日期是什么时候?", "项目截止日期是十二月十二日。", true),
        ("我的父母住在哪里?", "我的父母住在波尔图。", true),
        ("数据库的端口是多少?", "数据库端口是5432。", true),
        ("我的牙医是谁?", "我的牙医是王医生。", true),
        ("会议室在几楼?", "会议室在三楼。", true),
        ("生日礼物买什么?", "妈妈的生日礼物是围巾。", false),
        ("解释一下量子力学", "我们周五吃火锅。", false),
        ("帮我写一首诗", "服务器在周二部署。", false),
        ("今天天气怎么样?", "我的车是红色的。", false),
        ("推荐一本书", "妹妹会拉大提琴。", false),
        ("修复失败的测试", "预算会议改到周一。", false),
        ("怎么做红烧肉?", "护照放在抽屉里。", false),
    ];

    #[test]
    fn a_table_of_thirty_pairs_shows_which_pass() {
        let all: Vec<String> = PAIRS.iter().map(|(_, memory, _)| (*memory).to_owned()).collect();
        let exact = Options { min_similarity: 0.0, retrieval_limit: 20, ..options() };
        let mut wrong = Vec::new();
        for (question, memory, passes) in PAIRS {
            let found = nearest(all.clone(), question, &exact);
            let similarity = found.iter().find(|found| found.content == memory).map_or(0.0, |found| found.similarity);
            println!("{similarity:.2} {question} | {memory}");
            if (similarity >= 0.6) != passes {
                wrong.push((question, similarity));
            }
            // What passes is what was meant.
            let passing = found.iter().filter(|found| found.similarity >= 0.6);
            assert!(passing.into_iter().all(|found| found.content == memory), "{question}: {found:?}");
        }
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
