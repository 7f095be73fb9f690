//! Records of spans and of lines of the log, as the program makes them. Nothing is encoded or redacted here: that is done
//! by the exporter's thread.

use crate::callsite::{Callsite, Role};
use crate::context::TraceContext;
use std::fmt::{self, Debug, Write};
use std::time::{Duration, SystemTime};
use tracing::Level;
use tracing::field::{Field, Visit};

/// The longest attribute that is kept, in bytes. One with the text of a conversation has a limit of its own.
pub(crate) const MAX_ATTRIBUTE: usize = 4 << 10;

/// The longest attribute of a conversation, in bytes.
const MAX_CONTENT: usize = 96 << 10;

/// Kinds of values, in front of each.
const TEXT: u8 = 0;
const NUMBER: u8 = 1;
const FLOAT: u8 = 2;
const BOOL: u8 = 3;

/// The bytes in front of a value: the index of its field, its kind, and its length.
const HEAD: usize = 6;

/// A value of an attribute.
pub(crate) enum Value<'a> {
    Text(&'a str),
    Number(i64),
    Float(f64),
    Bool(bool),
}

/// The values of a span's fields, one behind the other: adding one allocates nothing once there is room.
#[derive(Default)]
pub(crate) struct Attributes {
    bytes: Vec<u8>,
    /// A bit for each field that has a value; a span has 32 fields at most.
    set: u32,
}

impl Attributes {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn has(&self, index: usize) -> bool {
        self.set & bit(index) != 0
    }

    /// Forgets all values, and the memory beyond `max` bytes.
    pub(crate) fn clear(&mut self, max: usize) {
        self.set = 0;
        self.bytes.clear();
        self.bytes.shrink_to(max);
    }

    /// Adds a text. A later value takes the place of an earlier one.
    pub(crate) fn text(&mut self, index: usize, max: usize, text: &str) {
        self.begin(index, TEXT);
        let text = text.as_bytes().get(..text.floor_char_boundary(max)).unwrap_or_default();
        self.value(text);
    }

    /// Adds a text that is written.
    fn written(&mut self, index: usize, max: usize, text: &dyn Debug) {
        self.begin(index, TEXT);
        let at = self.bytes.len();
        self.value(&[]);
        let mut to = Limited { bytes: &mut self.bytes, left: max };
        // It ends where it is full.
        let _ = write!(to, "{text:?}");
        let length = u32::try_from(self.bytes.len() - at - 4).unwrap_or(0);
        if let Some(place) = self.bytes.get_mut(at..at + 4) {
            place.copy_from_slice(&length.to_le_bytes());
        }
    }

    fn fixed(&mut self, index: usize, kind: u8, value: u64) {
        self.begin(index, kind);
        self.value(&value.to_le_bytes());
    }

    fn begin(&mut self, index: usize, kind: u8) {
        if self.has(index) {
            self.remove(index);
        }
        self.set |= bit(index);
        self.bytes.extend_from_slice(&[index as u8, kind]);
    }

    fn value(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(value);
    }

    fn remove(&mut self, index: usize) {
        let mut at = 0;
        while let Some((found, _, length)) = self.bytes.get(at..).and_then(head) {
            let end = at + HEAD + length;
            if found == index && end <= self.bytes.len() {
                self.bytes.drain(at..end);
                return;
            }
            at = end;
        }
    }
}

fn bit(index: usize) -> u32 {
    1u32.checked_shl(index as u32).unwrap_or(0)
}

/// The index, the kind and the length of the first value.
fn head(bytes: &[u8]) -> Option<(usize, u8, usize)> {
    let [index, kind, length @ ..] = bytes.first_chunk::<HEAD>()?;
    Some((usize::from(*index), *kind, u32::from_le_bytes(*length) as usize))
}

/// The fields and values in the bytes of [`Attributes`].
pub(crate) fn values(mut bytes: &[u8]) -> impl Iterator<Item = (usize, Value<'_>)> {
    std::iter::from_fn(move || {
        let (index, kind, length) = head(bytes)?;
        let value = bytes.get(HEAD..HEAD + length)?;
        bytes = bytes.get(HEAD + length..)?;
        let fixed = || u64::from_le_bytes(value.try_into().unwrap_or_default());
        let value = match kind {
            NUMBER => Value::Number(fixed() as i64),
            FLOAT => Value::Float(f64::from_bits(fixed())),
            BOOL => Value::Bool(fixed() != 0),
            _ => Value::Text(std::str::from_utf8(value).unwrap_or_default()),
        };
        Some((index, value))
    })
}

/// Appends text until so many bytes are written.
struct Limited<'a> {
    bytes: &'a mut Vec<u8>,
    left: usize,
}

impl Write for Limited<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let fits = text.floor_char_boundary(self.left);
        self.bytes.extend_from_slice(text.as_bytes().get(..fits).unwrap_or_default());
        self.left -= fits;
        if fits < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// A span that has ended.
#[derive(Clone, Copy)]
pub(crate) struct SpanRecord {
    pub(crate) callsite: &'static Callsite,
    pub(crate) context: TraceContext,
    /// The span around it; 0: none.
    pub(crate) parent: u64,
    /// Whether the parent is a span of another process.
    pub(crate) is_remote: bool,
    /// Nanoseconds since 1970.
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// A line of the log.
pub(crate) struct LogRecord {
    pub(crate) context: Option<TraceContext>,
    pub(crate) at: u64,
    pub(crate) level: Level,
    pub(crate) target: &'static str,
    pub(crate) text: String,
}

/// Now, in nanoseconds since 1970.
pub(crate) fn nanoseconds() -> u64 {
    whole(SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default())
}

pub(crate) fn whole(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Collects the fields of a span.
pub(crate) struct Fields<'a> {
    pub(crate) callsite: &'static Callsite,
    pub(crate) attributes: &'a mut Attributes,
    pub(crate) parent: Option<TraceContext>,
}

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        let index = field.index();
        match self.callsite.role(index) {
            Role::Parent => self.parent = TraceContext::parse(value),
            Role::Content => self.attributes.text(index, MAX_CONTENT, value),
            _ => self.attributes.text(index, MAX_ATTRIBUTE, value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let index = field.index();
        match self.callsite.role(index) {
            Role::Parent => self.record_str(field, &format!("{value:?}")),
            Role::Content => self.attributes.written(index, MAX_CONTENT, value),
            _ => self.attributes.written(index, MAX_ATTRIBUTE, value),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.attributes.fixed(field.index(), NUMBER, value as u64);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record_i64(field, i64::try_from(value).unwrap_or(i64::MAX));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.attributes.fixed(field.index(), FLOAT, value.to_bits());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.attributes.fixed(field.index(), BOOL, u64::from(value));
    }
}

/// The text of a line of the log, with its fields behind it.
#[derive(Default)]
pub(crate) struct Line {
    text: String,
    fields: String,
}

impl Line {
    pub(crate) fn into_text(self) -> String {
        let mut text = self.text + &self.fields;
        text.truncate(text.floor_char_boundary(MAX_ATTRIBUTE));
        text
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.text),
            // Writing to a string cannot fail.
            name => drop(write!(self.fields, " {name}={value}")),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
