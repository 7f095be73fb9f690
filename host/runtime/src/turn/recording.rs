//! The recording of a turn: handed to the thread that writes when all of the turn's calls have ended.

use super::data::Turn;
use crate::error::Failure;
use crate::host::Host;
use bub_config::RecordMode;
use bub_recordings::{Limits, Store, TurnRecord};
use bub_tape::{Note, tape_name};
use bub_types::is_ephemeral;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use tokio::runtime::Handle;

/// The version of the program, for recordings.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// The recordings of a home.
fn recordings(host: &Host) -> Store {
    Store::new(host.config.recordings_dir())
}

impl Turn {
    /// Whether it may be recorded.
    pub(super) fn is_collected(&self) -> bool {
        self.scope.recorder.is_some()
    }

    /// Adds a value, which holds about that many bytes, to the recording of the turn, if it is recorded. The value is made
    /// behind the answer.
    pub(super) fn record_object(&self, name: String, bytes: usize, value: impl FnOnce() -> Value + Send + 'static) {
        if let Some(recorder) = &self.scope.recorder {
            recorder.add_object(name, bytes, Box::new(value));
        }
    }

    /// Removes the recordings of the session, which is emptied; the running turn is not recorded.
    pub fn remove_recordings(&self) {
        if let Some(recorder) = &self.scope.recorder {
            recorder.discard();
        }
        let folder = tape_name(&self.workspace, &self.session_id);
        self.scope.host.recordings.writer.discard(&folder);
        recordings(&self.scope.host).remove_folder(&folder);
    }

    /// Has the recording written, if the turn is one that is recorded. Does not wait for that.
    pub(super) fn write_recording(&self, failure: Option<&Failure>) {
        let Some(recorder) = &self.scope.recorder else { return };
        let host = &self.scope.host;
        let is_wanted = match host.config.record {
            RecordMode::Off => false,
            RecordMode::Faults => failure.is_some() || recorder.is_broken(),
            RecordMode::All => true,
        };
        let is_wanted = is_wanted && !recorder.is_discarded();
        let collected = recorder.finish();
        // Of a session that is not kept, nothing is.
        if !is_wanted || is_ephemeral(&self.session_id) {
            return;
        }
        let turn = TurnRecord {
            folder: self.tape.name().to_owned(),
            session: self.session_id.clone(),
            runs: self.run_ids(),
            started_ms: self.started.timestamp().as_millisecond(),
            failure: failure.map(ToString::to_string),
            ..TurnRecord::default()
        };
        let (session, writer, runtime) = (&self.session_id, host.clone(), Handle::current());
        let (folder, ended) = (turn.folder.clone(), SystemTime::now());
        let job = move |is_discarded: &AtomicBool| {
            let (calls, objects) = collected.into_records();
            write(&writer, &runtime, TurnRecord { calls, objects, ..turn }, (ended, is_discarded));
        };
        if !host.recordings.writer.is_started() {
            // An erasure of another process finds it from now on.
            recordings(host).make_dir();
        }
        if !host.recordings.writer.submit(&folder, recorder.bytes(), job) {
            tracing::warn!("a turn of session `{session}` is not recorded: too many wait to be written");
        }
    }
}

/// Writes a turn that has ended then, unless it is discarded.
fn write(host: &Arc<Host>, runtime: &Handle, turn: TurnRecord, (ended, is_discarded): (SystemTime, &AtomicBool)) {
    let store = recordings(host);
    match store.write(turn, PROGRAM, &|text| host.config.redact(text)) {
        Ok(written) if is_discarded.load(Ordering::SeqCst) => store.discard(&written),
        // Another process may have erased what the turn was about while it waited, and cannot know of it.
        Ok(written) if store.has_erased_since(ended) => {
            store.discard(&written);
            tracing::warn!("a turn of session `{}` is not recorded: something was erased meanwhile", written.session);
        }
        Ok(written) => {
            let note = Note::Recording { turn: written.name, digest: written.digest };
            if let Err(error) = runtime.block_on(host.note(&written.folder, note)) {
                tracing::warn!("a recording is not on the chain of its session: {error}");
            }
            let settings = &host.config.recordings;
            let max_age = Duration::from_secs(settings.days.saturating_mul(24 * 3600));
            host.recordings.prune(&store, written.bytes, Limits { max_bytes: settings.max_bytes, max_age });
        }
        Err(error) => tracing::warn!("a turn is not recorded: {error:#}"),
    }
}
