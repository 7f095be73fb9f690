//! Errors of fetching.

use crate::address;
use bub_guest::http::{Error as HttpError, Failure};
use bub_guest::{Error, ErrorKind};
use url::Url;

/// The error that describes a failure of the host or the network.
pub fn of(url: &Url, error: &HttpError, seconds: u64, has_secret: bool) -> Error {
    let grant = address::grant(url);
    let command = format!("bub-wasm plugin grant web {grant}");
    match error.failure {
        Failure::Denied if has_secret => Error::new(
            ErrorKind::Denied,
            format!(
                "`{url}` may not be asked with this secret, or plugin `web` does not hold the grant `{grant}`; to give it: {command}"
            ),
        ),
        Failure::Denied => Error::new(
            ErrorKind::Denied,
            format!("plugin `web` does not hold the grant `{grant}` for `{url}`; to give it: {command}"),
        ),
        Failure::PrivateAddress => Error::new(
            ErrorKind::Denied,
            format!(
                "`{url}` is not on the public internet, and no grant names exactly this host; to give it: {command}"
            ),
        ),
        Failure::Invalid => Error::invalid(format!("`{url}` cannot be asked for: {error}")),
        Failure::Timeout => late(url, seconds),
        Failure::ResponseTooLarge(limit) => {
            let limit = limit.map(|limit| format!(" of {} MiB", limit >> 20)).unwrap_or_default();
            Error::tool(format!("`{url}` is larger than the limit{limit}; fetch it with `bash`"))
        }
        _ => Error::tool(format!("`{url}` could not be fetched: {error}")),
    }
}

/// The time is up.
fn late(url: &Url, seconds: u64) -> Error {
    let message = format!("`{url}` took longer than {seconds} seconds; give it more by `timeout`, or try again later");
    Error::new(ErrorKind::Temporary, message)
}

/// An answer that is none of success.
pub fn of_status(url: &Url, status: u16) -> Error {
    let (kind, help) = match status {
        401 | 403 => (ErrorKind::Tool, "; it wants to know who asks, which `headers` can say"),
        404 | 410 => (ErrorKind::NotFound, ""),
        408 | 425 | 429 | 500..=599 => (ErrorKind::Temporary, "; it may help to try again later"),
        _ => (ErrorKind::Tool, ""),
    };
    Error::new(kind, format!("`{url}` answered with status {status}{help}"))
}

/// A response that is not text.
pub fn binary(url: &Url, content_type: Option<&str>, length: Option<u64>) -> Error {
    let what = content_type.map_or_else(|| "of no declared type".to_owned(), |what| format!("`{what}`"));
    let size = length.map_or_else(|| "of unknown size".to_owned(), |length| format!("{length} bytes"));
    let message = format!("`{url}` is no text: {what}, {size}; fetch it with `bash`, as by `curl -o`");
    Error::new(ErrorKind::Tool, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_holds_the_command_that_helps() {
        let url = Url::parse("http://127.0.0.1:81/a").unwrap();
        for failure in [Failure::Denied, Failure::PrivateAddress] {
            let error = of(&url, &HttpError::new(failure, "refused"), 10, false);
            assert_eq!(error.kind, ErrorKind::Denied);
            assert!(error.message.ends_with("bub-wasm plugin grant web http:http://127.0.0.1:81"), "{}", error.message);
        }
    }

    #[test]
    fn a_status_determines_whether_a_retry_may_help() {
        let url = Url::parse("https://a.org/b").unwrap();
        assert_eq!(of_status(&url, 404).message, "`https://a.org/b` answered with status 404");
        assert_eq!(of_status(&url, 404).kind, ErrorKind::NotFound);
        assert_eq!(of_status(&url, 503).kind, ErrorKind::Temporary);
    }

    #[test]
    fn content_that_is_not_text_is_reported_with_type_and_size() {
        let url = Url::parse("https://a.org/b").unwrap();
        let message = binary(&url, Some("image/png"), Some(12)).message;
        assert!(message.starts_with("`https://a.org/b` is no text: `image/png`, 12 bytes;"), "{message}");
        assert!(binary(&url, None, None).message.contains("of no declared type, of unknown size"));
    }
}
