//! An input of the fuzz target: the files of one tape.
//!
//! An input is the bytes of a tape. A line `=== NAME` begins another file; `=-= NAME` does the same, and takes the newline
//! before it away, so that what stands there ends without one. So every tape is an input, and an input can be read.
//!
//! A fuzzer does not guess checksums. The sections with a `+` hold the content that a checksum covers,
//! and get their checksums here.

use bub_tape::Index;
use serde_json::{Value, json};

/// No input is larger, in bytes: each takes milliseconds.
const LONGEST: usize = 128 * 1024;

/// The most lines that a `filler` section adds, about 1 KiB each: enough that what is remembered of a tape is asked.
const MOST_FILLER: u64 = 160;

/// The files of a tape. None: not there.
#[derive(Default)]
pub(crate) struct Input {
    pub(crate) tape: Vec<u8>,
    /// The pending commit, and whether its checksum holds.
    pub(crate) slot: Option<Vec<u8>>,
    pub(crate) slot_sealed: bool,
    /// A turn's journal, and whether its checksums hold.
    pub(crate) turn: Option<Vec<u8>>,
    pub(crate) turn_sealed: bool,
    pub(crate) torn: Option<Vec<u8>>,
    pub(crate) index: Option<Vec<u8>>,
    pub(crate) sidecar: Option<Vec<u8>>,
    /// The text of the search.
    pub(crate) ask: String,
}

impl Input {
    /// Cuts the bytes into files. `tape` and `sidecar` are the names that a slot calls the two files by.
    pub(crate) fn of(bytes: &[u8], tape: &str, sidecar: &str) -> Self {
        let mut input = Self::default();
        let (mut slots, mut records, mut index) = (None, None, None);
        let bytes = bytes.get(..LONGEST).unwrap_or(bytes);
        for (name, body) in sections(bytes) {
            match name {
                "tape" => input.tape.extend(body),
                "filler" => input.fill(&body),
                "slot" => input.slot = Some(body),
                "slot+" => slots = Some(body),
                "turn" => input.turn = Some(body),
                "turn+" => records = Some(body),
                "torn" => input.torn = Some(body),
                "index" => input.index = Some(body),
                "index+" => index = Some(body),
                "sidecar" => input.sidecar = Some(body),
                _ => input.ask = String::from_utf8_lossy(&body).trim_end_matches('\n').chars().take(80).collect(),
            }
        }
        // Behind the tapes, whose bytes the checksums are of.
        if let Some(places) = slots {
            let files = [(tape, &*input.tape), (sidecar, input.sidecar.as_deref().unwrap_or_default())];
            input.slot = Some(slot(&places, &files));
            input.slot_sealed = true;
        }
        if let Some(records) = records {
            input.turn = Some(journal(&records));
            input.turn_sealed = true;
        }
        if let Some(kept) = index {
            input.index = Some(kept_index(&kept, &input.tape));
        }
        input
    }

    /// Adds so many entries whose ids follow.
    fn fill(&mut self, count: &[u8]) {
        let count = String::from_utf8_lossy(count).trim().parse::<u64>().unwrap_or(0).min(MOST_FILLER);
        let lines = self.tape.split(|byte| *byte == b'\n').rev();
        let last = lines.filter_map(super::reader::entry).map(|entry| entry.id).next();
        if count > 0 && self.tape.last().is_some_and(|byte| *byte != b'\n') {
            self.tape.push(b'\n');
        }
        let words = "to and fro ".repeat(80);
        for id in (1..=count).filter_map(|step| last.unwrap_or(0).checked_add(step)) {
            let line = format!(
                r#"{{"id": {id}, "kind": "event", "payload": {{"name": "filler", "data": {{"n": {id}, "text": "{words}"}}}}, "meta": {{}}, "date": "2026-11-21T02:36:22+00:00"}}"#
            );
            self.tape.extend(line.as_bytes());
            self.tape.push(b'\n');
        }
    }
}

