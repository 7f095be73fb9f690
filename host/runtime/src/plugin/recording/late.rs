//! Values of a turn that become JSON behind its answer: until then copies are held, which cost a tenth of it.

use super::call::ImportCall;
use bub_recordings::{ImportRecord, Shared};
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;

/// A value that the thread that writes makes, so that the turn does not wait for it.
pub type LateValue = Box<dyn FnOnce() -> Value + Send>;

/// A call of an import.
pub(super) enum LateImport {
    /// As JSON.
    Made(ImportCall),
    /// Its function, and what makes its arguments and its answer.
    Later(&'static str, Box<dyn FnOnce() -> (Vec<Value>, Value) + Send>),
}

/// A value that calls have in common, made once.
#[derive(Clone)]
pub(super) struct LateShared(Arc<Mutex<State>>);

enum State {
    Later(Option<LateValue>),
    Made(Shared),
}

impl LateImport {
    /// The call as JSON.
    pub(super) fn into_record(self) -> ImportRecord {
        match self {
            Self::Made(ImportCall { function, arguments, answer }) => ImportRecord { function, arguments, answer },
            Self::Later(function, make) => {
                let (arguments, answer) = make();
                ImportRecord { function: function.to_owned(), arguments, answer }
            }
        }
    }
}

impl LateShared {
    pub(super) fn new(value: LateValue) -> Self {
        Self(Arc::new(Mutex::new(State::Later(Some(value)))))
    }

    /// The value.
    pub(super) fn make(&self) -> Shared {
        let mut state = self.0.lock();
        if let State::Later(make) = &mut *state {
            let value = make.take().map(|make| make()).unwrap_or_default();
            *state = State::Made(Arc::new(value));
        }
        match &*state {
            State::Made(value) => value.clone(),
            State::Later(_) => Shared::default(),
        }
    }
}
