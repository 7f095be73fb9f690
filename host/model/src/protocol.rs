//! The two protocols that servers speak: where a request is posted, and how it shows its key.

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

/// The version of the Messages API whose bodies are written here. A header of the user's own may ask for another one.
const MESSAGES_VERSION: &str = "2023-06-01";

impl Protocol {
    /// What the provider of that name, in lower case, speaks.
    pub(crate) fn from_slug(slug: &str) -> Protocol {
        match slug {
            "anthropic" => Protocol::Messages,
            _ => Protocol::Chat,
        }
    }

    /// `base` with the protocol's own path behind its path, or None if it is no http address. A query stays behind
    /// both, as Azure wants it.
    pub(crate) fn address(self, base: &str) -> Option<Url> {
        let mut url = http(base)?;
        let is_versioned = url.path_segments()?.rfind(|segment| !segment.is_empty()).is_some_and(is_version);
        let mut path = url.path_segments_mut().ok()?;
        path.pop_if_empty();
        match self {
            Protocol::Chat => path.extend(["chat", "completions"]),
            // Anthropic's own clients add the version, so that addresses are handed around with it and without.
            Protocol::Messages if is_versioned => path.push("messages"),
            Protocol::Messages => path.extend(["v1", "messages"]),
        };
        drop(path);
        Some(url)
    }

    /// Where a server lists its models: beside the address that requests go to.
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

    /// Where texts become vectors, at the server that chat requests go to.
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

    /// A header that every request has to have.
    pub(crate) fn fixed_header(self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Protocol::Chat => None,
            Protocol::Messages => {
                Some((HeaderName::from_static("anthropic-version"), HeaderValue::from_static(MESSAGES_VERSION)))
            }
        }
    }

    /// What an answer has to hold at least.
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
