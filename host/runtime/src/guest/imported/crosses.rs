//! Values as JSON, in recordings.

use crate::guest::bindings::{entries, exchange, log, process, recall, stages, subturn, usage, view};
use bub_types::{Envelope, Error, MessageKind, ModelOptions, Principal, Prompt, StreamEvent, ToolCall, ToolSpec};
use serde_json::{Value, json};
use wasmtime::component::Resource;

/// The text that stands for a handle: which one it is follows from the order of the calls.
const HANDLE: &str = "(handle)";

/// A value that crosses between a guest and an import.
pub(super) trait Crosses: Sized {
    /// As JSON.
    fn shown(&self) -> Value;

    /// From JSON; none if it is of another type.
    fn from_shown(value: Value) -> Option<Self>;
}

macro_rules! plain {
    ($($ty:ty),* $(,)?) => {
        $(impl Crosses for $ty {
            fn shown(&self) -> Value {
                json!(self)
            }

            fn from_shown(value: Value) -> Option<Self> {
                serde_json::from_value(value).ok()
            }
        })*
    };
}

plain! {
    (), bool, u8, u32, u64, f64, String,
    Envelope, MessageKind, ModelOptions, Principal, Prompt, StreamEvent, ToolCall, ToolSpec,
    entries::Draft, entries::Entry, entries::Forgotten, entries::Hit, entries::Info, entries::Query, entries::Search,
    exchange::Event, exchange::Request, log::Level, process::Output, recall::Answer, recall::Options,
    stages::SelectorList, subturn::Request, usage::Row, view::WrittenPart,
}

impl<T: 'static> Crosses for Resource<T> {
    fn shown(&self) -> Value {
        HANDLE.into()
    }

    fn from_shown(value: Value) -> Option<Self> {
        // Every call with it is answered from the recording, so that it stands for nothing.
        (value == HANDLE).then(|| Self::new_own(0))
    }
}

impl<T: Crosses> Crosses for Option<T> {
    fn shown(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::shown)
    }

    fn from_shown(value: Value) -> Option<Self> {
        if value.is_null() { Some(None) } else { T::from_shown(value).map(Some) }
    }
}

impl<T: Crosses> Crosses for Vec<T> {
    fn shown(&self) -> Value {
        self.iter().map(T::shown).collect()
    }

    fn from_shown(value: Value) -> Option<Self> {
        match value {
            Value::Array(values) => values.into_iter().map(T::from_shown).collect(),
            _ => None,
        }
    }
}

impl<T: Crosses> Crosses for Result<T, Error> {
    fn shown(&self) -> Value {
        match self {
            Ok(value) => json!({ "ok": value.shown() }),
            Err(error) => json!({ "error": error }),
        }
    }

    fn from_shown(mut value: Value) -> Option<Self> {
        if let Some(value) = value.get_mut("ok") {
            return T::from_shown(value.take()).map(Ok);
        }
        serde_json::from_value(value.get_mut("error")?.take()).ok().map(Err)
    }
}
