//! No message is lost: each message of the phase is always in the window, in the summary, quoted, or named as omitted.

use super::laws::{Deed, deed, happen, text};
use super::*;
use crate::SIDECAR;
use crate::digest::{self, Rule, Thread};
use crate::fake::{Store, Tape};
use crate::summary::{self, Summary};
use crate::thread;
use crate::thread::exchanges;
use crate::window::user;
use bub_guest::tape::Entry;
use proptest::prelude::*;
use serde_json::Map;
use std::cell::{Cell, RefCell};

/// The summarizer after a turn.
#[derive(Debug, Clone, Copy)]
enum Summariser {
    Quotes,
    Model,
    /// A model that fails every second time.
    Fails,
    /// The program ends after the first part.
    Cancelled,
    /// Nothing happens after the turn.
    Never,
}

/// The state after a turn: the raw tape, with section anchors that no view shows.
struct AfterTurn<'a> {
    raw: &'a Tape,
    by: Summariser,
    asked: Cell<usize>,
    kept: RefCell<Vec<Value>>,
}

impl Thread for AfterTurn<'_> {
    fn next(&self, after: u64, max: usize) -> Result<Vec<Entry>, Error> {
        Ok(self.raw.0.iter().filter(|entry| entry.id > after).take(max).cloned().collect())
    }

    fn ask(&self, _before: Option<&Summary>, lines: &[String]) -> Option<Result<String, Error>> {
        self.asked.set(self.asked.get() + 1);
        let broken = || Error::new(ErrorKind::Temporary, "it takes too long");
        match self.by {
            Summariser::Model => Some(Ok(format!("{} lines were said. ", lines.len()).repeat(60))),
            Summariser::Fails => {
                Some(if self.asked.get() % 2 == 0 { Ok("something".to_owned()) } else { Err(broken()) })
            }
            _ => None,
        }
    }

    fn warn(&self, line: &str) {
        assert!(line.ends_with("sentences are quoted"), "{line}");
    }

    fn keep(&self, summary: &Summary, messages: usize, is_asked: bool) -> Result<(), Error> {
        let by = if is_asked { "model" } else { "extract" };
        self.kept.borrow_mut().push(summary.record(messages, by));
        match self.by {
            Summariser::Cancelled => Err(Error::new(ErrorKind::Cancelled, "the program ends")),
            _ => Ok(()),
        }
    }
}

/// A tape with entries that no view shows, and data derived from it.
struct World {
    raw: Tape,
    options: Options,
    store: Store,
}

impl World {
    fn new(raw: Tape, options: Options) -> Self {
        Self { raw, options, store: Store::default() }
    }

    /// The tape as the host shows it: without section anchors.
    fn seen(&self) -> Tape {
        Tape(self.raw.0.iter().filter(|entry| !entry.meta.contains("zone")).cloned().collect())
    }

    fn select(&mut self, prompt: &str) -> (Request, Built) {
        self.store.tape = self.seen();
        let tools = vec![("tape.search".to_owned(), "finds".to_owned(), "{}".to_owned())];
        let began = self.raw.last();
        let request =
            Request { prompt: prompt.to_owned(), said: vec![user(prompt)], began, tools, ..Request::default() };
        let built = context(&self.options, &request, &self.store).unwrap();
        (request, built)
    }

    /// Runs the hook after the turn.
    fn behind(&mut self, built: &Built, by: Summariser) -> Result<usize, Error> {
        let phase = self.raw.0.iter().rfind(|entry| entry.kind == "anchor" && !entry.meta.contains("zone"));
        let rule = Rule {
            phase: phase.map_or(0, |anchor| anchor.id),
            window_start: built.metadata["windowStart"].as_u64().unwrap(),
            after_messages: self.options.summary_after_messages,
            after_tokens: self.options.summary_after_tokens,
            most: built.metadata["budget"].as_u64().unwrap() / 10,
        };
        let last = Summary::newest(&self.store).unwrap();
        let behind = AfterTurn { raw: &self.raw, by, asked: Cell::default(), kept: RefCell::default() };
        let done = match by {
            Summariser::Never => Ok(()),
            _ => digest::summarise(&behind, rule, last),
        };
        let kept = behind.kept.into_inner();
        let count = kept.len();
        let sidecar = self.store.sidecars.entry(SIDECAR.to_owned()).or_default();
        for record in kept {
            sidecar.event(summary::EVENT, record);
        }
        done.map(|()| count)
    }

