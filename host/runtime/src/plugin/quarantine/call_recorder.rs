//! Records the arguments of a call, for a crash report.

use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;

/// Records the arguments of a call, in case it faults.
#[derive(Clone, Default)]
pub struct CallRecorder(Arc<Mutex<Option<Value>>>);

/// Records the arguments when it is dropped without [`RecordGuard::discard`]: when the guest traps or its deadline ends
/// it.
pub struct RecordGuard<F: FnOnce() -> Value> {
    recorder: CallRecorder,
    arguments: Option<F>,
}

impl CallRecorder {
    /// Records `arguments` unless [`RecordGuard::discard`] is called.
    pub fn record<F: FnOnce() -> Value>(&self, arguments: F) -> RecordGuard<F> {
        RecordGuard { recorder: self.clone(), arguments: Some(arguments) }
    }

    pub(super) fn take(&self) -> Option<Value> {
        self.0.lock().take()
    }
}

impl<F: FnOnce() -> Value> RecordGuard<F> {
    /// Discards the arguments: the call succeeded.
    pub fn discard(mut self) {
        self.arguments = None;
    }
}

impl<F: FnOnce() -> Value> Drop for RecordGuard<F> {
    fn drop(&mut self) {
        if let Some(arguments) = self.arguments.take() {
            *self.recorder.0.lock() = Some(arguments());
        }
    }
}
