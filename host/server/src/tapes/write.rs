//! The tape store protocol, writing: each write is atomic and idempotent. `guests/tapes-http/README.md` defines it.

use super::super::ApiError;
use super::super::body::{self, CallerClass};
use super::super::extract::{Caller, PathName};
use super::check_reach;
use axum::Json;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bub_config::Scope;
use bub_tape::{Batch, Commit, Draft, Entry, Error, Outcome, Reset, Store, check_tape_name};
use bub_types::text::escaped;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use std::collections::VecDeque;
use std::str::Lines;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The largest body, in bytes: more than a guest can hold.
const MAX_BODY: usize = 64 << 20;

/// Batches of one write: a tape and its sidecars.
const MAX_BATCHES: u64 = 1024;

/// How long a write without a commit key is deduplicated, and how many of them.
const DEDUP_AGE: Duration = Duration::from_secs(600);
const DEDUP_CAPACITY: usize = 4096;

/// An id that no tape reaches.
const NO_ID: u64 = i64::MAX as u64 - 1;

/// Deduplicates recent writes without a commit key, by their `Idempotency-Key`.
#[derive(Default)]
pub(crate) struct WriteDedup {
    /// Serializes writes, so that a check holds until the write.
    write_lock: tokio::sync::Mutex<()>,
    recent: Mutex<VecDeque<(Instant, String)>>,
}

impl WriteDedup {
    fn contains(&self, key: &str) -> bool {
        let mut recent = self.recent.lock();
        while recent.front().is_some_and(|(since, _)| since.elapsed() > DEDUP_AGE) || recent.len() >= DEDUP_CAPACITY {
            recent.pop_front();
        }
        recent.iter().any(|(_, other)| other == key)
    }

    fn insert(&self, key: String) {
        self.recent.lock().push_back((Instant::now(), key));
    }
}

/// The first line of a write.
#[derive(Deserialize)]
struct WriteHeader {
    key: Option<String>,
    batches: u64,
}

/// The line before a batch.
#[derive(Deserialize)]
struct BatchHeader {
    tape: String,
    last: Option<u64>,
    reset: Option<ResetHeader>,
    entries: u64,
}

#[derive(Deserialize)]
struct ResetHeader {
    archive: Option<String>,
    kept: u64,
}

/// A batch of a write.
struct ReceivedBatch {
    header: BatchHeader,
    kept: Vec<Entry>,
    entries: Vec<Entry>,
}