    /// The messages of the phase that are in none of the places.
    fn lost(&self, built: &Built) -> Vec<u64> {
        let seen = self.store.tape.0.clone();
        let units: Vec<Unit> = exchanges(&seen).into_iter().flat_map(|exchange| exchange.units).collect();
        let told: Vec<String> = built.before.iter().map(|message| thread::words(&message["content"])).collect();
        let told = told.join("\n");
        let ranges: Vec<(u64, u64)> = told
            .lines()
            .filter_map(|line| line.strip_prefix("[Not shown: entries ")?.split(" of the tape").next())
            .flat_map(|ranges| ranges.split(", "))
            .map(|range| {
                let (from, to) = range.split_once('-').unwrap_or((range, range));
                (from.parse().unwrap(), to.parse().unwrap())
            })
            .collect();
        let quoted: Vec<u64> = serde_json::from_value(built.metadata["quoted"].clone()).unwrap();
        let lines = told.split_once("[Since then]\n").map_or("", |(_, lines)| lines);
        assert!(lines.lines().count() >= quoted.len(), "{quoted:?}: {told}");
        let through = built.metadata["summarizedMessageCount"].as_u64().unwrap();
        assert!(through == 0 || told.starts_with("[Conversation summary]\n"), "{told}");
        let is_there = |unit: &Unit| {
            let (from, to) = (unit.id(), unit.last_id());
            to <= through
                || built.history.iter().any(|there| there.id() == from)
                || quoted.contains(&from)
                || ranges.iter().any(|range| range.0 <= from && to <= range.1)
                || self.says_nothing(from)
        };
        units.iter().filter(|unit| !is_there(unit)).map(Unit::id).collect()
    }

    /// Whether a message has no text.
    fn says_nothing(&self, id: u64) -> bool {
        let entry = self.raw.0.iter().find(|entry| entry.id == id).unwrap();
        entry.kind == "message" && digest::line(entry, 100).is_none()
    }
}

fn options(total: u64, window: u64, after: u64) -> Options {
    let options = Options::read(|_| None, &Map::new()).unwrap();
    Options {
        total_budget: total,
        sliding_window_size: window,
        summary_after_messages: after,
        language: crate::options::Speech::Always(Language::English),
        ..options
    }
}

fn summariser() -> impl Strategy<Value = Summariser> {
    prop_oneof![
        3 => Just(Summariser::Quotes),
        2 => Just(Summariser::Model),
        2 => Just(Summariser::Fails),
        1 => Just(Summariser::Cancelled),
        2 => Just(Summariser::Never),
    ]
}

/// The events of one turn: a section anchor, perhaps a handoff, and messages.
fn turn() -> impl Strategy<Value = (bool, bool, Vec<Deed>, Summariser)> {
    (prop::bool::weighted(0.5), prop::bool::weighted(0.05), prop::collection::vec(deed(), 0..14), summariser())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_message_of_the_phase_is_in_the_window_in_the_summary_or_named(
        turns in prop::collection::vec(turn(), 1..16),
        total in 512_u64..4_000,
        window in 1_u64..8,
        after in 1_u64..16,
        prompt in text(),
        summarises in prop::bool::weighted(0.85),
    ) {
        let options = Options { enable_summary: summarises, ..options(total, window, after) };
        let mut world = World::new(Tape::default(), options);
        for (has_zone, hands_off, deeds, by) in turns {
            if has_zone {
                for name in ["memory/open", "memory/seal"] {
                    world.raw.anchor(name, json!({ "version": 1 }));
                    world.raw.0.last_mut().unwrap().meta = json!({ "zone": true }).to_string();
                }
            }
            let (_, built) = world.select(&prompt);
            prop_assert_eq!(world.lost(&built), Vec::<u64>::new(), "{:?} {}", built.before, built.metadata);
            prop_assert!(built.tracker.used() <= total);
            if hands_off {
                let raw = &mut world.raw;
                raw.anchor("phase", json!({ "summary": "so far" }));
                // Entries before the anchor belong to another phase, which the host does not show.
                let anchor = raw.0.pop().unwrap();
                raw.0.clear();
                raw.0.push(anchor);
            }
            deeds.into_iter().for_each(|deed| happen(&mut world.raw, deed));
            let _ = world.behind(&built, by);
        }
        let (_, built) = world.select("the end");
        prop_assert_eq!(world.lost(&built), Vec::<u64>::new(), "{:?} {}", built.before, built.metadata);
    }
}

#[test]
fn a_call_is_summarised_with_its_results() {
    let long = "a line of a text\n".repeat(300);
    let mut world = World::new(Tape::default(), options(512, 1, 1));
    let (_, built) = world.select("go on");
    world.raw.user(&long).user(&long).call(&["lost"]);
    world.behind(&built, Summariser::Quotes).unwrap();
    let (_, built) = world.select("go on");
    world.raw.result("");
    world.behind(&built, Summariser::Quotes).unwrap();
    let (_, built) = world.select("the end");
    assert_eq!(world.lost(&built), Vec::<u64>::new(), "{:?} {}", built.before, built.metadata);
}

