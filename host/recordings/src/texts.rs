//! Texts of a list, held in one block of memory.

use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// The texts of a list, one behind the other. Cloning it is cheap.
///
/// A turn holds what is recorded until another thread has written it. A block that one thread takes and another frees costs
/// the first a cache miss when it takes it again, so hundreds of messages are held in one block.
#[derive(Debug, Clone, Default)]
pub struct Texts(Arc<Block>);

#[derive(Debug, Default)]
struct Block {
    all: String,
    /// Where each ends.
    ends: Vec<usize>,
}

/// Bytes that a text takes beside its own.
const EACH: usize = 32;

/// Compares the texts of a list with those of another, one after the other.
struct Comparison<'a> {
    rest: &'a [u8],
    ends: &'a [usize],
    at: usize,
}

/// The latest lists that may be shared.
static LATEST: Mutex<[Weak<Block>; 8]> = Mutex::new([const { Weak::new() }; 8]);

impl Texts {
    /// Copies them.
    pub fn new<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Self {
        Self(Arc::new(Block::new(texts)))
    }

    /// Copies them, unless an equal list of the latest ones is still held: then that one. The messages of a turn go from the
    /// selector to the agent loop, to the request and to the provider, and are the same each time.
    pub fn shared<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Self {
        let latest: Vec<Arc<Block>> = LATEST.lock().iter().filter_map(Weak::upgrade).collect();
        let known = latest.into_iter().find(|known| known.is(texts.clone()));
        Self(known.unwrap_or_else(|| {
            let block = Arc::new(Block::new(texts));
            let mut latest = LATEST.lock();
            latest.rotate_right(1);
            latest[0] = Arc::downgrade(&block);
            block
        }))
    }

    /// Whether they are those, in the same order.
    pub fn are<'a>(&self, texts: impl Iterator<Item = &'a str>) -> bool {
        self.0.is(texts)
    }

    /// The texts in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        let starts = std::iter::once(0).chain(self.0.ends.iter().copied());
        starts.zip(&self.0.ends).map(|(start, end)| self.0.all.get(start..*end).unwrap_or_default())
    }

    /// The bytes that they take; where another holds them too, a quarter: each that holds them makes values of them one day, so
    /// that what is said again and again has a bound too.
    pub fn bytes(&self) -> usize {
        let bytes = self.0.all.len() + self.0.ends.len() * EACH;
        if Arc::strong_count(&self.0) == 1 { bytes } else { bytes / 4 }
    }
}

impl Block {
    fn new<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Self {
        let bytes = texts.clone().map(str::len).sum();
        let mut block = Self { all: String::with_capacity(bytes), ends: Vec::with_capacity(texts.size_hint().0) };
        texts.for_each(|text| block.push(text));
        block
    }

    fn is<'a>(&self, mut texts: impl Iterator<Item = &'a str>) -> bool {
        let mut comparison = Comparison { rest: self.all.as_bytes(), ends: &self.ends, at: 0 };
        texts.all(|text| comparison.next_is(text)) && comparison.ends.is_empty()
    }

    // These two are not generic, so that they are compiled with this crate, for speed.

    fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends.push(self.all.len());
    }
}

impl Comparison<'_> {
    fn next_is(&mut self, text: &str) -> bool {
        let Some((end, ends)) = self.ends.split_first() else { return false };
        self.at += text.len();
        if self.at != *end {
            return false;
        }
        let Some(rest) = self.rest.strip_prefix(text.as_bytes()) else { return false };
        (self.rest, self.ends) = (rest, ends);
        true
    }
}