const NAMES: [&str; 11] =
    ["tape", "filler", "slot", "slot+", "turn", "turn+", "torn", "index", "index+", "sidecar", "ask"];

fn sections(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut sections = vec![("tape", Vec::new())];
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let marker = [&b"=== "[..], b"=-= "].into_iter().find_map(|marker| line.strip_prefix(marker));
        let name = marker.and_then(|name| NAMES.iter().find(|known| known.as_bytes() == name.trim_ascii_end()));
        let Some((_, body)) = sections.last_mut() else { break };
        match name {
            Some(name) => {
                if line.starts_with(b"=-=") {
                    body.pop_if(|byte| *byte == b'\n');
                }
                sections.push((name, Vec::new()));
            }
            None => body.extend(line),
        }
    }
    sections
}

/// A slot's two places, one a line. A block with the checksum 1 gets that of the bytes that stand there.
fn slot(places: &[u8], files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut slot = Vec::new();
    for (place, line) in String::from_utf8_lossy(places).lines().take(2).enumerate() {
        let mut text = line.to_owned();
        if let Ok(mut state) = serde_json::from_str::<Value>(line) {
            let blocks = state.pointer_mut("/pending/blocks").and_then(Value::as_array_mut);
            for block in blocks.into_iter().flatten() {
                let number = |key: &str| block.get(key).and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok());
                let range =
                    number("offset").zip(number("length")).and_then(|(at, size)| Some(at..at.checked_add(size)?));
                let name = block.get("file").and_then(Value::as_str).unwrap_or_default();
                let file = files.iter().find(|(file, _)| *file == name);
                let bytes = file.zip(range).and_then(|((_, bytes), range)| bytes.get(range));
                if let Some(bytes) = bytes.filter(|_| number("crc") == Some(1)) {
                    let sum = crc32fast::hash(bytes);
                    block["crc"] = json!(sum);
                }
            }
            text = state.to_string();
        }
        slot.resize(place * 4096, 0);
        slot.extend(format!("{:08x} {} {text}\n", crc32fast::hash(text.as_bytes()), text.len()).as_bytes());
    }
    slot
}

/// The records of a journal: `-- NAME` begins one, what follows is its body.
fn journal(records: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(records);
    let mut journal = Vec::new();
    for record in text.split("-- ").skip(1) {
        let (name, body) = record.split_once('\n').unwrap_or((record, ""));
        let body = body.strip_suffix('\n').unwrap_or(body);
        let sum = crc32fast::hash(&[name.as_bytes(), body.as_bytes()].concat());
        journal.extend(format!("{name} {} {sum:08x}\n{body}\n", body.len()).as_bytes());
    }
    journal
}

/// The index of a tape, fitted to the tape's beginning and to the end of the part that it covers.
fn kept_index(kept: &[u8], tape: &[u8]) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(kept).trim_end_matches('\n').to_owned();
    if let Ok(mut kept) = serde_json::from_str::<Value>(&text) {
        let length = kept.get("length").and_then(Value::as_u64).and_then(|length| usize::try_from(length).ok());
        if let Some(folded) = length.and_then(|length| tape.get(..length)) {
            let edge = folded.len().min(4096);
            let sum = |bytes: Option<&[u8]>| crc32fast::hash(bytes.unwrap_or_default());
            kept["edges"] = json!([sum(folded.get(..edge)), sum(folded.get(folded.len() - edge..))]);
            text = kept.to_string();
        }
    }
    let sum = crc32fast::hash(text.as_bytes());
    format!("{} {sum:08x}\n{text}\n", index_header()).into_bytes()
}

/// The beginning of an index, up to its checksum, in this version.
fn index_header() -> String {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let path = dir.path().join("index");
    Index::default().save(&path).expect("an index can be kept");
    let text = std::fs::read_to_string(path).expect("an index is text");
    let header = text.lines().next().and_then(|line| line.rsplit_once(' '));
    header.map_or_else(String::new, |(header, _)| header.to_owned())
}
