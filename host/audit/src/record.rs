//! One record of a chain: an entry of the sidecar `chain`, which names the digests of the entries that one write added.

use bub_tape::{Draft, Entry, Error, Result, event, json, now};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::digest::{is_digest, record_digest};

/// The event of a record.
const EVENT: &str = "chain";

/// The meta of a record's entry.
const META: &str = r#"{"context": false}"#;

/// The part that stands for the tape itself; others are names of its sidecars.
pub const TAPE: &str = "";

/// What one write has added to the chain. All fields but the first four may be absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The id of the chain, which a reset replaces.
    pub chain: String,
    /// The position in the chain, from 1: the id of the record's entry.
    pub seq: u64,
    /// The digest of the record before, or zeros.
    pub prev: String,
    /// When it was made, as the date of its entry.
    pub at: String,
    /// Entries that this program wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrote: Vec<Span>,
    /// Entries that were there without being on the chain: another program wrote them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<Span>,
    /// Entries that were there too, and are so many that their digests are not named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Range>,
    /// Parts that were shorter than the chain says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Range>,
    /// Entries that are about to be erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erased: Option<Erased>,
    /// The erasure in that record did not happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<u64>,
    /// Sidecars that were emptied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleared: Vec<String>,
    /// The tape was reset: the chains that came before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<ResetMark>,
    /// The tape is a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<ForkMark>,
    /// A recording of a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingMark>,
    /// The chain could not be read, and begins anew behind what is there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broken: bool,
    /// The last id of each part that the chain knows, after this record.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ends: BTreeMap<String, u64>,
}

/// Digests of entries with consecutive ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// The tape or a sidecar.
    pub part: String,
    /// The id of the first entry.
    pub first: u64,
    /// SHA-256 of each, in hex.
    pub sums: Vec<String>,
}

/// Ids of a part, after `from` up to `to`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The tape or a sidecar.
    pub part: String,
    /// The id before the first.
    pub from: u64,
    /// The last id.
    pub to: u64,
}

/// An erasure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Erased {
    /// The tape or a sidecar.
    pub part: String,
    /// Entries that are removed.
    pub ids: Vec<u64>,
    /// Entries that stay without their words, with their digests from then on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blank: Vec<(u64, String)>,
}

/// A reset of the tape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResetMark {
    /// The name of the archive, if the entries were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// The chains before this one, the latest last.
    pub past: Vec<PastChain>,
}

/// The end of a chain that a reset replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PastChain {
    /// Its id.
    pub chain: String,
    /// Its last record.
    pub seq: u64,
    /// The digest of that record.
    pub hash: String,
}

/// The origin of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForkMark {
    /// The tape that was copied.
    pub from: String,
    /// The last entry that was copied; all without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<u64>,
    /// The head of its chain, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<PastChain>,
}

/// The recording of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordingMark {
    /// The turn.
    pub turn: String,
    /// SHA-256 of the recording's manifest, in hex.
    pub digest: String,
}

/// A record as it was read, with its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The record.
    pub record: Record,
    /// Its digest, which the next record names.
    pub hash: String,
}

impl Record {
    /// The draft of its entry, and its digest. Its date becomes that of the entry.
    ///
    /// # Errors
    ///
    /// None in practice: a record is valid JSON.
    pub fn seal(mut self) -> Result<(Draft, String)> {
        self.at = now();
        let text = serde_json::to_string(&self).map_err(|error| Error::invalid(error.to_string()))?;
        let text = json::normalise(&text)?;
        let hash = record_digest(&text);
        let draft = event(EVENT, &data(&text, &hash))?.with_meta("context", "false")?.dated(self.at);
        Ok((draft, hash))
    }
}

impl Sealed {
    /// The record of that entry; `None` if a byte of it is not as this program writes it.
    pub fn parse(entry: &Entry) -> Option<Self> {
        let data_text = json::get(&entry.payload, "data")?;
        let text = json::get(data_text, "record")?;
        let hash = record_digest(text);
        let payload = format!(r#"{{"name": "{EVENT}", "data": {}}}"#, data(text, &hash));
        let record: Record = serde_json::from_str(text).ok()?;
        let is_whole = *entry.payload == *payload
            && entry.is("event")
            && *entry.meta == *META
            && *entry.date == *record.at
            && entry.id == record.seq
            && is_digest(&record.prev);
        is_whole.then_some(Self { record, hash })
    }
}

fn data(record: &str, hash: &str) -> String {
    format!(r#"{{"record": {record}, "hash": "{hash}"}}"#)
}
