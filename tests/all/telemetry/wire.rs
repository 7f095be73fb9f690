//! Reads messages of Protocol Buffers, by the numbers of their fields, and refuses what is malformed. That the numbers are
//! those of OTLP is checked by `official.rs`.

/// A message that was read.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<(u64, Value)>);

#[derive(Debug)]
enum Value {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Message {
    #[track_caller]
    pub(super) fn read(mut bytes: &[u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let value = match key & 7 {
                0 => Value::Number(varint(&mut bytes)),
                1 => Value::Number(fixed(&mut bytes, 8)),
                2 => {
                    let length = usize::try_from(varint(&mut bytes)).expect("a length");
                    Value::Bytes(take(&mut bytes, length).to_vec())
                }
                5 => Value::Number(fixed(&mut bytes, 4)),
                other => panic!("there is no wire type {other}"),
            };
            fields.push((key >> 3, value));
        }
        Self(fields)
    }

    /// All messages of that field.
    pub(super) fn messages(&self, field: u64) -> Vec<Self> {
        self.0.iter().filter(|(number, _)| *number == field).map(|(_, value)| Self::read(bytes(value))).collect()
    }

    /// The message of that field.
    pub(super) fn message(&self, field: u64) -> Option<Self> {
        self.messages(field).pop()
    }

    /// The bytes of that field.
    pub(super) fn bytes(&self, field: u64) -> Option<Vec<u8>> {
        self.value(field).map(|value| bytes(value).to_vec())
    }

    /// The text of that field; empty if it is not there.
    pub(super) fn text(&self, field: u64) -> String {
        String::from_utf8(self.bytes(field).unwrap_or_default()).expect("a text is UTF-8")
    }

    /// The number of that field.
    pub(super) fn number(&self, field: u64) -> Option<u64> {
        self.value(field).map(|value| match value {
            Value::Number(number) => *number,
            Value::Bytes(_) => panic!("field {field} is no number: {self:?}"),
        })
    }

    fn value(&self, field: u64) -> Option<&Value> {
        let mut all = self.0.iter().filter(|(number, _)| *number == field).map(|(_, value)| value);
        let value = all.next();
        assert!(all.next().is_none(), "field {field} is there twice: {self:?}");
        value
    }
}

#[track_caller]
fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::Bytes(bytes) => bytes,
        Value::Number(number) => panic!("`{number}` has no bytes"),
    }
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at_checked(length).expect("a message has all its bytes");
    *bytes = rest;
    taken
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    panic!("a number is longer than 64 bits");
}

fn fixed(bytes: &mut &[u8], length: usize) -> u64 {
    take(bytes, length).iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
