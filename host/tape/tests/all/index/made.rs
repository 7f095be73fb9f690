//! Tapes that are made up, with what a reader must find on them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bub_tape::{Entry, EntryOffset, Info, Lookup, Newest, TapeSummary, json};
use proptest::prelude::*;

/// How many kinds are remembered, and how many names of events and of anchors.
const KINDS: usize = 64;
pub(super) const NAMES: usize = 512;

/// A line of a tape that is made up, with what the test knows of it.
#[derive(Clone, Debug)]
pub(super) enum Made {
    Plain {
        kind: String,
    },
    Event {
        name: String,
        usage: Option<Usage>,
    },
    Anchor {
        name: Option<String>,
        zone: bool,
    },
    /// So many events or anchors, each with a name of its own.
    Flood {
        anchors: bool,
        from: u16,
        count: u16,
    },
    Unreadable(Vec<u8>),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    total: Option<u32>,
    prompt: Option<u32>,
    cached: Option<u32>,
}

impl Usage {
    fn json(self) -> String {
        let member = |key: &str, value: Option<u32>| value.map(|value| format!(r#""{key}": {value}"#));
        let details = member("cached_tokens", self.cached).unwrap_or_default();
        let members = [
            member("total_tokens", self.total),
            member("prompt_tokens", self.prompt),
            Some(format!(r#""prompt_tokens_details": {{{details}}}"#)),
        ];
        format!("{{{}}}", members.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0..12_u8).prop_map(|number| format!("name/{number}")),
        1 => Just("run".to_owned()),
        1 => Just("名前 \"\\\n".to_owned()),
        1 => Just("x".repeat(128)),
        1 => (0..3_usize).prop_map(|more| "long".repeat(32 + more)),
    ]
}

fn any_line() -> impl Strategy<Value = Made> {
    let number = || proptest::option::of(0..5000_u32);
    let usage = (number(), number(), number()).prop_map(|(total, prompt, cached)| Usage { total, prompt, cached });
    let zone_name = prop_oneof![Just("memory/open"), Just("memory/seal")].prop_map(str::to_owned);
    let usual = prop_oneof![Just("message"), Just("system"), Just("tool_call")];
    let flood = (any::<bool>(), 0..400_u16, 0..400_u16);
    let junk = prop_oneof![
        Just(Vec::new()),
        Just(b"\0\0\0".to_vec()),
        Just(b"{\"id\": 3, \"kind\": \"a\", \"payload\": {\"t\": \"\xff\"}}".to_vec()),
        Just(b"{\"id\": \"3\", \"kind\": \"event\", \"payload\": {\"name\": \"name/1\"}}".to_vec()),
        Just(b"{\"id\": 3, \"kind\": \"anchor\", \"payload\": []}".to_vec()),
        Just(b"{\"id\": 3, \"kind\": \"anchor\", \"payl".to_vec()),
    ];
    prop_oneof![
        6 => usual.prop_map(|kind| Made::Plain { kind: kind.to_owned() }),
        3 => (0..90_u8).prop_map(|number| Made::Plain { kind: format!("kind-{number}") }),
        1 => Just(Made::Plain { kind: "k".repeat(200) }),
        6 => any_name().prop_map(|name| Made::Event { name, usage: None }),
        3 => usage.prop_map(|usage| Made::Event { name: "run".to_owned(), usage: Some(usage) }),
        4 => (any_name(), any::<bool>()).prop_map(|(name, zone)| Made::Anchor { name: Some(name), zone }),
        1 => zone_name.prop_map(|name| Made::Anchor { name: Some(name), zone: true }),
        1 => Just(Made::Anchor { name: None, zone: false }),
        1 => flood.prop_map(|(anchors, from, count)| Made::Flood { anchors, from, count }),
        3 => junk.prop_map(Made::Unreadable),
    ]
}

pub(super) fn any_tape() -> impl Strategy<Value = Vec<Made>> {
    proptest::collection::vec(any_line(), 0..150)
}

/// The lookups that find an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Wanted {
    Kind(String),
    Named(String, String),
    Phase,
    Anchor,
}

/// A tape's bytes, and the entries that a reader must find there.
#[derive(Default)]
pub(super) struct Tape {
    pub(super) bytes: Vec<u8>,
    pub(super) entries: Vec<(EntryOffset, Entry)>,
    /// The newest entry for each thing that can be sought here, by its place among the entries.
    newest: HashMap<Wanted, usize>,
    info: Info,
    /// Where each line ends, its newline included.
    pub(super) ends: Vec<u64>,
}

impl Tape {
    pub(super) fn of(lines: &[Made]) -> Self {
        let mut tape = Self { info: Info { name: "T".to_owned(), ..Info::default() }, ..Self::default() };
        lines.iter().for_each(|line| tape.add(line));
        tape
    }

    fn add(&mut self, line: &Made) {
        match line {
            Made::Flood { anchors, from, count } => {
                for number in *from..from + count {
                    let name = format!("flood/{number}");
                    self.add(&match anchors {
                        true => Made::Anchor { name: Some(name), zone: number % 2 == 0 },
                        false => Made::Event { name, usage: None },
                    });
                }
            }
            Made::Unreadable(junk) => {
                self.info.unreadable += 1;
                self.bytes.extend(junk);
                self.end();
            }
            Made::Plain { kind } => self.entry(kind, None, r#"{"name": "name/1"}"#, "{}"),
            Made::Event { name, usage } => {
                let usage_member = usage.map(|usage| format!(r#""usage": {}"#, usage.json())).unwrap_or_default();
                self.entry(
                    "event",
                    Some(name),
                    &format!(r#"{{"name": {}, "data": {{{usage_member}}}}}"#, json::quote(name)),
                    "{}",
                );
                if let Some(Usage { total: Some(total), prompt, cached }) = *usage {
                    self.info.last_token_usage = Some(total.into());
                    self.info.total_tokens += u64::from(total);
                    let rate = |prompt: u32, cached: u32| (prompt > 0).then(|| f64::from(cached) / f64::from(prompt));
                    self.info.cache_hit_rate = prompt.zip(cached).and_then(|(prompt, cached)| rate(prompt, cached));
                }
            }
            Made::Anchor { name, zone } => {
                let payload = name.as_ref().map(|name| format!(r#""name": {}"#, json::quote(name))).unwrap_or_default();
                let by_name = name.as_ref().is_some_and(|name| name.starts_with("memory/"));
                let meta = if *zone && !by_name { r#"{"zone": true}"# } else { r#"{"zone": 1}"# };
                self.entry("anchor", name.as_deref(), &format!("{{{payload}}}"), meta);
                self.newest.insert(Wanted::Anchor, self.entries.len() - 1);
                if !zone {
                    self.newest.insert(Wanted::Phase, self.entries.len() - 1);
                    self.info.anchors += 1;
                    self.info.last_anchor = name.clone();
                    self.info.entries_since_last_anchor = 0;
                }
            }
        }
    }

    fn entry(&mut self, kind: &str, name: Option<&str>, payload: &str, meta: &str) {
        // Ids have gaps on old tapes.
        let id = self.entries.last().map_or(0, |(place, _)| place.id) + 1 + u64::from(self.ends.len() % 7 == 3);
        self.newest.insert(Wanted::Kind(kind.to_owned()), self.entries.len());
        if let Some(name) = name {
            self.newest.insert(Wanted::Named(kind.to_owned(), name.to_owned()), self.entries.len());
        }
        let [kind, payload, meta] = [kind, payload, meta].map(Arc::from);
        let entry = Entry { id, kind, payload, meta, date: "2026-11-21T02:36:22+00:00".into() };
        self.info.entries += 1;
        self.info.entries_since_last_anchor += 1;
        let offset = self.bytes.len() as u64;
        self.bytes.extend(entry.line().as_bytes());
        self.bytes.extend(if self.ends.len() % 5 == 1 { &b" \r"[..] } else { b"" });
        self.end();
        self.entries.push((EntryOffset { id, offset }, entry));
    }

    fn end(&mut self) {
        self.bytes.push(b'\n');
        self.ends.push(self.bytes.len() as u64);
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The result of a reader from the end.
    pub(super) fn scan(&self, lookup: &Lookup) -> Option<&(EntryOffset, Entry)> {
        let wanted = match lookup.clone() {
            Lookup::Kind(kind) => Wanted::Kind(kind),
            Lookup::Named { kind, name } => Wanted::Named(kind, name),
            Lookup::Phase => Wanted::Phase,
            Lookup::Anchor => Wanted::Anchor,
        };
        self.newest.get(&wanted).map(|place| &self.entries[*place])
    }

    /// All that can be sought here, and some that is not there.
    pub(super) fn lookup(&self) -> Vec<Lookup> {
        let mut all = vec![Lookup::Phase, Lookup::Anchor];
        for wanted in self.newest.keys() {
            match wanted.clone() {
                Wanted::Kind(kind) => all.push(Lookup::Kind(kind)),
                Wanted::Named(kind, name) => all.push(Lookup::Named { kind, name }),
                Wanted::Phase | Wanted::Anchor => {}
            }
        }
        for name in ["nothing", "", "name/1", "name/2", &"y".repeat(129)] {
            let named = |kind: &str| Lookup::Named { kind: kind.to_owned(), name: name.to_owned() };
            all.extend([Lookup::Kind(name.to_owned()), named("event"), named("anchor"), named("message")]);
        }
        all
    }

    /// Whether a summary may say that it does not know: too many names, or ones that are too long.
    pub(super) fn may_be_unknown(&self) -> impl Fn(&Lookup) -> bool {
        let (mut short, mut long) = (HashMap::<Option<String>, usize>::new(), HashSet::<Option<String>>::new());
        for wanted in self.newest.keys() {
            let (of, name) = match wanted {
                Wanted::Kind(kind) => (None, kind),
                Wanted::Named(kind, name) => (Some(kind.clone()), name),
                Wanted::Phase | Wanted::Anchor => continue,
            };
            if name.len() > 128 {
                long.insert(of);
            } else {
                *short.entry(of).or_default() += 1;
            }
        }
        move |lookup| {
            let (of, name, bound) = match lookup {
                Lookup::Phase | Lookup::Anchor => return false,
                Lookup::Kind(kind) => (None, kind, KINDS),
                Lookup::Named { kind, name } => (Some(kind.clone()), name, NAMES),
            };
            if name.len() > 128 { long.contains(&of) } else { short.get(&of).is_some_and(|count| *count > bound) }
        }
    }

    pub(super) fn check(&self, summary: &TapeSummary) {
        assert_eq!(summary.info("T"), self.info);
        let may_be_unknown = self.may_be_unknown();
        for lookup in self.lookup() {
            let place = self.scan(&lookup).map(|(place, _)| *place);
            match summary.newest(&lookup) {
                Newest::Known(found) => assert_eq!(Some(found), place, "{lookup:?}"),
                Newest::Nothing => assert_eq!(None, place, "{lookup:?}"),
                Newest::Unknown => assert!(may_be_unknown(&lookup), "{lookup:?}"),
            }
        }
    }
}
