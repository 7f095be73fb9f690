//! Replaces placeholders by secrets when a request is sent.
//!
//! Placeholders are replaced in the path, the query and header values. Bodies are not searched, because posted content
//! may become visible to others. Nothing is decoded: a placeholder in Base64 is sent as it is, so for `Authorization:
//! Basic {{secret:NAME}}` the secret is the Base64 of `user:password`.

use crate::secret::placeholder::{PlaceholderEncoding, Segment, segments};
use crate::secret::value::{MIN_CHARS, Value};
use crate::secret::{Error, Secrets};
use std::collections::BTreeMap;
use std::fmt;

/// Maximum placeholders in a request: each may expand to 64 KiB.
const MAX_PLACEHOLDERS: usize = 32;

/// Injects secrets into requests.
#[derive(Debug, Clone, Copy)]
pub struct SecretInjector<'a> {
    secrets: &'a Secrets,
}

/// A request with its secrets. `Debug` shows their names only.
pub struct InjectedRequest {
    /// The path, and the query with its question mark.
    pub path_and_query: String,
    /// All headers, in their original order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Names of the injected secrets.
    pub used: Vec<String>,
    /// Strings to redact in the answer: all encodings of each value, the longest first.
    pub values: Vec<Vec<u8>>,
}

impl fmt::Debug for InjectedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InjectedRequest").field("used", &self.used).finish_non_exhaustive()
    }
}

impl<'a> SecretInjector<'a> {
    /// An injector of `secrets`.
    pub fn new(secrets: &'a Secrets) -> Self {
        Self { secrets }
    }

    /// Replaces all placeholders of a request to `host` (without a port); `https` is false for plain HTTP. `allowed`
    /// tells whether the plugin may use a name. For a redirect, call it again with the original placeholders and the
    /// new host.
    ///
    /// Reads the files of secrets that are stored in files.
    ///
    /// # Errors
    ///
    /// One placeholder that cannot be replaced rejects the request. [`Error::NotGranted`] is checked before
    /// [`Error::NotFound`], so that the guest does not learn which secrets exist; then [`Error::NotBound`] for another
    /// host or plain http, [`Error::Unusable`] for a value that cannot be read, is too short to redact, or would break
    /// a header, and [`Error::Invalid`] for an invalid placeholder, for more than 32 of them, and for a header that
    /// already had a line end.
    pub fn inject(
        &self,
        host: &str,
        https: bool,
        path_and_query: &str,
        headers: &[(String, Vec<u8>)],
        allowed: &dyn Fn(&str) -> bool,
    ) -> Result<InjectedRequest, Error> {
        let mut request = Request { secrets: self.secrets, host, https, allowed, marks: 0, values: BTreeMap::new() };
        let path_and_query = request.url(path_and_query)?;
        let headers = headers
            .iter()
            .map(|(name, value)| Ok((name.clone(), request.header(value)?)))
            .collect::<Result<_, Error>>()?;
        let mut values: Vec<_> =
            request.values.values().flat_map(|value| bub_redact::encodings(value.expose())).collect();
        bub_redact::sort_longest_first(&mut values);
        Ok(InjectedRequest { path_and_query, headers, used: request.values.into_keys().collect(), values })
    }
}

/// A request during injection.
struct Request<'a> {
    secrets: &'a Secrets,
    host: &'a str,
    https: bool,
    allowed: &'a dyn Fn(&str) -> bool,
    marks: usize,
    /// Each is checked and read once, so that a file that changes meanwhile yields one value.
    values: BTreeMap<String, Value>,
}

impl Request<'_> {
    fn url(&mut self, text: &str) -> Result<String, Error> {
        let mut filled = Vec::with_capacity(text.len());
        for segment in segments(text.as_bytes(), PlaceholderEncoding::Url)? {
            match segment {
                Segment::Text(text) => filled.extend_from_slice(text),
                Segment::Placeholder(name) => {
                    filled.extend_from_slice(bub_redact::url_encode(self.value(name)?.expose()).as_bytes())
                }
            }
        }
        String::from_utf8(filled).map_err(|_| Error::Invalid("the path is not UTF-8".into()))
    }

    fn header(&mut self, text: &[u8]) -> Result<Vec<u8>, Error> {
        let mut filled = Vec::with_capacity(text.len());
        for segment in segments(text, PlaceholderEncoding::Plain)? {
            match segment {
                Segment::Text(text) if text.iter().any(breaks_header) => {
                    return Err(Error::Invalid("a header's value has a line end or another control character".into()));
                }
                Segment::Text(text) => filled.extend_from_slice(text),
                Segment::Placeholder(name) => {
                    let value = self.value(name)?.expose();
                    if value.iter().any(breaks_header) {
                        let why = "has a line end or another control character, which headers cannot hold";
                        return Err(Error::Unusable { name: name.into(), why: why.into() });
                    }
                    filled.extend_from_slice(value);
                }
            }
        }
        Ok(filled)
    }

    fn value(&mut self, name: &str) -> Result<&Value, Error> {
        self.marks += 1;
        if self.marks > MAX_PLACEHOLDERS {
            return Err(Error::Invalid(format!(
                "a request has more than {MAX_PLACEHOLDERS} placeholders `{{{{secret:...}}}}`"
            )));
        }
        if !self.values.contains_key(name) {
            if !(self.allowed)(name) {
                return Err(Error::NotGranted { name: name.into() });
            }
            self.secrets.check_host(name, self.host, self.https)?;
            let value = self.secrets.read(name)?;
            if value.is_short() {
                let why = format!("is shorter than {MIN_CHARS} characters, too short to be redacted in the answer");
                return Err(Error::Unusable { name: name.into(), why });
            }
            self.values.insert(name.to_owned(), value);
        }
        self.values.get(name).ok_or_else(|| Error::NotFound { name: name.into() })
    }
}

fn breaks_header(byte: &u8) -> bool {
    byte.is_ascii_control() && *byte != b'\t'
}
