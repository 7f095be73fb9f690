//! Validated JSON objects that can be spliced into other JSON.

use serde_json::value::RawValue;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};

/// A JSON object as text, trimmed. Cloning is cheap.
///
/// Invalid text spliced into a body would change the rest of it, so the text is validated first.
#[derive(Clone, PartialEq, Eq)]
pub struct RawObject(Arc<str>);

impl RawObject {
    /// Validates a text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`]: it is not JSON, more than one value, or not an object.
    pub fn new(text: &str) -> Result<RawObject, Error> {
        let invalid = |reason| Error::new(ErrorKind::InvalidInput, reason);
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| invalid(format!("no JSON: {error}")))?;
        match raw.get().starts_with('{') {
            true => Ok(RawObject(raw.get().into())),
            false => Err(invalid("not a JSON object".to_owned())),
        }
    }
}

impl Deref for RawObject {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for RawObject {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RawObject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
