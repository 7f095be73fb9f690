//! Values in one block of memory, until another thread makes JSON of them.
//!
//! A turn has a hundred calls of imports. Copies of what they are given and return were as many small blocks of memory, which
//! took longer to take than the values to copy.

use serde_json::{Map, Value};

/// What makes a value that is not in the block.
pub type HeldValue = Box<dyn Fn() -> Value + Send>;

/// Bytes of the first block.
const FIRST: usize = 1 << 10;

/// Bytes that a block may leave unused when nothing more is added.
const MAX_SPARE: usize = 64 << 10;

/// Values one behind the other. A list or an object is followed by what is in it.
#[derive(Default)]
pub struct Packed {
    bytes: Vec<u8>,
    held: Vec<HeldValue>,
    /// Bytes that held values take.
    weight: usize,
}

/// How much is packed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    bytes: usize,
    held: usize,
    weight: usize,
}

/// Reads packed values in their order.
pub struct Unpack<'a> {
    packed: &'a Packed,
    at: usize,
}

/// What comes next.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Tag {
    Null,
    False,
    True,
    Number,
    Float,
    Text,
    Json,
    List,
    Object,
    Held,
}

impl Tag {
    const ALL: [Self; 10] = [
        Self::Null,
        Self::False,
        Self::True,
        Self::Number,
        Self::Float,
        Self::Text,
        Self::Json,
        Self::List,
        Self::Object,
        Self::Held,
    ];
}

impl Packed {
    /// Adds null.
    pub fn null(&mut self) {
        self.tag(Tag::Null);
    }

    /// Adds true or false.
    pub fn bool(&mut self, value: bool) {
        self.tag(if value { Tag::True } else { Tag::False });
    }

    /// Adds a number.
    pub fn number(&mut self, value: u64) {
        self.sized(Tag::Number, value);
    }

    /// Adds a number with a fraction.
    pub fn float(&mut self, value: f64) {
        self.sized(Tag::Float, value.to_bits());
    }

    /// Adds a text.
    pub fn text(&mut self, text: &str) {
        self.sized(Tag::Text, text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Begins a list of so many values, which follow.
    pub fn list(&mut self, count: usize) {
        self.sized(Tag::List, count as u64);
    }

    /// Begins an object of so many pairs. A [text](Self::text) and a value of each follow.
    pub fn object(&mut self, count: usize) {
        self.sized(Tag::Object, count as u64);
    }

    /// Adds a value of JSON.
    pub fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.null(),
            Value::Bool(value) => self.bool(*value),
            // With the digits that it has.
            Value::Number(number) => self.json(|buffer| {
                buffer.extend_from_slice(number.as_str().as_bytes());
                true
            }),
            Value::String(text) => self.text(text),
            Value::Array(values) => {
                self.list(values.len());
                values.iter().for_each(|value| self.value(value));
            }
            Value::Object(map) => self.map(map),
        }
    }

    /// Adds an object of JSON.
    pub fn map(&mut self, map: &Map<String, Value>) {
        self.object(map.len());
        for (name, value) in map {
            self.text(name);
            self.value(value);
        }
    }

    /// Adds a value whose JSON `write` appends; null if it returns that there is none.
    pub fn json(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        let start = self.bytes.len();
        self.sized(Tag::Json, 0);
        let text = self.bytes.len();
        if !write(&mut self.bytes) {
            self.bytes.truncate(start);
            return self.null();
        }
        let length = (self.bytes.len() - text) as u64;
        self.bytes[start + 1..text].copy_from_slice(&length.to_le_bytes());
    }

    /// Adds a value that stands elsewhere, where it takes about that many bytes.
    pub fn held(&mut self, weight: usize, value: HeldValue) {
        self.sized(Tag::Held, self.held.len() as u64);
        self.held.push(value);
        self.weight = self.weight.saturating_add(weight);
    }

    /// How much is packed so far.
    pub fn mark(&self) -> Mark {
        Mark { bytes: self.bytes.len(), held: self.held.len(), weight: self.weight }
    }

    /// The bytes that were added since.
    pub fn since(&self, mark: Mark) -> usize {
        self.bytes.len() - mark.bytes + self.weight - mark.weight
    }

    /// Drops what was added since.
    pub fn back_to(&mut self, mark: Mark) {
        self.bytes.truncate(mark.bytes);
        self.held.truncate(mark.held);
        self.weight = mark.weight;
    }

    /// The same, where nothing more may be added for long: gives much room that is left back.
    pub fn end_at(&mut self, mark: Mark) {
        self.back_to(mark);
        if self.bytes.capacity() - self.bytes.len() > MAX_SPARE {
            self.bytes.shrink_to_fit();
        }
    }

    /// Reads what was added since.
    pub fn read(&self, mark: Mark) -> Unpack<'_> {
        Unpack { packed: self, at: mark.bytes }
    }

    fn tag(&mut self, tag: Tag) {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve(FIRST);
        }
        self.bytes.push(tag as u8);
    }

    fn sized(&mut self, tag: Tag, value: u64) {
        self.tag(tag);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }
}

impl Unpack<'_> {
    /// The next value; null behind the last one.
    pub fn value(&mut self) -> Value {
        self.next().unwrap_or_default()
    }

    fn next(&mut self) -> Option<Value> {
        let tag = *self.take(1)?.first()?;
        Some(match Tag::ALL.get(usize::from(tag))? {
            Tag::Null => Value::Null,
            Tag::False => false.into(),
            Tag::True => true.into(),
            Tag::Number => self.number()?.into(),
            Tag::Float => f64::from_bits(self.number()?).into(),
            Tag::Text => self.text()?.into(),
            Tag::Json => {
                let length = self.length()?;
                serde_json::from_slice(self.take(length)?).ok()?
            }
            Tag::List => {
                let count = self.length()?;
                (0..count).map(|_| self.next()).collect::<Option<Vec<_>>>()?.into()
            }
            Tag::Object => {
                let mut pairs = Map::new();
                for _ in 0..self.length()? {
                    self.take(1)?;
                    let name = self.text()?;
                    pairs.insert(name, self.next()?);
                }
                pairs.into()
            }
            Tag::Held => {
                let number = self.length()?;
                self.packed.held.get(number)?()
            }
        })
    }

    fn text(&mut self) -> Option<String> {
        let length = self.length()?;
        Some(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    fn length(&mut self) -> Option<usize> {
        self.number()?.try_into().ok()
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let taken = self.packed.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }
}
