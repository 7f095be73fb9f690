//! Resolution of `provider:model` to an address, a key and the server's name of the model.

use std::collections::HashMap;

use reqwest::Url;

use crate::error::{Error, ErrorKind};
use crate::protocol::Protocol;
use crate::settings::{Secret, Settings};
use bub_types::text::{clipped, one_line};

/// Base URLs of known providers, without the protocol's path.
const BASES: &[(&str, &str)] = &[
    ("openai", "https://api.openai.com/v1"),
    ("anthropic", "https://api.anthropic.com/v1"),
    ("openrouter", "https://openrouter.ai/api/v1"),
    ("ollama", "http://localhost:11434/v1"),
    ("groq", "https://api.groq.com/openai/v1"),
    ("deepseek", "https://api.deepseek.com/v1"),
    ("mistral", "https://api.mistral.ai/v1"),
    ("gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
];

/// Whether that provider's address is known. Plugins cannot use its name.
pub fn known_provider(name: &str) -> bool {
    let slug = slug(name);
    BASES.iter().any(|(known, _)| *known == slug)
}

/// Providers with known addresses.
pub fn known_providers() -> impl Iterator<Item = &'static str> {
    BASES.iter().map(|(name, _)| *name)
}

/// The provider of `provider:model`, normalized as in variables, in lower case.
pub fn provider_of(label: &str) -> Option<String> {
    split(label).ok().map(|(provider, _)| slug(provider))
}

/// Providers with known or configured addresses, each with whether it has a key or needs none. A base URL for all
/// providers makes every other name valid, listed as `*`.
pub fn reachable(settings: &Settings) -> Vec<(String, bool)> {
    let given = settings.bases.keys().map(|name| slug(name));
    let mut names: Vec<String> = known_providers().map(str::to_owned).chain(given).collect();
    names.extend(settings.api_base.as_ref().map(|_| "*".to_owned()));
    names.sort_unstable();
    names.dedup();
    let has_key = |name: &String| {
        let is_given = settings.api_base.is_some() || by_provider(&settings.bases, name).is_some();
        is_given || name == "ollama" || settings.api_key.is_some() || by_provider(&settings.keys, name).is_some()
    };
    names.into_iter().map(|name| (name.clone(), has_key(&name))).collect()
}

/// Whether `base` is a valid address for that provider.
pub fn is_address(provider: &str, base: &str) -> bool {
    Protocol::from_slug(&slug(provider)).address(base).is_some()
}

/// The URL that the provider's key would be sent to, by `settings`; `None` if no address is known.
pub fn server_of(settings: &Settings, provider: &str) -> Option<Url> {
    let slug = slug(provider);
    let given = settings.api_base.as_deref().or_else(|| by_provider(&settings.bases, &slug).map(String::as_str));
    let known = BASES.iter().find(|(name, _)| *name == slug).map(|(_, base)| *base);
    Protocol::from_slug(&slug).address(given.or(known)?)
}

/// Whether `settings` have an address, and a key, specifically for that provider.
pub fn has_own(settings: &Settings, provider: &str) -> (bool, bool) {
    let slug = slug(provider);
    (by_provider(&settings.bases, &slug).is_some(), by_provider(&settings.keys, &slug).is_some())
}

/// A model's endpoint: address, key and name.
pub(crate) struct Endpoint {
    /// `provider:model`, for errors.
    pub label: String,
    /// The part after the provider.
    pub model: String,
    /// The whole URL. It may contain a password or a key: errors show [`host`](Self::host).
    pub url: Url,
    /// Host, and port if the address has one.
    pub host: String,
    /// `None` if none is needed.
    pub key: Option<Secret>,
    /// The protocol.
    pub protocol: Protocol,
    /// Variations of the protocol.
    pub dialect: Dialect,
}

/// How servers of [`Protocol::Chat`] differ in the accepted body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// The key that limits the answer's length.
    pub max_tokens: &'static str,
    /// Whether usage must be requested. Mistral always sends it, and rejects unknown keys.
    pub stream_options: bool,
}

