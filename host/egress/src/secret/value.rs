//! Values of secrets and their sources.

use bub_system::files::read_regular;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum length of a value, in bytes.
pub(super) const MAX_VALUE: usize = 64 << 10;

/// Minimum characters of a secret: shorter ones occur in ordinary words.
pub(super) const MIN_CHARS: usize = 6;

/// A secret's bytes. `Debug` shows `***`.
#[derive(Clone)]
pub struct Value(Vec<u8>);

impl Value {
    /// Wraps `bytes` without trailing line ends, which editors and `echo` add.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        let mut bytes = bytes.into();
        while bytes.last().is_some_and(|byte| matches!(byte, b'\r' | b'\n')) {
            bytes.pop();
        }
        Self(bytes)
    }

    /// The bytes of the secret. The caller is responsible for where they go.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The secret as text; `None` if it is not UTF-8. The caller is responsible for where it goes.
    pub fn expose_text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// Whether it is too short to redact without garbling ordinary words.
    pub(super) fn is_short(&self) -> bool {
        match self.expose_text() {
            Some(text) => text.chars().count() < MIN_CHARS,
            None => self.0.len() < MIN_CHARS,
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(bub_redact::REPLACEMENT)
    }
}

/// Where a value comes from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// Stored directly in `secrets.toml` or the variable.
    Text(Value),
    /// In that file, which is read at every use.
    File(PathBuf),
}

impl Source {
    /// The current value.
    ///
    /// # Errors
    ///
    /// The reason, as the end of a sentence that begins with the secret.
    pub(super) fn read(&self) -> Result<Value, String> {
        let value = match self {
            Self::Text(value) => value.clone(),
            // Guests see this message, so it does not contain the path.
            Self::File(path) => read(path).map_err(|error| format!("cannot be read from its file: {error}"))?,
        };
        if value.0.is_empty() {
            return Err("is empty".into());
        }
        if value.0.len() > MAX_VALUE {
            return Err(format!("is longer than {MAX_VALUE} bytes"));
        }
        Ok(value)
    }
}

fn read(path: &Path) -> io::Result<Value> {
    // Two more for a line end, which is not counted, and one to detect longer files.
    let (bytes, _) = read_regular(path, MAX_VALUE + 3)?;
    if bytes.len() > MAX_VALUE + 2 {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {MAX_VALUE} bytes")));
    }
    Ok(Value::new(bytes))
}
