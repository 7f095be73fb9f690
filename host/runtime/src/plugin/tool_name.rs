//! The names of tools: plugins separate words by dots, which model providers do not allow.

/// A tool's name as the model sees it: providers allow no dots.
pub fn model_name(name: &str) -> String {
    name.replace('.', "_")
}

/// Whether models would call both by one name.
pub fn is_called(name: &str, other: &str) -> bool {
    let as_written = |byte: u8| if byte == b'.' { b'_' } else { byte };
    name.len() == other.len() && name.bytes().map(as_written).eq(other.bytes().map(as_written))
}
