//! A reader of DER: definite lengths in their shortest form, tags of one byte, no copies.

use anyhow::{Context, Result, bail, ensure};

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const OCTET_STRING: u8 = 0x04;
pub(crate) const OID: u8 = 0x06;
pub(crate) const UTF8_STRING: u8 = 0x0c;
pub(crate) const GENERALIZED_TIME: u8 = 0x18;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;

/// An element.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element<'a> {
    pub(crate) tag: u8,
    /// What is behind tag and length.
    pub(crate) content: &'a [u8],
    /// All of its bytes.
    pub(crate) whole: &'a [u8],
}

/// Reads elements, one behind the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next element.
    pub(crate) fn next(&mut self) -> Result<Element<'a>> {
        let all = self.0;
        let [tag, first, rest @ ..] = all else { bail!("it ends too early") };
        ensure!(tag & 0x1f != 0x1f, "it has a tag of several bytes");
        let (length, rest) = match first {
            0..=0x7f => (usize::from(*first), rest),
            0x81..=0x83 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f)).context("it ends too early")?;
                let length = bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
                ensure!(length >= 0x80 && bytes[0] != 0, "it has a length that is not in its shortest form");
                (length, rest)
            }
            _ => bail!("it has a length that is unknown or too large"),
        };
        let (content, rest) = rest.split_at_checked(length).context("it ends too early")?;
        self.0 = rest;
        Ok(Element { tag: *tag, content, whole: &all[..all.len() - rest.len()] })
    }

    /// The next element, which has that tag.
    pub(crate) fn expect(&mut self, tag: u8) -> Result<Element<'a>> {
        let element = self.next()?;
        ensure!(element.tag == tag, "it has the tag {:#04x}, where {tag:#04x} is wanted", element.tag);
        Ok(element)
    }

    /// The next element, if it has that tag.
    pub(crate) fn optional(&mut self, tag: u8) -> Result<Option<Element<'a>>> {
        match self.0.first() {
            Some(found) if *found == tag => self.next().map(Some),
            _ => Ok(None),
        }
    }

    /// There is nothing behind it.
    pub(crate) fn end(&self) -> Result<()> {
        ensure!(self.is_empty(), "it has something behind its end");
        Ok(())
    }
}

impl<'a> Element<'a> {
    /// Its elements.
    pub(crate) fn reader(&self) -> Reader<'a> {
        Reader::new(self.content)
    }
}

/// The only element in these bytes, which has that tag.
pub(crate) fn only(bytes: &[u8], tag: u8) -> Result<Element<'_>> {
    let mut reader = Reader::new(bytes);
    let element = reader.expect(tag)?;
    reader.end()?;
    Ok(element)
}

/// Writes an element.
pub(crate) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match content.len() {
        length @ 0..0x80 => bytes.push(length as u8),
        length => {
            let length = length.to_be_bytes();
            let digits = &length[length.iter().position(|byte| *byte != 0).unwrap_or_default()..];
            bytes.push(0x80 | digits.len() as u8);
            bytes.extend_from_slice(digits);
        }
    }
    bytes.extend_from_slice(content);
    bytes
}
