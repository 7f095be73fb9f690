//! Limits on the structure of JSON, checked before parsing.

use memchr::memchr2;
use std::fmt::{self, Display, Formatter};

/// Limits on the structure of one JSON text. A parser recurses with the depth, and allocates many times the text's size
/// for values and members.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Nesting of arrays and objects.
    pub depth: usize,
    /// Members of all objects in total.
    pub members: usize,
    /// Elements of all arrays and members of all objects in total.
    pub elements: usize,
}

/// The limit that a text exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exceeded {
    /// The nesting depth.
    Depth(usize),
    /// The number of members.
    Members(usize),
    /// The number of elements.
    Elements(usize),
}

impl Display for Exceeded {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth(most) => write!(f, "JSON nested deeper than {most}"),
            Self::Members(most) => write!(f, "JSON with more than {most} members"),
            Self::Elements(most) => write!(f, "JSON with more than {most} elements"),
        }
    }
}

impl Bounds {
    /// A limit on nesting alone.
    pub const fn depth(depth: usize) -> Self {
        Self { depth, members: usize::MAX, elements: usize::MAX }
    }

    /// Scans the bytes once, without allocation, and stops at the first limit exceeded. Invalid JSON passes: the parser
    /// rejects it.
    ///
    /// # Errors
    ///
    /// The limit exceeded.
    pub fn check(&self, json: &[u8]) -> Result<(), Exceeded> {
        let (mut depth, mut members, mut elements, mut at) = (0usize, 0usize, 0usize, 0usize);
        while let Some(byte) = json.get(at) {
            at += 1;
            match byte {
                b'"' => at = end_of_string(json, at),
                b'[' | b'{' => {
                    depth += 1;
                    elements += 1;
                    if depth > self.depth {
                        return Err(Exceeded::Depth(self.depth));
                    }
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                b',' => elements += 1,
                b':' => {
                    members += 1;
                    if members > self.members {
                        return Err(Exceeded::Members(self.members));
                    }
                }
                _ => {}
            }
            if elements > self.elements {
                return Err(Exceeded::Elements(self.elements));
            }
        }
        Ok(())
    }
}

/// The offset after the closing quotation mark of the string whose content begins at `at`.
fn end_of_string(json: &[u8], mut at: usize) -> usize {
    while let Some(found) = json.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        match json.get(at) {
            Some(b'\\') => at += 2,
            _ => return at + 1,
        }
    }
    json.len()
}
