//! Texts of the user's configuration with secrets in them: the environment of a configured program.

use crate::secret::placeholder::{PlaceholderEncoding, Segment, segments};
use crate::secret::value::{MIN_CHARS, Value};
use crate::secret::{Error, Secrets};

/// The names of the secrets that `text` has placeholders of, in order.
///
/// # Errors
///
/// [`Error::Invalid`] for a placeholder that is not closed or has no valid name.
pub fn placeholders(text: &str) -> Result<Vec<String>, Error> {
    let segments = segments(text.as_bytes(), PlaceholderEncoding::Plain)?;
    let name = |segment| match segment {
        Segment::Placeholder(name) => Some(str::to_owned(name)),
        Segment::Text(_) => None,
    };
    Ok(segments.into_iter().filter_map(name).collect())
}

impl Secrets {
    /// `text` with the values of the secrets in place of their placeholders. It is for texts that the user has written
    /// into the configuration, who decides by that where the secrets go; the hosts of a secret are for requests.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Unusable`] for a value that cannot be read or is too short to be redacted, and
    /// [`Error::Invalid`] for an invalid placeholder.
    pub fn fill(&self, text: &str) -> Result<Value, Error> {
        let mut filled = Vec::with_capacity(text.len());
        for segment in segments(text.as_bytes(), PlaceholderEncoding::Plain)? {
            match segment {
                Segment::Text(text) => filled.extend_from_slice(text),
                Segment::Placeholder(name) => {
                    let value = self.read(name)?;
                    if value.is_short() {
                        let why = format!("is shorter than {MIN_CHARS} characters, too short to be redacted in output");
                        return Err(Error::Unusable { name: name.into(), why });
                    }
                    filled.extend_from_slice(value.expose());
                }
            }
        }
        Ok(Value::new(filled))
    }
}
