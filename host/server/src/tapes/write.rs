//! What another host writes that keeps its tapes here: all of a write or nothing, and once, however often it is sent.

use super::super::Problem;
use super::super::body::{self, CallerClass};
use super::super::extract::{Caller, Named};
use super::reaches;
use axum::Json;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bub_config::Scope;
use bub_tape::{Batch, Commit, Draft, Entry, Error, Outcome, Reset, Store, check_tape_name};
use serde::Deserialize;
use serde_json::json;
use std::collections::VecDeque;
use std::str::Lines;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// A write, in bytes: more than a guest can hold.
const MOST: usize = 64 << 20;

/// Tapes that one write can be about: one with all its sidecars.
const BATCHES: u64 = 1024;

/// How long a write without a key of its own is known again, and how many of them.
const MEMORY: (Duration, usize) = (Duration::from_secs(600), 4096);

/// What no tape's last id can be.
const NO_ID: u64 = i64::MAX as u64 - 1;

/// Writes without a key of their own that were stored lately.
#[derive(Default)]
pub(crate) struct Answered {
    /// One write at a time: what is checked must hold until it is written.
    writing: tokio::sync::Mutex<()>,
    known: std::sync::Mutex<VecDeque<(Instant, String)>>,
}

impl Answered {
    fn knows(&self, name: &str) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        while known.front().is_some_and(|(since, _)| since.elapsed() > MEMORY.0) || known.len() >= MEMORY.1 {
            known.pop_front();
        }
        known.iter().any(|(_, other)| other == name)
    }

    fn learn(&self, name: String) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).push_back((Instant::now(), name));
    }
}

/// What the first line says.
#[derive(Deserialize)]
struct Head {
    key: Option<String>,
    batches: u64,
}

/// What the line in front of a batch says.
#[derive(Deserialize)]
struct About {
    tape: String,
    last: Option<u64>,
    reset: Option<Emptied>,
    entries: u64,
}

#[derive(Deserialize)]
struct Emptied {
    archive: Option<String>,
    kept: u64,
}

/// A batch, as it was sent.
struct Sent {
    about: About,
    kept: Vec<Entry>,
    entries: Vec<Entry>,
}

