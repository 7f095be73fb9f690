//! Writes messages of Protocol Buffers: the few types of fields that OTLP has.

/// A message that is being written. Fields with the default of their type are left out, as the format allows.
#[derive(Default)]
pub(crate) struct Message(Vec<u8>);

/// How a field is written.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED32: u64 = 5;

impl Message {
    /// The bytes of the message.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// `uint64`, `int64`, `bool` and enums, other than negative ones.
    pub(crate) fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.key(field, VARINT);
            self.varint(value);
        }
    }

    /// `int64` of a field that is one of several: it is there although it is 0.
    pub(crate) fn chosen_number(&mut self, field: u64, value: i64) {
        self.key(field, VARINT);
        // Negative numbers are written as two's complement.
        self.varint(value as u64);
    }

    /// `fixed64`.
    pub(crate) fn fixed64(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.chosen_fixed64(field, value);
        }
    }

    /// `sfixed64` and `double` of a field that is one of several.
    pub(crate) fn chosen_fixed64(&mut self, field: u64, value: u64) {
        self.key(field, FIXED64);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// `fixed32`.
    pub(crate) fn fixed32(&mut self, field: u64, value: u32) {
        if value != 0 {
            self.key(field, FIXED32);
            self.0.extend_from_slice(&value.to_le_bytes());
        }
    }

    /// `bytes`, `string` and messages that are written already.
    pub(crate) fn bytes(&mut self, field: u64, value: &[u8]) {
        if !value.is_empty() {
            self.chosen_bytes(field, value);
        }
    }

    /// `string` of a field that is one of several.
    pub(crate) fn chosen_bytes(&mut self, field: u64, value: &[u8]) {
        self.key(field, LENGTH);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    /// A message in the message.
    pub(crate) fn message(&mut self, field: u64, write: impl FnOnce(&mut Message)) {
        self.key(field, LENGTH);
        let begin = self.0.len();
        // Most messages are shorter than 128 bytes, and their length has one byte.
        self.0.push(0);
        write(self);
        let mut length = self.0.len() - begin - 1;
        let more = varint_length(length as u64) - 1;
        if more > 0 {
            let end = self.0.len();
            self.0.resize(end + more, 0);
            self.0.copy_within(begin + 1..end, begin + 1 + more);
        }
        for place in self.0.iter_mut().skip(begin).take(more) {
            *place = length as u8 | 0x80;
            length >>= 7;
        }
        if let Some(place) = self.0.get_mut(begin + more) {
            *place = length as u8;
        }
    }

    /// A `KeyValue`: its key as it is encoded, and its value, which has so many bytes.
    pub(crate) fn pair(&mut self, field: u64, key: &[u8], length: usize, write: impl FnOnce(&mut Message)) {
        let length = length as u64;
        self.key(field, LENGTH);
        self.varint(key.len() as u64 + 1 + varint_length(length) as u64 + length);
        self.0.extend_from_slice(key);
        self.key(2, LENGTH);
        self.varint(length);
        write(self);
    }

    fn key(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// The bytes of a field whose number is below 16, with a value of so many bytes and their length.
pub(crate) fn bytes_length(length: usize) -> usize {
    1 + varint_length(length as u64) + length
}

/// The bytes of a number.
pub(crate) fn varint_length(value: u64) -> usize {
    // Seven bits a byte; 0 has one byte too.
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}
