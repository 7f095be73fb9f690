//! The last change to a request before it leaves.

use reqwest::Url;
use reqwest::header::HeaderMap;

use crate::error::Error;
use crate::request::grant_target;

/// The part of a request that may still be changed. Its host is checked already.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// Path and query may change, nothing else.
    pub url: Url,
    /// As they will be sent, without what speaks of the connection.
    pub headers: HeaderMap,
}

/// Fills in what the guest must not hold, such as a key.
pub trait Rewrite: Send + Sync {
    /// Changes `outgoing`, and answers all byte strings that must not come back: in the answer each of them becomes
    /// `***`, in headers and body. If there are any, the answer is asked for whole and uncompressed.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the request must not be sent; nothing of it has left then.
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

/// Lets `rewrite` change `outgoing`, and sees to it that the request still goes where the grant allowed it.
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
