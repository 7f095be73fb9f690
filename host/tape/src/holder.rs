//! The holder of a tape's lease.

use std::fmt;

/// The process that holds a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its number.
    pub pid: u32,
    /// The name of its machine; `None`: this one.
    pub host: Option<String>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.pid)?;
        match &self.host {
            // Another process may have written it.
            Some(host) => write!(f, " on `{}`", bub_types::text::one_line(host)),
            None => Ok(()),
        }
    }
}
