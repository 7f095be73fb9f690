//! Records of a journal: a line with type, length and checksum, then the body.

use serde_json::{Value, json};

use super::super::draft::Draft;
use super::super::entry::{self, Entry};
use super::super::store::{Batch, Reset};

/// A record of a journal.
#[derive(Debug, PartialEq)]
pub(super) enum Record {
    /// A turn began. First in a journal.
    Begin { key: String, pid: u32, date: String },
    /// A write was acknowledged.
    Commit(Vec<Batch>),
    /// The user's message.
    Prompt(String),
    /// A tool with an effect was about to run: its call, as JSON.
    Tool(String),
}

impl Record {
    pub(super) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Begin { key, pid, date } => {
                encode("begin", json!({ "key": key, "pid": pid, "date": date }).to_string())
            }
            Self::Commit(batches) => encode_commit(batches),
            Self::Prompt(text) => encode("prompt", text.clone()),
            Self::Tool(call) => encode("tool", call.clone()),
        }
    }

    fn decode(name: &str, body: &str) -> Option<Self> {
        Some(match name {
            "begin" => {
                let body: Value = serde_json::from_str(body).ok()?;
                let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
                let pid = body.get("pid").and_then(Value::as_u64).and_then(|pid| pid.try_into().ok())?;
                Self::Begin { key: text("key")?, pid, date: text("date")? }
            }
            "commit" => Self::Commit(decode_batches(body)?),
            "prompt" => Self::Prompt(body.to_owned()),
            "tool" => Self::Tool(body.to_owned()),
            _ => return None,
        })
    }
}

/// The records of a journal up to the first truncated or corrupt one.
pub(super) fn parse(bytes: &[u8]) -> impl Iterator<Item = Record> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (record, behind) = next(rest)?;
        rest = behind;
        Some(record)
    })
}

/// The process that began the turn, by the beginning of its journal.
pub(super) fn holder(bytes: &[u8]) -> Option<u32> {
    match next(bytes)? {
        (Record::Begin { pid, .. }, _) => Some(pid),
        _ => None,
    }
}

fn next(bytes: &[u8]) -> Option<(Record, &[u8])> {
    let end = bytes.iter().take(64).position(|byte| *byte == b'\n')?;
    let (line, rest) = (bytes.get(..end)?, bytes.get(end + 1..)?);
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (name, length, sum) = (words.next()?, words.next()?.parse::<usize>().ok()?, words.next()?);
    let body = rest.get(..length)?;
    let rest = rest.get(length..)?.strip_prefix(b"\n")?;
    if sum != format!("{:08x}", checksum(name, body)) {
        return None;
    }
    Some((Record::decode(name, std::str::from_utf8(body).ok()?)?, rest))
}

fn checksum(name: &str, body: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(name.as_bytes());
    sum.update(body);
    sum.finalize()
}

/// Encodes [`Record::Commit`]. Batches may be megabytes long, so the buffer is allocated once.
pub(super) fn encode_commit(batches: &[Batch]) -> Vec<u8> {
    let kept = batches.iter().filter_map(|batch| batch.reset.as_ref()).flat_map(|reset| &reset.kept);
    let drafts = kept.chain(batches.iter().flat_map(|batch| &batch.drafts));
    let room: usize = drafts.map(Draft::room).sum();
    let mut body = String::with_capacity(room + 512 * (batches.len() + 1));
    batches.iter().for_each(|batch| encode_batch(&mut body, batch));
    encode("commit", body)
}

fn encode(name: &str, mut body: String) -> Vec<u8> {
    let head = format!("{name} {} {:08x}\n", body.len(), checksum(name, body.as_bytes()));
    body.insert_str(0, &head);
    body.push('\n');
    body.into_bytes()
}

/// A line for the batch, then one line per draft, in the tape's own format, which preserves every byte.
fn encode_batch(text: &mut String, batch: &Batch) {
    let reset = batch.reset.as_ref().map(|reset| json!({ "archive": reset.archive, "kept": reset.kept.len() }));
    let reset = reset.map_or_else(|| "null".to_owned(), |reset| reset.to_string());
    let (tape, drafts) = (super::super::json::quote(&batch.tape), batch.drafts.len());
    text.push_str(&format!("{{\"tape\":{tape},\"reset\":{reset},\"drafts\":{drafts}}}\n"));
    let kept = batch.reset.iter().flat_map(|reset| &reset.kept);
    for draft in kept.chain(&batch.drafts) {
        entry::push_line(text, 0, draft.kind(), draft.payload(), draft.meta(), draft.date());
        text.push('\n');
    }
}

fn decode_batches(body: &str) -> Option<Vec<Batch>> {
    let mut lines = body.lines();
    let mut batches = Vec::new();
    while let Some(head) = lines.next() {
        let head: Value = serde_json::from_str(head).ok()?;
        let count = |value: &Value, key: &str| value.get(key).and_then(Value::as_u64);
        let mut drafts = |count: u64| -> Option<Vec<Draft>> {
            (0..count).map(|_| Entry::parse(lines.next()?).map(Draft::from)).collect()
        };
        let reset = match head.get("reset").filter(|reset| reset.is_object()) {
            Some(reset) => Some(Reset {
                archive: reset.get("archive").and_then(Value::as_str).map(str::to_owned),
                kept: drafts(count(reset, "kept")?)?,
            }),
            None => None,
        };
        let tape = head.get("tape")?.as_str()?.to_owned();
        batches.push(Batch { tape, reset, drafts: drafts(count(&head, "drafts")?)?, expect_last: None });
    }
    Some(batches)
}
