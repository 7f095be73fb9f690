//! Rewriting of requests before they are sent.

use reqwest::Url;
use reqwest::header::HeaderMap;

use crate::error::Error;
use crate::request::grant_target;

/// The part of a request that a rewrite may change. Its host is checked already.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// Path and query may change, nothing else.
    pub url: Url,
    /// As they will be sent, without hop-by-hop headers.
    pub headers: HeaderMap,
}

/// Injects what the guest must not hold, such as a key.
pub trait Rewrite: Send + Sync {
    /// Changes `outgoing`, and returns the byte strings that are redacted in the answer's headers and body. If there
    /// are any, the answer is requested whole and uncompressed.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the request must not be sent.
    fn rewrite(&self, outgoing: &mut Outgoing) -> Result<Vec<Vec<u8>>, Error>;
}

impl<F> Rewrite for F
where
    F: Fn(&mut Outgoing) -> Result<Vec<Vec<u8>>, Error> + Send + Sync,
{
    fn rewrite(&self, outgoing: &mut Outgoing) -> Result<Vec<Vec<u8>>, Error> {
        self(outgoing)
    }
}

/// Applies `rewrite` and checks that the request still goes to the same host.
pub(crate) fn apply(rewrite: &dyn Rewrite, outgoing: &mut Outgoing) -> Result<Vec<Vec<u8>>, Error> {
    let checked = outgoing.url.clone();
    let hidden = rewrite.rewrite(outgoing)?;
    let url = &outgoing.url;
    let same = url.scheme() == checked.scheme()
        && url.host_str() == checked.host_str()
        && url.port() == checked.port()
        && url.username().is_empty()
        && url.password().is_none();
    match same {
        true => Ok(hidden),
        false => {
            Err(Error::Refused(format!("a request to `{}` was rewritten to another host", grant_target(&checked))))
        }
    }
}
