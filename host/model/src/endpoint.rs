//! `provider:model` becomes an address, a key and the name that the server knows.

use std::collections::HashMap;

use reqwest::Url;

use crate::error::{Error, ErrorKind};
use crate::protocol::Protocol;
use crate::settings::{Secret, Settings};
use bub_types::text::{clipped, one_line};

/// Providers whose address is known, without the path that their protocol puts behind it.
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

/// Whether that provider's address is known: its name is then not a plugin's to take.
pub fn known_provider(name: &str) -> bool {
    let slug = slug(name);
    BASES.iter().any(|(known, _)| *known == slug)
}

/// The providers whose addresses are known.
pub fn known_providers() -> impl Iterator<Item = &'static str> {
    BASES.iter().map(|(name, _)| *name)
}

/// The provider of `provider:model`, as variables name it but in lower case.
pub fn provider_of(label: &str) -> Option<String> {
    split(label).ok().map(|(provider, _)| slug(provider))
}

/// The providers that can be asked over HTTP: those whose addresses are known or given, each with whether it has a key or
/// may do without. An address for all providers makes every other name one of them, which is then `*`.
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

/// Whether a server of that provider could be reached at `base`.
pub fn is_address(provider: &str, base: &str) -> bool {
    Protocol::from_slug(&slug(provider)).address(base).is_some()
}

/// The URL that the provider's key would be sent to, by `settings`; none if no address is known.
pub fn server_of(settings: &Settings, provider: &str) -> Option<Url> {
    let slug = slug(provider);
    let given = settings.api_base.as_deref().or_else(|| by_provider(&settings.bases, &slug).map(String::as_str));
    let known = BASES.iter().find(|(name, _)| *name == slug).map(|(_, base)| *base);
    Protocol::from_slug(&slug).address(given.or(known)?)
}

/// Whether `settings` have an address, and a key, for that provider alone.
pub fn has_own(settings: &Settings, provider: &str) -> (bool, bool) {
    let slug = slug(provider);
    (by_provider(&settings.bases, &slug).is_some(), by_provider(&settings.keys, &slug).is_some())
}

/// A model's endpoint: address, key and name.
pub(crate) struct Endpoint {
    /// `provider:model`, as errors name it.
    pub label: String,
    /// The part after the provider.
    pub model: String,
    /// The whole address. It may hold a password or a key: errors show [`host`](Self::host).
    pub url: Url,
    /// Host, and port where the address gives one.
    pub host: String,
    /// `None` where none is needed.
    pub key: Option<Secret>,
    /// How it is spoken to.
    pub protocol: Protocol,
    /// What this server calls things.
    pub dialect: Dialect,
}

/// Where servers of [`Protocol::Chat`] differ in the body that they take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// The key that bounds the answer's length.
    pub max_tokens: &'static str,
    /// Whether usage must be requested. Mistral always sends it, and rejects unknown keys.
    pub stream_options: bool,
}

/// Provider and model of `provider:model`; the model may hold further colons.
///
/// # Errors
///
/// [`ErrorKind::Config`] when there is no colon, one side is empty, the provider's name has other characters than
/// letters, digits, `_`, `-` and `.`, or the model's has control characters.
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

/// The provider of that model, its host, and whether it is reached by https, where no key for it is known.
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
    /// A key is wanted, except for `ollama` and for an address that the user gave: a server of their own may have none,
    /// and a public one that wants a key says so itself.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Config`], which names the variable to set, when address or key are missing or the address is no
    /// `http` or `https` one.
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
                "the address of provider `{provider}` is no http address: change `BUB_API_BASE` or `BUB_{variable}_API_BASE`"
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
        // The older name is the only one that these read; they pass over the newer one or refuse it.
        max_tokens: match slug {
            "mistral" | "deepseek" | "ollama" => "max_tokens",
            _ => "max_completion_tokens",
        },
        stream_options: slug != "mistral",
    }
}

/// A provider's name as variables have it, in lower case.
fn slug(provider: &str) -> String {
    provider.to_ascii_lowercase().replace(['-', '.'], "_")
}

fn by_provider<'a, T>(map: &'a HashMap<String, T>, wanted: &str) -> Option<&'a T> {
    map.iter().find(|(name, _)| slug(name) == wanted).map(|(_, value)| value)
}
