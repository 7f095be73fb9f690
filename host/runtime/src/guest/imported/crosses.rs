//! Values as JSON, in recordings.

use super::lists::{Each, Entries, KeptList, KeptRequest, Strings, Tools};
use crate::guest::bindings::{entries, exchange, log, process, recall, stages, subturn, usage, view};
use crate::plugin::recording::length;
use bub_types::{Envelope, Error, MessageKind, ModelOptions, Principal, Prompt, StreamEvent, ToolCall, ToolSpec};
use serde_json::{Value, json};
use wasmtime::component::Resource;

/// The text that stands for a handle: which one it is follows from the order of the calls.
pub(super) const HANDLE: &str = "(handle)";

/// A value that crosses between a guest and an import.
///
/// What a turn holds of it until it is written is a copy: to make JSON of it takes longer, and is done behind the answer.
pub(super) trait Crosses: Sized {
    /// A copy without handles.
    type Kept: Send + 'static;

    /// A copy of a list.
    type Many: KeptList;

    /// Copies it.
    fn kept(&self) -> Self::Kept;

    /// Copies a list.
    fn kept_all(list: &[Self]) -> Self::Many;

    /// About how many bytes the copy holds.
    fn weight(kept: &Self::Kept) -> usize;

    /// As JSON.
    fn shown(kept: &Self::Kept) -> Value;

    /// From JSON; none if it is of another type.
    fn from_shown(value: Value) -> Option<Self>;
}

/// The copy of a list of the type: as the type in brackets, or each by itself.
macro_rules! many {
    () => {
        many!(Each<Self>);
    };
    ($many:ty) => {
        type Many = $many;

        fn kept_all(list: &[Self]) -> Self::Many {
            <$many>::of(list)
        }
    };
}

/// Types that are copied as they are; their weight is that of the texts in them.
macro_rules! plain {
    ($($ty:ty $(as [$many:ty])? $(, $kept:ident => $weight:expr)?;)*) => {
        $(impl Crosses for $ty {
            type Kept = Self;

            many!($($many)?);

            fn kept(&self) -> Self {
                self.clone()
            }

            fn weight(kept: &Self) -> usize {
                size_of::<Self>() + plain!(@weight kept $(, $kept => $weight)?)
            }

            fn shown(kept: &Self) -> Value {
                json!(kept)
            }

            fn from_shown(value: Value) -> Option<Self> {
                serde_json::from_value(value).ok()
            }
        })*
    };
    (@weight $given:ident, $kept:ident => $weight:expr) => {{
        let $kept = $given;
        $weight
    }};
    // Of types that are rare.
    (@weight $given:ident) => {
        length($given)
    };
}

plain! {
    (), _nothing => 0;
    bool, _nothing => 0;
    u8, _nothing => 0;
    u32, _nothing => 0;
    u64, _nothing => 0;
    f64, _nothing => 0;
    MessageKind, _nothing => 0;
    Principal, _nothing => 0;
    log::Level, _nothing => 0;
    String as [Strings], text => text.len();
    ToolSpec as [Tools], tool => tool.name.len() + tool.description.len() + tool.parameters.len();
    ToolCall, call => call.name.len() + call.arguments.len();
    Prompt, prompt => match prompt {
        Prompt::Text(text) => text.len(),
        Prompt::Parts(parts) => parts.len(),
    };
    entries::Entry as [Entries], entry => entry.payload.len() + entry.meta.len() + entry.date.len();
    entries::Draft, draft => draft.payload.len() + draft.meta.len();
    exchange::Event, event => match event {
        exchange::Event::Text(text) | exchange::Event::Reasoning(text) => text.len(),
        other => length(other),
    };
    Envelope; ModelOptions; StreamEvent;
    entries::Forgotten; entries::Hit; entries::Info; entries::Query; entries::Search;
    process::Output; recall::Answer; recall::Options; stages::SelectorList; subturn::Request; usage::Row;
    view::WrittenPart;
}

impl Crosses for exchange::Request {
    type Kept = KeptRequest;

    many!();

    fn kept(&self) -> Self::Kept {
        KeptRequest::of(self)
    }

    fn weight(kept: &Self::Kept) -> usize {
        kept.weight()
    }

    fn shown(kept: &Self::Kept) -> Value {
        kept.shown()
    }

    fn from_shown(value: Value) -> Option<Self> {
        serde_json::from_value(value).ok()
    }
}

impl<T: 'static> Crosses for Resource<T> {
    type Kept = ();

    many!();

    fn kept(&self) {}

    fn weight((): &()) -> usize {
        HANDLE.len()
    }

    fn shown((): &()) -> Value {
        HANDLE.into()
    }

    fn from_shown(value: Value) -> Option<Self> {
        // Every call with it is answered from the recording, so that it stands for nothing.
        (value == HANDLE).then(|| Self::new_own(0))
    }
}

impl<T: Crosses + 'static> Crosses for Option<T> {
    type Kept = Option<T::Kept>;

    many!();

    fn kept(&self) -> Self::Kept {
        self.as_ref().map(T::kept)
    }

    fn weight(kept: &Self::Kept) -> usize {
        kept.as_ref().map_or(0, T::weight)
    }

    fn shown(kept: &Self::Kept) -> Value {
        kept.as_ref().map_or(Value::Null, T::shown)
    }

    fn from_shown(value: Value) -> Option<Self> {
        if value.is_null() { Some(None) } else { T::from_shown(value).map(Some) }
    }
}

impl<T: Crosses + 'static> Crosses for Vec<T> {
    type Kept = T::Many;

    many!();

    fn kept(&self) -> Self::Kept {
        T::kept_all(self)
    }

    fn weight(kept: &Self::Kept) -> usize {
        kept.weight()
    }

    fn shown(kept: &Self::Kept) -> Value {
        kept.shown()
    }

    fn from_shown(value: Value) -> Option<Self> {
        match value {
            Value::Array(values) => values.into_iter().map(T::from_shown).collect(),
            _ => None,
        }
    }
}

impl<T: Crosses + 'static> Crosses for Result<T, Error> {
    type Kept = Result<T::Kept, Error>;

    many!();

    fn kept(&self) -> Self::Kept {
        self.as_ref().map(T::kept).map_err(Error::clone)
    }

    fn weight(kept: &Self::Kept) -> usize {
        kept.as_ref().map_or_else(|error| error.message.len(), T::weight)
    }

    fn shown(kept: &Self::Kept) -> Value {
        match kept {
            Ok(value) => json!({ "ok": T::shown(value) }),
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
