//! Texts of a list, held in one block of memory.

/// The texts of a list, one behind the other.
///
/// A turn holds what is recorded until another thread has written it. A block that one thread takes and another frees costs
/// the first a cache miss when it takes it again, so hundreds of messages are held in one block.
#[derive(Debug, Clone, Default)]
pub struct Texts {
    all: String,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Texts {
    /// Copies them.
    pub fn new<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Self {
        let mut copied = Self {
            all: String::with_capacity(texts.clone().map(str::len).sum()),
            ends: Vec::with_capacity(texts.size_hint().0),
        };
        for text in texts {
            copied.all.push_str(text);
            copied.ends.push(copied.all.len());
        }
        copied
    }

    /// The texts in their order.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| self.all.get(start..*end).unwrap_or_default())
    }

    /// Their bytes.
    pub fn bytes(&self) -> usize {
        self.all.len() + self.ends.len() * size_of::<usize>()
    }
}
