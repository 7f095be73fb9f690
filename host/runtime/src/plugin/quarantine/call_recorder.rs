//! Records the arguments of a call, for a crash report.

use crate::plugin::recording::CallRecording;
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Records the arguments of a call, in case it faults.
#[derive(Clone, Default)]
pub struct CallRecorder {
    kept: Arc<Mutex<Option<Value>>>,
    /// Takes them in any case.
    recording: CallRecording,
    /// The sizes of arguments and answer as JSON, in bytes; `None` where they are not counted.
    sizes: Option<Arc<Sizes>>,
}

#[derive(Default)]
struct Sizes {
    arguments: AtomicU64,
    answer: AtomicU64,
}

/// Records the arguments when it is dropped without [`RecordGuard::discard`]: when the guest traps or its deadline ends
/// it.
pub struct RecordGuard<F: FnOnce() -> Value> {
    recorder: CallRecorder,
    arguments: Option<F>,
    /// The arguments, where they were told already.
    told: Option<Arc<Value>>,
}

impl CallRecorder {
    /// For a call that may be recorded as a whole.
    pub fn for_call(recording: CallRecording) -> Self {
        Self { kept: Arc::default(), recording, sizes: None }
    }

    /// Measures the call too.
    pub fn measure(&mut self) {
        self.sizes = Some(Arc::default());
    }

    /// The sizes of arguments and answer so far, as JSON, in bytes; zero where they are not measured.
    pub fn sizes(&self) -> (u64, u64) {
        let size = |size: &AtomicU64| size.load(Ordering::Relaxed);
        self.sizes.as_ref().map_or((0, 0), |sizes| (size(&sizes.arguments), size(&sizes.answer)))
    }

    /// Records `arguments` unless [`RecordGuard::discard`] is called.
    pub fn record<F: FnOnce() -> Value>(&self, arguments: F) -> RecordGuard<F> {
        if (self.recording.is_on() && !self.is_late()) || self.sizes.is_some() {
            let told = Arc::new(arguments());
            self.recording.arguments(&told);
            if let Some(sizes) = &self.sizes {
                sizes.arguments.store(told.to_string().len() as u64, Ordering::Relaxed);
            }
            return RecordGuard { recorder: self.clone(), arguments: None, told: Some(told) };
        }
        RecordGuard { recorder: self.clone(), arguments: Some(arguments), told: None }
    }

    /// Whether a recording takes copies of arguments and answers: [`CallRecording::arguments_late`],
    /// [`CallRecording::answered_late`].
    pub fn is_late(&self) -> bool {
        self.sizes.is_none() && self.recording.is_late()
    }

    /// The recording of the call.
    pub fn recording(&self) -> &CallRecording {
        &self.recording
    }

    /// The export has returned.
    pub fn answered(&self, answer: impl FnOnce() -> Value) {
        match &self.sizes {
            None => self.recording.answered(answer),
            Some(sizes) => {
                let answer = answer();
                sizes.answer.store(answer.to_string().len() as u64, Ordering::Relaxed);
                self.recording.answered(|| answer);
            }
        }
    }

    pub(super) fn take(&self) -> Option<Value> {
        self.kept.lock().take()
    }
}

impl<F: FnOnce() -> Value> RecordGuard<F> {
    /// Discards the arguments: the call succeeded.
    pub fn discard(mut self) {
        (self.arguments, self.told) = (None, None);
    }
}

impl<F: FnOnce() -> Value> Drop for RecordGuard<F> {
    fn drop(&mut self) {
        let told = self.told.take().map(|told| (*told).clone());
        let told = told.or_else(|| self.arguments.take().map(|arguments| arguments()));
        if told.is_some() {
            *self.recorder.kept.lock() = told;
        }
    }
}