/// `POST /v1/tapes/{tape}/entries`: writes to a tape and its sidecars.
pub(crate) async fn write(
    Caller { api, bearer }: Caller,
    PathName(tape): PathName,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, ApiError> {
    bearer.needs(Scope::Admin)?;
    check_reach(&api, &bearer, &tape).await?;
    if tape.contains(".jsonl") {
        return Err(ApiError::bad_request(format!("`{tape}` is an archive, which is read-only")));
    }
    let received = body::read(&api, sent, CallerClass::from_bearer(&bearer), MAX_BODY).await?;
    let name = tape.clone();
    let parse_all = move |bytes: Vec<u8>| {
        let text = std::str::from_utf8(&bytes).map_err(|_| ApiError::bad_request("the body is not UTF-8"))?;
        let (key, batches) = parse(text)?;
        batches.iter().try_for_each(|batch| check(&name, batch))?;
        Ok((key, batches))
    };
    let ((key, batches), _charge) = body::process(&api, received.bytes, received.charge, parse_all).await?;
    let last = batches.iter().find(|batch| batch.header.tape == tape).and_then(|batch| batch.header.last);
    let header = |name| headers.get(name).map(|value: &header::HeaderValue| value.as_bytes().to_vec());
    if header(header::IF_MATCH) != last.map(|last| format!("\"{last}\"").into_bytes()) {
        return Err(ApiError::bad_request("`If-Match` and the body name different ids"));
    }
    let store = Arc::clone(api.gateway.host().tapes().store());
    let _serialized = api.write_dedup.write_lock.lock().await;
    let dedup_key = match (&key, header(header::HeaderName::from_static("idempotency-key"))) {
        // The tape store deduplicates by the commit key.
        (Some(_), _) | (None, None) => None,
        (None, Some(key)) => Some(format!("{tape}/{}", String::from_utf8_lossy(&key))),
    };
    if dedup_key.as_ref().is_some_and(|key| api.write_dedup.contains(key)) {
        return Ok(outcome("stored"));
    }
    let response = store_all(&*store, &tape, key, batches).await?;
    if let (Some(key), StatusCode::OK) = (dedup_key, response.status()) {
        api.write_dedup.insert(key);
    }
    Ok(response)
}

fn outcome(outcome: &str) -> Response {
    Json(json!({ "outcome": outcome })).into_response()
}

/// Parses the body.
fn parse(text: &str) -> Result<(Option<String>, Vec<ReceivedBatch>), ApiError> {
    let wrong = || ApiError::bad_request("the body is not a write: `guests/tapes-http/README.md` defines the format");
    let mut lines = text.lines();
    let header: WriteHeader = lines.next().and_then(|line| serde_json::from_str(line).ok()).ok_or_else(wrong)?;
    if header.batches > MAX_BATCHES {
        return Err(ApiError::bad_request(format!(
            "a write has at most {MAX_BATCHES} batches, not {}",
            header.batches
        )));
    }
    let mut batches = Vec::new();
    for _ in 0..header.batches {
        let batch: BatchHeader = lines.next().and_then(|line| serde_json::from_str(line).ok()).ok_or_else(wrong)?;
        let kept = batch.reset.as_ref().map_or(0, |reset| reset.kept);
        let kept = take(&mut lines, kept).ok_or_else(wrong)?;
        let entries = take(&mut lines, batch.entries).ok_or_else(wrong)?;
        batches.push(ReceivedBatch { header: batch, kept, entries });
    }
    match lines.next() {
        None => Ok((header.key, batches)),
        Some(_) => Err(wrong()),
    }
}

fn take(lines: &mut Lines<'_>, count: u64) -> Option<Vec<Entry>> {
    (0..count).map(|_| Entry::parse(lines.next()?)).collect()
}

/// Checks a batch without reading the tapes.
fn check(tape: &str, batch: &ReceivedBatch) -> Result<(), ApiError> {
    let header = &batch.header;
    let is_own =
        header.tape == tape || header.tape.strip_prefix(tape).is_some_and(|end| end.starts_with("__sidecar__"));
    if !is_own {
        return Err(ApiError::bad_request("the write is for another tape than the path"));
    }
    check_tape_name(&header.tape)?;
    // It becomes the name of a file, which must not be that of another tape or in another directory.
    let is_archive = |archive: &String| {
        let end = archive.strip_prefix(&header.tape).unwrap_or_default();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        end.starts_with(".jsonl.") && end.len() <= 40 && end.bytes().all(is_plain) && !end.contains("..")
    };
    if let Some(archive) = header.reset.iter().flat_map(|reset| &reset.archive).find(|archive| !is_archive(archive)) {
        let shown = escaped(archive, 64);
        return Err(ApiError::bad_request(format!("`{shown}` is not a name of an archive of `{}`", header.tape)));
    }
    if !(are_consecutive(&batch.kept) && are_consecutive(&batch.entries)) {
        return Err(ApiError::bad_request("the ids are not consecutive"));
    }
    Ok(())
}

fn are_consecutive(entries: &[Entry]) -> bool {
    let first = entries.first().map_or(1, |entry| entry.id);
    first > 0 && (first..).zip(entries).all(|(id, entry)| entry.id == id)
}

async fn store_all(
    store: &dyn Store,
    tape: &str,
    key: Option<String>,
    batches: Vec<ReceivedBatch>,
) -> Result<Response, ApiError> {
    let does_nothing =
        |batch: &ReceivedBatch| batch.header.reset.is_none() && batch.entries.is_empty() && batch.header.last.is_none();
    if key.is_none() && batches.iter().all(does_nothing) {
        store.check_writable(tape).await?;
        return Ok(outcome("stored"));
    }
    let is_reset = batches.iter().any(|batch| batch.header.tape == tape && batch.header.reset.is_some());
    let mut lasts = Vec::with_capacity(batches.len());
    for batch in &batches {
        lasts.push(store.last_id(&batch.header.tape).await?);
    }
    let conflict = || (StatusCode::PRECONDITION_FAILED, Json(json!({ "last": lasts }))).into_response();
    let mut commit = Commit { key, batches: Vec::with_capacity(batches.len()) };
    for (ReceivedBatch { header, kept, entries }, now) in batches.into_iter().zip(&lasts) {
        let resets = is_reset || header.reset.is_some();
        let first = entries.first().map(|entry| entry.id);
        if resets && first.is_some_and(|first| first != 1) {
            return Err(ApiError::bad_request("the ids of a tape that is reset start with 1"));
        }
        let before_kept = kept.first().map(|entry| entry.id - 1);
        let last = header.last.or(if resets { before_kept } else { first.map(|first| first - 1) });
        let follows_last = |first: Option<u64>| first.is_none_or(|first| Some(first) == last.map(|last| last + 1));
        if !follows_last(kept.first().map(|entry| entry.id)) || !(resets || follows_last(first)) {
            return Err(ApiError::bad_request("the ids do not follow `last`"));
        }
        // After a reset, a store expects the last id 0, so the conflict is found here.
        if resets && last.is_some_and(|last| last != *now) {
            return if is_committed(store, tape, commit.key).await? { Ok(outcome("already")) } else { Ok(conflict()) };
        }
        let drafts = |entries: Vec<Entry>| entries.into_iter().map(Draft::from).collect::<Vec<_>>();
        commit.batches.push(Batch {
            tape: header.tape,
            reset: header.reset.map(|reset| Reset { archive: reset.archive, kept: drafts(kept) }),
            drafts: drafts(entries),
            expect_last: last.filter(|_| !resets),
        });
    }
    match store.commit(commit).await {
        Ok(Outcome::Stored(_)) => Ok(outcome("stored")),
        Ok(Outcome::Already) => Ok(outcome("already")),
        Err(Error::Conflict { .. }) => Ok(conflict()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a write with that key was committed: probed by a write that conflicts, because the store checks the key first.
async fn is_committed(store: &dyn Store, tape: &str, key: Option<String>) -> Result<bool, ApiError> {
    if key.is_none() {
        return Ok(false);
    }
    let probe = Batch { tape: tape.to_owned(), expect_last: Some(NO_ID), ..Batch::default() };
    match store.commit(Commit { key, batches: vec![probe] }).await {
        Ok(Outcome::Already) => Ok(true),
        Ok(Outcome::Stored(_)) | Err(Error::Conflict { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