#[test]
fn section_anchors_are_not_counted_as_messages() {
    let mut raw = Tape::default();
    for version in 1..40 {
        for name in ["memory/open", "memory/seal"] {
            raw.anchor(name, json!({ "version": version }));
            raw.0.last_mut().unwrap().meta = json!({ "zone": true }).to_string();
        }
    }
    raw.start().user("one").assistant("1").end().start().user("two").assistant("2").end();
    let mut world = World::new(raw, options(4_000, 1, 10));
    let (_, built) = world.select("three");
    assert_eq!(world.behind(&built, Summariser::Quotes).unwrap(), 0, "two messages have left, and ten are due");
}

/// An imported tape, or one on which another selector was active before.
#[test]
fn more_than_1024_entries_that_leave_at_once_are_summarised_in_parts() {
    let mut raw = Tape::default();
    for round in 0..1_500 {
        raw.start().user(&format!("My number {round} is {}.", round * 7)).assistant("It is noted.").end();
    }
    raw.0[5].payload = json!({ "role": "user", "content": "Remember that the gate code is 7319." }).to_string();
    let mut world = World::new(raw, options(8_000, 4, 10));
    let (_, first) = world.select("hello");
    assert_eq!(world.lost(&first), Vec::<u64>::new());
    let parts = world.behind(&first, Summariser::Quotes).unwrap();
    assert!(parts >= 6, "6,000 entries in parts of 1,024: {parts}");
    let summary = Summary::newest(&world.store).unwrap().expect("there is one");
    assert_eq!(summary.through + 1, first.metadata["windowStart"].as_u64().unwrap(), "all of it");
    assert!(
        summary.content.contains("the gate code is 7319"),
        "the first part is in the last summary: {}",
        summary.content
    );
    let (_, second) = world.select("hello");
    assert_eq!(world.lost(&second), Vec::<u64>::new());
    assert_eq!(second.metadata["notShown"], json!([]));
}

#[test]
fn an_interrupted_summary_continues_with_the_next_part() {
    let mut raw = Tape::default();
    for round in 0..1_500 {
        raw.start().user(&format!("My number {round} is {}.", round * 7)).assistant("It is noted.").end();
    }
    let mut world = World::new(raw, options(8_000, 4, 10));
    let mut last = 0;
    for _ in 0..3 {
        let (_, built) = world.select("hello");
        assert_eq!(world.lost(&built), Vec::<u64>::new());
        world.behind(&built, Summariser::Cancelled).unwrap_err();
        let through = Summary::newest(&world.store).unwrap().expect("a part is kept").through;
        assert!(through > last, "{through}");
        last = through;
    }
}

#[test]
fn a_failing_model_is_called_once_per_turn_and_sentences_are_quoted() {
    let mut raw = Tape::default();
    for round in 0..1_500 {
        raw.start().user(&format!("My number {round} is {}.", round * 7)).assistant("It is noted.").end();
    }
    let mut world = World::new(raw, options(8_000, 4, 10));
    let (_, built) = world.select("hello");
    world.behind(&built, Summariser::Fails).unwrap();
    let by: Vec<String> = world.store.sidecars[SIDECAR]
        .0
        .iter()
        .map(|entry| serde_json::from_str::<Value>(&entry.payload).unwrap()["data"]["by"].as_str().unwrap().to_owned())
        .collect();
    assert!(by.len() >= 6 && by.iter().all(|by| by == "extract"), "{by:?}");
}

/// Content that was too long for a request must not return through its summary.
#[test]
fn one_enormous_message_is_cut_in_the_summary() {
    let mut raw = Tape::default();
    raw.start().user(&format!("BEGIN {} END", "padding ".repeat(60_000))).assistant("It is long.").end();
    raw.start().tool("bash", &"x".repeat(400_000)).assistant("So is this.").end();
    for _ in 0..8 {
        raw.start().user("Remember that tea is served at five.").assistant("Noted.").end();
    }
    let mut world = World::new(raw, options(4_000, 2, 2));
    let (_, built) = world.select("hello");
    assert_eq!(world.lost(&built), Vec::<u64>::new());
    world.behind(&built, Summariser::Quotes).unwrap();
    let summary = Summary::newest(&world.store).unwrap().expect("there is one");
    assert!(bub_estimate::estimate(&summary.content) <= 400, "{}", bub_estimate::estimate(&summary.content));
    assert!(summary.content.contains("tea is served at five"), "{}", summary.content);
}