/// Splits `provider:model`; the model may contain further colons.
///
/// # Errors
///
/// [`ErrorKind::Config`] if there is no colon, one side is empty, the provider has characters other than letters,
/// digits, `_`, `-` and `.`, or the model has control characters.
pub fn split(model: &str) -> Result<(&str, &str), Error> {
    let wrong = |what: &str| {
        let shown = clipped(&one_line(model), 100);
        Error::new(
            ErrorKind::Config,
            format!("model `{shown}` {what}: write `provider:model`, for example `openai:gpt-4o`"),
        )
    };
    let (provider, name) = model.split_once(':').ok_or_else(|| wrong("names no provider"))?;
    let spelled = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if provider.is_empty() || !provider.chars().all(spelled) {
        return Err(wrong("has no valid provider"));
    }
    if name.trim().is_empty() || name.chars().any(char::is_control) {
        return Err(wrong("has no valid name"));
    }
    Ok((provider, name))
}

/// Provider, host, and whether it uses https, of a model whose key is missing.
pub fn key_wanted(settings: &Settings, label: &str) -> Option<(String, String, bool)> {
    let (provider, _) = split(label).ok()?;
    let slug = slug(provider);
    if settings.api_key.is_some() || by_provider(&settings.keys, &slug).is_some() {
        return None;
    }
    let url = server_of(settings, &slug)?;
    Some((slug, url.host_str()?.to_owned(), url.scheme() == "https"))
}

impl Endpoint {
    /// Resolves the endpoint of `label` from `settings`.
    ///
    /// A key is required, except for `ollama` and for an address that the user set: the user's own server may need
    /// none, and a public one reports a missing key itself.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Config`], which names the variable to set, if address or key are missing or the address is not an
    /// `http` or `https` URL.
    pub(crate) fn resolve(settings: &Settings, label: &str) -> Result<Endpoint, Error> {
        let (provider, model) = split(label)?;
        let wrong = |what: String| Error::new(ErrorKind::Config, format!("model `{label}`: {what}"));
        let slug = slug(provider);
        let variable = slug.to_ascii_uppercase();

        let given = settings
            .api_base
            .as_ref()
            .or_else(|| by_provider(&settings.bases, &slug))
            .map(|base| base.trim())
            .filter(|base| !base.is_empty());
        let known = BASES.iter().find(|(name, _)| *name == slug).map(|(_, base)| *base);
        let base = given.or(known).ok_or_else(|| {
            wrong(format!("the address of provider `{provider}` is not known: set `BUB_{variable}_API_BASE`"))
        })?;
        let protocol = Protocol::from_slug(&slug);
        let url = protocol.address(base).ok_or_else(|| {
            wrong(format!(
                "the address of provider `{provider}` is not an http address: change `BUB_API_BASE` or `BUB_{variable}_API_BASE`"
            ))
        })?;

        let key = settings
            .api_key
            .as_ref()
            .or_else(|| by_provider(&settings.keys, &slug))
            .filter(|key| !key.expose().trim().is_empty());
        if key.is_none() && given.is_none() && slug != "ollama" {
            return Err(wrong(format!(
                "provider `{provider}` wants a key: set `{variable}_API_KEY`, `BUB_{variable}_API_KEY` or `BUB_API_KEY`"
            )));
        }

        let host = match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (host, _) => host.unwrap_or_default().to_owned(),
        };
        Ok(Endpoint {
            label: label.to_owned(),
            model: model.to_owned(),
            url,
            host,
            key: key.cloned(),
            protocol,
            dialect: dialect(&slug),
        })
    }
}

fn dialect(slug: &str) -> Dialect {
    Dialect {
        // These support the older name only; they ignore or reject the newer one.
        max_tokens: match slug {
            "mistral" | "deepseek" | "ollama" => "max_tokens",
            _ => "max_completion_tokens",
        },
        stream_options: slug != "mistral",
    }
}

/// A provider's name as in variables, in lower case.
fn slug(provider: &str) -> String {
    provider.to_ascii_lowercase().replace(['-', '.'], "_")
}

fn by_provider<'a, T>(map: &'a HashMap<String, T>, wanted: &str) -> Option<&'a T> {
    map.iter().find(|(name, _)| slug(name) == wanted).map(|(_, value)| value)
}
