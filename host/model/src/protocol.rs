//! The two supported protocols: paths and key headers.

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

/// The protocol of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// OpenAI's chat completions, which nearly all servers speak.
    Chat,
    /// Anthropic's Messages API.
    Messages,
}

/// The version of the Messages API. The user's own header may override it.
const MESSAGES_VERSION: &str = "2023-06-01";

impl Protocol {
    /// The protocol of the provider with that lower-case name.
    pub(crate) fn from_slug(slug: &str) -> Protocol {
        match slug {
            "anthropic" => Protocol::Messages,
            _ => Protocol::Chat,
        }
    }

    /// `base` with the protocol's path appended; `None` if it is not an http URL. A query stays at the end, as Azure
    /// requires.
    pub(crate) fn address(self, base: &str) -> Option<Url> {
        let mut url = http(base)?;
        let is_versioned = url.path_segments()?.rfind(|segment| !segment.is_empty()).is_some_and(is_version);
        let mut path = url.path_segments_mut().ok()?;
        path.pop_if_empty();
        match self {
            Protocol::Chat => path.extend(["chat", "completions"]),
            // Anthropic's own clients add the version, so addresses are used with and without it.
            Protocol::Messages if is_versioned => path.push("messages"),
            Protocol::Messages => path.extend(["v1", "messages"]),
        };
        drop(path);
        Some(url)
    }

    /// The URL of the server's list of models.
    pub(crate) fn models(self, address: &Url) -> Url {
        let mut url = address.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            if self == Protocol::Chat {
                path.pop();
            }
            path.pop().push("models");
        }
        url
    }

    /// The URL for embeddings on the server of chat requests.
    pub(crate) fn embeddings(self, address: &Url) -> Url {
        let mut url = self.models(address);
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop().push("embeddings");
        }
        url
    }

    /// The header with the key, and the prefix of its value.
    pub(crate) fn key_header(self) -> (HeaderName, &'static str) {
        match self {
            Protocol::Chat => (AUTHORIZATION, "Bearer "),
            Protocol::Messages => (HeaderName::from_static("x-api-key"), ""),
        }
    }

    /// A header that every request must have.
    pub(crate) fn fixed_header(self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Protocol::Chat => None,
            Protocol::Messages => {
                Some((HeaderName::from_static("anthropic-version"), HeaderValue::from_static(MESSAGES_VERSION)))
            }
        }
    }

    /// The member that an answer must have.
    pub(crate) fn least(self) -> &'static str {
        match self {
            Protocol::Chat => "choice",
            Protocol::Messages => "message",
        }
    }
}

fn http(base: &str) -> Option<Url> {
    let mut url = Url::parse(base).ok()?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return None;
    }
    url.set_fragment(None);
    Some(url)
}

/// `v1`, but not `vertex`.
fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
