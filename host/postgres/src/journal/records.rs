//! The records of a turn on their way to the database.

use std::sync::Arc;
use std::time::Duration;

use bub_tape::{Error, Result};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio_postgres::types::{ToSql, Type};

use super::state::{Phase, TurnState};
use crate::lease::Fence;
use crate::store::damaged;

/// The call of the schema's function.
const APPEND: &str = concat!("SELECT append_journal_1($1, $2, $3, $4, $5), ", mark!());

/// How long records are collected, unless they are waited for or hurried.
const COLLECT: Duration = Duration::from_millis(50);

/// How long to wait after a failure.
const RETRY: Duration = Duration::from_millis(500);

/// How many failures in a row a waiter accepts.
const FAILURES: u64 = 3;

/// The bytes that were appended, and those that are in the database.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    written: u64,
    /// Failures in a row.
    failures: u64,
    is_over: bool,
}

/// The records of a turn.
pub(super) struct Records {
    buffer: Mutex<Buffer>,
    progress: watch::Sender<Progress>,
    /// There are records.
    some: Notify,
    /// They are waited for.
    urgent: Notify,
    /// The last failure.
    failure: Mutex<Option<String>>,
}

#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    appended: u64,
    /// Nothing more is written.
    is_done: bool,
}

impl Records {
    pub(super) fn new() -> Self {
        let progress = watch::channel(Progress::default()).0;
        let (some, urgent) = (Notify::new(), Notify::new());
        Self { buffer: Mutex::default(), progress, some, urgent, failure: Mutex::default() }
    }

    pub(super) fn append(&self, record: &[u8]) {
        let mut buffer = self.buffer.lock();
        buffer.bytes.extend_from_slice(record);
        buffer.appended += record.len() as u64;
        drop(buffer);
        self.some.notify_one();
    }

    /// Collects no further records before the next write.
    pub(super) fn hurry(&self) {
        self.urgent.notify_one();
    }

    /// The turn's entries are on the tape: nothing more needs to be written.
    pub(super) fn finish(&self) {
        let mut buffer = self.buffer.lock();
        buffer.is_done = true;
        buffer.bytes = Vec::new();
    }

    pub(super) fn is_done(&self) -> bool {
        self.buffer.lock().is_done
    }

    /// Waits until what was appended so far is in the database. The lease may be lost meanwhile.
    pub(super) async fn settle(&self, state: &TurnState) -> Result<()> {
        let mine = self.buffer.lock().appended;
        let mut progress = self.progress.subscribe();
        let failures = progress.borrow().failures;
        if progress.borrow().written >= mine {
            return Ok(());
        }
        self.urgent.notify_one();
        let reached = |progress: &Progress| {
            progress.written >= mine || progress.is_over || progress.failures >= failures.saturating_add(FAILURES)
        };
        tokio::select! {
            reached = progress.wait_for(reached) => match reached.map(|progress| *progress) {
                Ok(Progress { written, .. }) if written >= mine => Ok(()),
                Ok(Progress { is_over: true, .. }) | Err(_) => Err(match state.phase() {
                    Phase::Lost => state.fence().lost(),
                    Phase::Held | Phase::Released => Error::invalid("the turn is over"),
                }),
                Ok(_) => {
                    let reason = self.failure.lock().clone().unwrap_or_default();
                    Err(Error::Io { action: action(state.tape()), source: std::io::Error::other(reason) })
                }
            },
            () = state.lost() => Err(state.fence().lost()),
        }
    }

    /// Writes records behind the turn, until they are done or the lease is lost.
    pub(super) async fn write_behind(self: Arc<Self>, state: Arc<TurnState>) {
        self.parts(&state).await;
        self.end();
    }

    /// Nothing is written any more, so nothing is waited for.
    pub(super) fn end(&self) {
        self.progress.send_modify(|progress| progress.is_over = true);
    }

    async fn parts(&self, state: &TurnState) {
        let mut number = 0_i64;
        loop {
            self.some.notified().await;
            tokio::select! {
                () = tokio::time::sleep(COLLECT) => {}
                () = self.urgent.notified() => {}
            }
            let (bytes, appended) = {
                let mut buffer = self.buffer.lock();
                if buffer.is_done {
                    return;
                }
                (std::mem::take(&mut buffer.bytes), buffer.appended)
            };
            if bytes.is_empty() {
                continue;
            }
            number += 1;
            // The same part, until it is known to be there.
            loop {
                match write(state, number, &bytes).await {
                    Ok(true) => break,
                    Ok(false) => {
                        state.lose();
                        return;
                    }
                    Err(error) => {
                        *self.failure.lock() = Some(reason(error));
                        self.progress.send_modify(|progress| progress.failures += 1);
                        if state.phase() == Phase::Lost || self.is_done() {
                            return;
                        }
                        tokio::time::sleep(RETRY).await;
                    }
                }
            }
            self.progress.send_modify(|progress| (progress.written, progress.failures) = (appended, 0));
        }
    }
}

async fn write(state: &TurnState, part: i64, bytes: &[u8]) -> Result<bool> {
    let Fence { name, epoch, owner } = state.fence();
    let values: [(&(dyn ToSql + Sync), Type); 5] = [
        (name, Type::TEXT),
        (epoch, Type::INT8),
        (&owner.as_slice(), Type::BYTEA),
        (&part, Type::INT8),
        (&bytes, Type::BYTEA),
    ];
    let rows = state.reader().database().call(&action(state.tape()), APPEND, &values, true).await?;
    rows.first().ok_or_else(damaged)?.try_get(0).map_err(|_| damaged())
}

fn action(tape: &str) -> String {
    format!("write the journal of tape `{tape}`")
}

/// The error without its action, which a waiter's error has again.
fn reason(error: Error) -> String {
    match error {
        Error::Io { source, .. } => source.to_string(),
        error => error.to_string(),
    }
}
