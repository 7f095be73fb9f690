//! Values of a turn that become JSON behind its answer: until then copies are held, which cost a tenth of it.

use super::call::ImportCall;
use bub_recordings::{ImportRecord, Shared, Unpack};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// A value that the thread that writes makes, so that the turn does not wait for it.
pub type LateValue = Box<dyn FnOnce() -> Value + Send>;

/// A value of a call: as JSON, or a copy that becomes it.
#[derive(Default)]
pub(super) enum CallValue {
    /// None so far.
    #[default]
    Missing,
    /// As JSON.
    Made(Arc<Value>),
    /// What makes it.
    Later(LateValue),
}

/// What a call is given or returns, as a copy that a recording holds until it is written.
pub trait Owned {
    /// The copy.
    type Copy: Serialize + Send + 'static;

    /// Copies it.
    fn owned(&self) -> Self::Copy;
}

impl<T: Clone + Serialize + Send + 'static> Owned for &T {
    type Copy = T;

    fn owned(&self) -> T {
        T::clone(self)
    }
}

impl<T: Clone + Serialize + Send + 'static> Owned for &[T] {
    type Copy = Vec<T>;

    fn owned(&self) -> Vec<T> {
        self.to_vec()
    }
}

impl Owned for &str {
    type Copy = String;

    fn owned(&self) -> String {
        (*self).to_owned()
    }
}

impl<T: Owned> Owned for Option<T> {
    type Copy = Option<T::Copy>;

    fn owned(&self) -> Self::Copy {
        self.as_ref().map(T::owned)
    }
}

impl<T: Owned, E: Owned> Owned for Result<T, E> {
    type Copy = Result<T::Copy, E::Copy>;

    fn owned(&self) -> Self::Copy {
        self.as_ref().map(T::owned).map_err(E::owned)
    }
}

/// Types that are copied as they are.
macro_rules! copied {
    ($($ty:ty),*) => {
        $(impl $crate::plugin::recording::Owned for $ty {
            type Copy = Self;

            fn owned(&self) -> Self {
                *self
            }
        })*
    };
}

pub(crate) use copied;

copied!(bool, u32, u64);

/// A call of an import.
pub(super) enum LateImport {
    /// As JSON. Boxed, because few are, and they are larger.
    Made(Box<ImportCall>),
    /// Its function. The list of its arguments and its answer are packed behind those of the one before.
    Packed(&'static str),
}

/// A value that calls have in common, made once.
#[derive(Clone)]
pub(super) struct LateShared(Arc<Mutex<State>>);

enum State {
    Later(Option<LateValue>),
    Made(Shared),
}

impl CallValue {
    /// The value, if there is one.
    pub(super) fn make(self) -> Option<Value> {
        match self {
            Self::Missing => None,
            Self::Made(value) => Some(Arc::unwrap_or_clone(value)),
            Self::Later(make) => Some(make()),
        }
    }

    /// The same, of a call whose values are JSON already.
    pub(super) fn made(&self) -> Value {
        match self {
            Self::Made(value) => Value::clone(value),
            Self::Missing | Self::Later(_) => Value::Null,
        }
    }
}

impl LateImport {
    /// The call as JSON.
    pub(super) fn into_record(self, packed: &mut Unpack<'_>) -> ImportRecord {
        match self {
            Self::Made(call) => {
                let ImportCall { function, arguments, answer } = *call;
                ImportRecord { function, arguments, answer }
            }
            Self::Packed(function) => {
                let (arguments, answer) = unpack_import(packed);
                ImportRecord { function: function.to_owned(), arguments, answer }
            }
        }
    }
}

/// The arguments and the answer of the next import.
pub(super) fn unpack_import(packed: &mut Unpack<'_>) -> (Vec<Value>, Value) {
    let arguments = match packed.value() {
        Value::Array(arguments) => arguments,
        _ => Vec::new(),
    };
    (arguments, packed.value())
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
