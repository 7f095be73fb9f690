//! What is known of each span in the code before it is made: which fields it has, and what each of them means.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use tracing::Metadata;
use tracing::subscriber::Interest;

/// Callsites that are remembered. The program has about twenty; spans of further ones are not exported.
const MAX: usize = 128;

/// All callsites whose spans are exported, by the address of their metadata.
static TABLE: [OnceLock<&'static Callsite>; MAX] = [const { OnceLock::new() }; MAX];

/// The name of the span that may begin a trace.
pub(crate) const ROOT: &str = "turn";

/// Attributes of a conversation.
const CONTENT: [&str; 5] = [
    "gen_ai.system_instructions",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
];

/// The attribute that is a list of texts by the conventions; here it has one.
const LIST: &str = "gen_ai.response.finish_reasons";

/// A place in the code that makes spans.
pub(crate) struct Callsite {
    pub(crate) metadata: &'static Metadata<'static>,
    /// By their index.
    pub(crate) fields: Vec<Field>,
    /// The index of `outcome`, if it declares that.
    pub(crate) outcome: Option<usize>,
    /// Whether it can be a span without one around it.
    pub(crate) can_begin: bool,
    /// Whether the log wants these spans too.
    log: AtomicU8,
}

/// A field of a span.
pub(crate) struct Field {
    pub(crate) role: Role,
    /// The key of the attribute as a `KeyValue` has it, encoded.
    pub(crate) key: Vec<u8>,
}

/// What the value of a field is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// An attribute and no more.
    Attribute,
    /// An attribute with the text of a conversation.
    Content,
    /// An attribute that is a list.
    List,
    /// Attributes that name the span of a call into a plugin.
    Hook,
    Plugin,
    /// An attribute that makes the span an error.
    Error,
    Name,
    Kind,
    Status,
    Parent,
    /// Another name of `otel`, which is not exported.
    Hidden,
}

/// Whether the log wants the spans of a callsite.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogInterest {
    Never,
    Always,
    /// It is to be asked for each span.
    Sometimes,
}

impl Callsite {
    fn new(metadata: &'static Metadata<'static>) -> Self {
        let fields: Vec<Field> = metadata.fields().iter().map(|field| Field::new(field.name())).collect();
        let outcome = metadata.fields().field("outcome").map(|field| field.index());
        let can_begin = metadata.name() == ROOT || fields.iter().any(|field| field.role == Role::Parent);
        Self { metadata, fields, outcome, can_begin, log: AtomicU8::new(LogInterest::Sometimes as u8) }
    }

    pub(crate) fn role(&self, index: usize) -> Role {
        self.fields.get(index).map_or(Role::Hidden, |field| field.role)
    }

    pub(crate) fn log(&self) -> LogInterest {
        match self.log.load(Ordering::Relaxed) {
            never if never == LogInterest::Never as u8 => LogInterest::Never,
            always if always == LogInterest::Always as u8 => LogInterest::Always,
            _ => LogInterest::Sometimes,
        }
    }
}

impl Field {
    fn new(name: &str) -> Self {
        let role = match name {
            "otel.name" => Role::Name,
            "otel.kind" => Role::Kind,
            "otel.status" => Role::Status,
            "otel.parent" => Role::Parent,
            "error.type" => Role::Error,
            "hook" => Role::Hook,
            "plugin" => Role::Plugin,
            LIST => Role::List,
            name if CONTENT.contains(&name) => Role::Content,
            name if name.starts_with("otel.") => Role::Hidden,
            _ => Role::Attribute,
        };
        let prefix = if name.contains('.') { "" } else { "bub." };
        let mut key = crate::protobuf::Message::default();
        key.bytes(1, [prefix, name].concat().as_bytes());
        Self { role, key: key.into_bytes() }
    }
}

/// Remembers a callsite, with the answer of the log. `false`: there are too many.
pub(crate) fn register(metadata: &'static Metadata<'static>, log: &Interest) -> bool {
    let log = match (log.is_never(), log.is_always()) {
        (true, _) => LogInterest::Never,
        (_, true) => LogInterest::Always,
        _ => LogInterest::Sometimes,
    };
    if find(metadata).is_none() {
        // Each callsite is there for as long as the process, as its metadata is.
        let mut new: &'static Callsite = Box::leak(Box::new(Callsite::new(metadata)));
        // Another thread may take a place, or register the same callsite: then that one counts.
        for place in places(metadata) {
            match place.set(new) {
                Ok(()) => break,
                Err(refused) => new = refused,
            }
            if place.get().is_some_and(|known| std::ptr::eq(known.metadata, metadata)) {
                break;
            }
        }
    }
    let known = find(metadata);
    if let Some(callsite) = known {
        callsite.log.store(log as u8, Ordering::Relaxed);
    }
    known.is_some()
}

/// The callsite with these metadata, if its spans are exported.
pub(crate) fn find(metadata: &'static Metadata<'static>) -> Option<&'static Callsite> {
    for place in places(metadata) {
        let known = *place.get()?;
        if std::ptr::eq(known.metadata, metadata) {
            return Some(known);
        }
    }
    None
}

/// The places where a callsite can be, the likeliest first.
fn places(metadata: &'static Metadata<'static>) -> impl Iterator<Item = &'static OnceLock<&'static Callsite>> {
    let address = std::ptr::from_ref(metadata) as usize as u64;
    let first = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as usize;
    TABLE.iter().cycle().skip(first).take(MAX)
}
