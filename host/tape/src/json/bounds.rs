//! How much structure a JSON text has, counted before a parser builds anything of it.

use memchr::memchr2;
use std::fmt::{self, Display, Formatter};

/// Bounds on the structure of one JSON text. A parser recurses with the depth, and takes many times the text's own size
/// for each value and member.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Arrays and objects inside each other.
    pub depth: usize,
    /// Members of all objects together.
    pub members: usize,
    /// Elements of all arrays and members of all objects together.
    pub elements: usize,
}

/// The bound that a text exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exceeded {
    /// It is nested deeper than this.
    Depth(usize),
    /// It has more members than this.
    Members(usize),
    /// It has more elements than this.
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
    /// Bounds on nesting alone.
    pub const fn depth(depth: usize) -> Self {
        Self { depth, members: usize::MAX, elements: usize::MAX }
    }

    /// Scans the bytes once, allocates nothing and stops at the first bound that they exceed. Bytes that are no JSON pass:
    /// the parser refuses them.
    ///
    /// # Errors
    ///
    /// The bound that is exceeded.
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

/// Behind the quotation mark that ends the string whose inside begins at `at`.
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
