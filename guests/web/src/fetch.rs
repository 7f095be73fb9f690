//! Fetching of a page: request, redirects and conversion.

use crate::arguments::Fetch;
use crate::bub::types::types::{Error, ErrorKind};
use crate::page::{self, Kind};
use crate::request::{self, Deadline, Response};
use crate::{address, failure, markdown};
use url::Url;

/// Maximum redirects.
const MAX_REDIRECTS: usize = 10;
/// Maximum bytes of a page.
const MAX_BODY: usize = 2 << 20;

/// The page as text.
///
/// # Errors
///
/// `denied` if the host refuses the request; other errors name the URL.
pub fn fetch(asked: Fetch) -> Result<String, Error> {
    let deadline = Deadline::after(asked.timeout()?);
    let mut headers = asked.headers();
    for (name, value) in request::HEADERS {
        if !headers.iter().any(|(given, _)| given == name) {
            headers.push(((*name).to_owned(), (*value).to_owned()));
        }
    }
    let mut url = address::parse(&asked.url)?;
    for _ in 0..=MAX_REDIRECTS {
        let response = request::send(&url, &headers, &deadline)?;
        let Some(location) = response.location() else {
            return read(&url, response, &deadline);
        };
        let next = address::follow(&url, &location)?;
        if next.origin() != url.origin() {
            // Headers for one host must not be sent to another.
            headers = request::HEADERS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        }
        url = next;
    }
    let message = format!("`{}` redirects more than {MAX_REDIRECTS} times; it ended at `{url}`", asked.url.trim());
    Err(Error::new(ErrorKind::Tool, message))
}

/// The text of a response that is not a redirect.
fn read(url: &Url, response: Response, deadline: &Deadline) -> Result<String, Error> {
    if !(200..300).contains(&response.status) {
        return Err(failure::of_status(url, response.status));
    }
    let content_type = response.header("content-type");
    if let Some(encoding) = response.header("content-encoding").filter(|encoding| encoding != "identity") {
        let message =
            format!("`{url}` came compressed (`{encoding}`) though that was not asked for; use `bash` for it");
        return Err(Error::new(ErrorKind::Tool, message));
    }
    let length = response.header("content-length").and_then(|length| length.parse().ok());
    let kind = Kind::of_type(content_type.as_deref());
    if kind == Kind::Binary {
        return Err(failure::binary(url, content_type.as_deref(), length));
    }
    let (body, is_cut) = response.body(url, deadline, MAX_BODY)?;
    let kind = kind.sniffed(&body);
    if kind == Kind::Binary {
        return Err(failure::binary(url, content_type.as_deref(), length.or((!is_cut).then_some(body.len() as u64))));
    }
    let text = page::decode(&body, content_type.as_deref(), kind, is_cut);
    // Memory is limited, so drop one of the two copies.
    drop(body);
    let (text, was_cut) = match kind {
        Kind::Html => markdown::of_html(text, url),
        _ => (text, false),
    };
    match is_cut || was_cut {
        true => Ok(format!("{text}\n\n[the page is longer: only its beginning was read]")),
        false if text.trim().is_empty() => Ok(format!("[`{url}` has no text]")),
        false => Ok(text),
    }
}
