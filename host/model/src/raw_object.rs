//! JSON that may be put into other JSON as it stands.

use serde_json::value::RawValue;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};

/// One JSON object as somebody has written it, without the space around it. Cloning it is cheap.
///
/// A text that is none would, spliced into a body, rewrite the rest of it. So it is looked at when this is made, and whoever
/// holds one need not look again.
#[derive(Clone, PartialEq, Eq)]
pub struct RawObject(Arc<str>);

impl RawObject {
    /// Looks at a text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`]: it is no JSON, more than one value, or none that is an object.
    pub fn new(text: &str) -> Result<RawObject, Error> {
        let invalid = |reason| Error::new(ErrorKind::InvalidInput, reason);
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| invalid(format!("no JSON: {error}")))?;
        match raw.get().starts_with('{') {
            true => Ok(RawObject(raw.get().into())),
            false => Err(invalid("no JSON object".to_owned())),
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
