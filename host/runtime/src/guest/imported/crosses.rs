//! Values as JSON, in recordings.

use super::lists;
use crate::guest::bindings::{entries, exchange, log, process, recall, stages, subturn, usage, view};
use bub_recordings::Packed;
use bub_types::{
    Envelope, Error, MediaItem, MessageKind, ModelOptions, Passage, Principal, Prompt, StreamEvent, ToolCall, ToolSpec,
};
use serde::Serialize;
use serde_json::Value;
use wasmtime::component::Resource;

/// The text that stands for a handle: which one it is follows from the order of the calls.
pub(super) const HANDLE: &str = "(handle)";

/// A value that crosses between a guest and an import.
///
/// A turn holds it packed until it is written: to make JSON of it takes longer, and is done behind the answer.
pub(super) trait Crosses: Sized {
    /// Packs it, as the JSON that it is in a recording.
    fn pack(&self, packed: &mut Packed);

    /// Packs a list.
    fn pack_all(list: &[Self], packed: &mut Packed) {
        packed.list(list.len());
        list.iter().for_each(|value| value.pack(packed));
    }

    /// From JSON; none if it is of another type.
    fn from_shown(value: Value) -> Option<Self>;
}

/// Implements both ways: the way there is the one that is written, and the way back is that of serde.
macro_rules! crosses {
    ($($ty:ty: |$value:ident, $packed:ident| $pack:expr $(, all $all:path)?;)*) => {
        $(impl Crosses for $ty {
            fn pack(&self, $packed: &mut Packed) {
                let $value = self;
                $pack
            }

            $(fn pack_all(list: &[Self], packed: &mut Packed) {
                $all(list, packed);
            })?

            fn from_shown(value: Value) -> Option<Self> {
                serde_json::from_value(value).ok()
            }
        })*
    };
}

/// Packs the fields of a record.
macro_rules! record {
    ($value:ident, $packed:ident: $($field:ident),*) => {{
        $packed.object([$(stringify!($field)),*].len());
        $(
            $packed.text(stringify!($field));
            $value.$field.pack($packed);
        )*
    }};
}

/// Packs a variant of that name with a value.
macro_rules! variant {
    ($packed:ident, $name:literal, $value:ident) => {{
        $packed.object(1);
        $packed.text($name);
        $value.pack($packed);
    }};
}

/// Packs the JSON of what is rare or small.
fn json(value: &impl Serialize, packed: &mut Packed) {
    packed.json(|buffer| serde_json::to_writer(buffer, value).is_ok());
}

crosses! {
    (): |_nothing, packed| packed.null();
    bool: |value, packed| packed.bool(*value);
    u8: |value, packed| packed.number((*value).into());
    u32: |value, packed| packed.number((*value).into());
    u64: |value, packed| packed.number(*value);
    f64: |value, packed| packed.float(*value);
    String: |text, packed| packed.text(text), all lists::pack_strings;
    Error: |value, packed| json(value, packed);
    MessageKind: |value, packed| json(value, packed);
    Principal: |value, packed| json(value, packed);
    log::Level: |value, packed| json(value, packed);
    ToolSpec: |value, packed| json(value, packed), all lists::pack_tools;
    ToolCall: |value, packed| json(value, packed);
    Passage: |value, packed| json(value, packed);
    MediaItem: |value, packed| json(value, packed);
    Prompt: |prompt, packed| match prompt {
        Prompt::Text(text) => variant!(packed, "Text", text),
        Prompt::Parts(parts) => variant!(packed, "Parts", parts),
    };
    Envelope: |message, packed| {
        record!(
            message, packed: id, session_id, channel, chat_id, sender, content, passages, kind, context, media,
            output_channel
        )
    };
    (String, String): |pair, packed| {
        packed.list(2);
        pair.0.pack(packed);
        pair.1.pack(packed);
    };
    ModelOptions: |value, packed| json(value, packed);
    StreamEvent: |value, packed| json(value, packed);
    entries::Entry: |entry, packed| record!(entry, packed: id, kind, payload, meta, date);
    entries::Draft: |draft, packed| record!(draft, packed: kind, payload, meta);
    entries::Forgotten: |value, packed| json(value, packed);
    entries::Hit: |value, packed| json(value, packed);
    entries::Info: |value, packed| json(value, packed);
    entries::Query: |value, packed| json(value, packed);
    entries::Search: |value, packed| json(value, packed);
    exchange::Event: |event, packed| match event {
        exchange::Event::Text(text) => variant!(packed, "Text", text),
        exchange::Event::Reasoning(text) => variant!(packed, "Reasoning", text),
        exchange::Event::Usage(usage) => variant!(packed, "Usage", usage),
        exchange::Event::Finish(reason) => variant!(packed, "Finish", reason),
        exchange::Event::ToolCalls(calls) => variant!(packed, "ToolCalls", calls),
    };
    exchange::Request: |request, packed| {
        record!(request, packed: model, messages, tools, max_tokens, purpose, options)
    };
    process::Output: |value, packed| json(value, packed);
    recall::Answer: |value, packed| json(value, packed);
    recall::Options: |value, packed| json(value, packed);
    stages::SelectorList: |value, packed| json(value, packed);
    subturn::Request: |value, packed| json(value, packed);
    usage::Row: |value, packed| json(value, packed);
    view::WrittenPart: |value, packed| json(value, packed);
}

impl<T: 'static> Crosses for Resource<T> {
    fn pack(&self, packed: &mut Packed) {
        packed.text(HANDLE);
    }

    fn from_shown(value: Value) -> Option<Self> {
        // Every call with it is answered from the recording, so that it stands for nothing.
        (value == HANDLE).then(|| Self::new_own(0))
    }
}

impl<T: Crosses> Crosses for Option<T> {
    fn pack(&self, packed: &mut Packed) {
        match self {
            None => packed.null(),
            Some(value) => value.pack(packed),
        }
    }

    fn from_shown(value: Value) -> Option<Self> {
        if value.is_null() { Some(None) } else { T::from_shown(value).map(Some) }
    }
}

impl<T: Crosses> Crosses for Vec<T> {
    fn pack(&self, packed: &mut Packed) {
        T::pack_all(self, packed);
    }

    fn from_shown(value: Value) -> Option<Self> {
        match value {
            Value::Array(values) => values.into_iter().map(T::from_shown).collect(),
            _ => None,
        }
    }
}

impl<T: Crosses> Crosses for Result<T, Error> {
    fn pack(&self, packed: &mut Packed) {
        match self {
            Ok(value) => variant!(packed, "ok", value),
            Err(error) => variant!(packed, "error", error),
        }
    }

    fn from_shown(mut value: Value) -> Option<Self> {
        if let Some(value) = value.get_mut("ok") {
            return T::from_shown(value.take()).map(Ok);
        }
        serde_json::from_value(value.get_mut("error")?.take()).ok().map(Err)
    }
}