/// Writes to a tape and its sidecars.
pub(crate) async fn write(
    Caller { api, bearer }: Caller,
    Named(tape): Named,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, Problem> {
    bearer.needs(Scope::Admin)?;
    reaches(&api, &bearer, &tape)?;
    if tape.contains(".jsonl") {
        return Err(Problem::bad(format!("`{tape}` is an archive: it is never written again")));
    }
    let received = body::read(&api, sent, CallerClass::of(&bearer), MOST).await?;
    let name = tape.clone();
    let parse_all = move |bytes: Vec<u8>| {
        let text = std::str::from_utf8(&bytes).map_err(|_| Problem::bad("the body is no UTF-8"))?;
        let (key, batches) = parse(text)?;
        batches.iter().try_for_each(|batch| check(&name, batch))?;
        Ok((key, batches))
    };
    let ((key, batches), _charge) = body::work(&api, received.bytes, received.charge, parse_all).await?;
    let own = batches.iter().find(|batch| batch.about.tape == tape).and_then(|batch| batch.about.last);
    let said = |name| headers.get(name).map(|value: &header::HeaderValue| value.as_bytes().to_vec());
    if said(header::IF_MATCH) != own.map(|last| format!("\"{last}\"").into_bytes()) {
        return Err(Problem::bad("`If-Match` and the body do not say the same"));
    }
    let store = Arc::clone(api.gateway.host().tapes().store());
    let _one_at_a_time = api.answered.writing.lock().await;
    let name = match (&key, said(header::HeaderName::from_static("idempotency-key"))) {
        // A key of its own is kept by the tape.
        (Some(_), _) | (None, None) => None,
        (None, Some(name)) => Some(format!("{tape}/{}", String::from_utf8_lossy(&name))),
    };
    if name.as_ref().is_some_and(|name| api.answered.knows(name)) {
        return Ok(outcome("stored"));
    }
    let answer = store_all(&*store, &tape, key, batches).await?;
    if let (Some(name), StatusCode::OK) = (name, answer.status()) {
        api.answered.learn(name);
    }
    Ok(answer)
}

fn outcome(outcome: &str) -> Response {
    Json(json!({ "outcome": outcome })).into_response()
}

/// Takes the body apart.
fn parse(text: &str) -> Result<(Option<String>, Vec<Sent>), Problem> {
    let wrong = || Problem::bad("the body is no write: `guests/tapes-http/README.md` says how one is spelled");
    let mut lines = text.lines();
    let head: Head = lines.next().and_then(|line| serde_json::from_str(line).ok()).ok_or_else(wrong)?;
    if head.batches > BATCHES {
        return Err(Problem::bad(format!("a write has at most {BATCHES} batches, not {}", head.batches)));
    }
    let mut batches = Vec::new();
    for _ in 0..head.batches {
        let about: About = lines.next().and_then(|line| serde_json::from_str(line).ok()).ok_or_else(wrong)?;
        let kept = about.reset.as_ref().map_or(0, |reset| reset.kept);
        let kept = take(&mut lines, kept).ok_or_else(wrong)?;
        let entries = take(&mut lines, about.entries).ok_or_else(wrong)?;
        batches.push(Sent { about, kept, entries });
    }
    match lines.next() {
        None => Ok((head.key, batches)),
        Some(_) => Err(wrong()),
    }
}

fn take(lines: &mut Lines<'_>, count: u64) -> Option<Vec<Entry>> {
    (0..count).map(|_| Entry::parse(lines.next()?)).collect()
}

/// What can be seen of a batch without looking at the tapes.
fn check(tape: &str, batch: &Sent) -> Result<(), Problem> {
    let about = &batch.about;
    let is_of_it =
        about.tape == tape || about.tape.strip_prefix(tape).is_some_and(|end| end.starts_with("__sidecar__"));
    if !is_of_it {
        return Err(Problem::bad("the write is for another tape than the path"));
    }
    check_tape_name(&about.tape)?;
    // It becomes a file's name: another tape's, or one elsewhere, must not be meant by it.
    let is_archive = |archive: &String| {
        let end = archive.strip_prefix(&about.tape).unwrap_or_default();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        end.starts_with(".jsonl.") && end.len() <= 40 && end.bytes().all(is_plain) && !end.contains("..")
    };
    if let Some(archive) = about.reset.iter().flat_map(|reset| &reset.archive).find(|archive| !is_archive(archive)) {
        let shown: String = archive.chars().take(64).flat_map(char::escape_debug).collect();
        return Err(Problem::bad(format!("`{shown}` is no name of an archive of `{}`", about.tape)));
    }
    if !(follow(&batch.kept) && follow(&batch.entries)) {
        return Err(Problem::bad("the ids do not follow each other"));
    }
    Ok(())
}

fn follow(entries: &[Entry]) -> bool {
    let first = entries.first().map_or(1, |entry| entry.id);
    first > 0 && (first..).zip(entries).all(|(id, entry)| entry.id == id)
}

async fn store_all(
    store: &dyn Store,
    tape: &str,
    key: Option<String>,
    batches: Vec<Sent>,
) -> Result<Response, Problem> {
    let does_nothing =
        |batch: &Sent| batch.about.reset.is_none() && batch.entries.is_empty() && batch.about.last.is_none();
    if key.is_none() && batches.iter().all(does_nothing) {
        store.check_writable(tape).await?;
        return Ok(outcome("stored"));
    }
    let is_emptied = batches.iter().any(|batch| batch.about.tape == tape && batch.about.reset.is_some());
    let mut lasts = Vec::with_capacity(batches.len());
    for batch in &batches {
        lasts.push(store.last_id(&batch.about.tape).await?);
    }
    let conflict = || (StatusCode::PRECONDITION_FAILED, Json(json!({ "last": lasts }))).into_response();
    let mut commit = Commit { key, batches: Vec::with_capacity(batches.len()) };
    for (Sent { about, kept, entries }, now) in batches.into_iter().zip(&lasts) {
        let empties = is_emptied || about.reset.is_some();
        let first = entries.first().map(|entry| entry.id);
        if empties && first.is_some_and(|first| first != 1) {
            return Err(Problem::bad("the ids of a tape that is emptied begin with 1"));
        }
        let behind = kept.first().map(|entry| entry.id - 1);
        let last = about.last.or(if empties { behind } else { first.map(|first| first - 1) });
        let is_behind = |first: Option<u64>| first.is_none_or(|first| Some(first) == last.map(|last| last + 1));
        if !is_behind(kept.first().map(|entry| entry.id)) || !(empties || is_behind(first)) {
            return Err(Problem::bad("the ids do not follow `last`"));
        }
        // A store counts from 0 on a tape that it empties.
        if empties && last.is_some_and(|last| last != *now) {
            return if is_done(store, tape, commit.key).await? { Ok(outcome("already")) } else { Ok(conflict()) };
        }
        let drafts = |entries: Vec<Entry>| entries.into_iter().map(Draft::from).collect::<Vec<_>>();
        commit.batches.push(Batch {
            tape: about.tape,
            reset: about.reset.map(|reset| Reset { archive: reset.archive, kept: drafts(kept) }),
            drafts: drafts(entries),
            expect_last: last.filter(|_| !empties),
        });
    }
    match store.commit(commit).await {
        Ok(Outcome::Stored(_)) => Ok(outcome("stored")),
        Ok(Outcome::Already) => Ok(outcome("already")),
        Err(Error::Conflict { .. }) => Ok(conflict()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a write of that key was done: asked by a write that no tape takes, since a key is looked at first.
async fn is_done(store: &dyn Store, tape: &str, key: Option<String>) -> Result<bool, Problem> {
    if key.is_none() {
        return Ok(false);
    }
    let asking = Batch { tape: tape.to_owned(), expect_last: Some(NO_ID), ..Batch::default() };
    match store.commit(Commit { key, batches: vec![asking] }).await {
        Ok(Outcome::Already) => Ok(true),
        Ok(Outcome::Stored(_)) | Err(Error::Conflict { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
