//! The variables that providers' own tools read, as `OPENAI_API_KEY`: they hold where nothing was said to this program.
//!
//! Such a variable was set for programs in general. So a `BUB_` variable, `api_base` of config.toml and a secret that is
//! called like the provider stand above it, and its key goes over plain http to no other machine.

use super::environment::Environment;
use anyhow::Result;
use bub_egress::secret;
use bub_egress::secret::Secrets;
use bub_model::{Secret, Settings};

/// Where Ollama is, as its own tools have it: `HOST`, `HOST:PORT` or an address.
pub(super) const OLLAMA_HOST: &str = "OLLAMA_HOST";

/// The providers that are known, and those of these models.
fn providers(models: &[String]) -> Vec<String> {
    let mut providers: Vec<String> = bub_model::known_providers().map(str::to_owned).collect();
    providers.extend(models.iter().filter_map(|label| bub_model::provider_of(label)));
    providers.sort_unstable();
    providers.dedup();
    providers
}

/// Fills in addresses: `OPENAI_BASE_URL`, `OPENAI_API_BASE` and the like, `OLLAMA_HOST`. One that is no address is passed
/// over, with a warning where a configured model is of that provider.
pub(super) fn fill_addresses(settings: &mut Settings, environment: &Environment, models: &[String]) {
    for provider in providers(models) {
        if bub_model::has_own(settings, &provider).0 {
            continue;
        }
        let prefix = provider.to_ascii_uppercase();
        let mut variables = vec![format!("{prefix}_BASE_URL"), format!("{prefix}_API_BASE")];
        if provider == "ollama" {
            variables.push(OLLAMA_HOST.to_owned());
        }
        let set = variables.iter().find_map(|name| Some((name, environment.of_provider(name)?)));
        let Some((variable, text)) = set else { continue };
        let base = if variable == OLLAMA_HOST { ollama(text) } else { Some(text.to_owned()) };
        match base.filter(|base| bub_model::is_address(&provider, base)) {
            Some(base) => drop(settings.bases.insert(provider, base)),
            None if models.iter().any(|label| bub_model::provider_of(label).as_ref() == Some(&provider)) => {
                // It may hold a password: it is not repeated.
                tracing::warn!("environment variable `{variable}` is not an http address, and is not used");
            }
            None => {}
        }
    }
}

/// Fills in keys of secrets that are called like a provider: a model's key is a secret like any other, and goes to the hosts
/// that it is bound to.
///
/// # Errors
///
/// The value of a secret that a configured model wants cannot be read.
pub(super) fn fill_from_secrets(settings: &mut Settings, secrets: &Secrets, models: &[String]) -> Result<()> {
    for label in models {
        fill_from_secret(settings, secrets, label)?.unwrap_or_else(|error| {
            // The model then says that it has no key; nothing else has to wait for it.
            tracing::warn!("model `{label}`: {error}");
        });
    }
    // A session may choose a model of another provider. Until it does, that one's secret is nothing to complain about.
    for provider in bub_model::known_providers() {
        let _ = fill_from_secret(settings, secrets, &format!("{provider}:any"));
    }
    Ok(())
}

/// The inner error: the secret does not go where the model's server is.
fn fill_from_secret(settings: &mut Settings, secrets: &Secrets, label: &str) -> Result<Result<(), secret::Error>> {
    let Some((provider, host, is_https)) = bub_model::key_wanted(settings, label) else { return Ok(Ok(())) };
    let Some(key) = secrets.key_for(&provider)? else { return Ok(Ok(())) };
    if let Err(error) = secrets.check_host(&key.name, &host, is_https) {
        return Ok(Err(error));
    }
    if let Some(text) = key.value.expose_text() {
        settings.keys.insert(provider, Secret::new(text));
    }
    Ok(Ok(()))
}

/// Fills in keys: `OPENAI_API_KEY` and the like, for `gemini` also `GOOGLE_API_KEY`. One that would cross a network
/// unencrypted is left out, unless the user allowed that.
pub(super) fn fill_keys(settings: &mut Settings, environment: &Environment, models: &[String]) {
    for provider in providers(models) {
        if bub_model::has_own(settings, &provider).1 {
            continue;
        }
        let mut variables = vec![format!("{}_API_KEY", provider.to_ascii_uppercase())];
        if provider == "gemini" {
            variables.push("GOOGLE_API_KEY".to_owned());
        }
        let Some(key) = variables.iter().find_map(|name| environment.of_provider(name)) else { continue };
        let is_safe = |url: &reqwest::Url| url.scheme() == "https" || bub_model::is_this_machine(url);
        if settings.insecure_http || bub_model::server_of(settings, &provider).as_ref().is_none_or(is_safe) {
            settings.keys.insert(provider, Secret::new(key));
        }
    }
}

/// The address of Ollama's chat completions.
fn ollama(text: &str) -> Option<String> {
    let (scheme, rest, port) = match text.split_once("://") {
        None => ("http", text, "11434"),
        Some(("http", rest)) => ("http", rest, "80"),
        Some(("https", rest)) => ("https", rest, "443"),
        Some(_) => return None,
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let ported = authority.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let (host, port) = ported.filter(|(host, _)| !host.ends_with(':')).unwrap_or((authority, port));
    // What a server listens at is not what it is reached by.
    let host = if matches!(host, "" | "0.0.0.0" | "[::]") { "127.0.0.1" } else { host };
    Some(format!("{scheme}://{host}:{port}/v1"))
}

#[cfg(test)]
mod tests {
    use super::ollama;

    #[test]
    fn the_host_of_ollama_is_what_its_own_tools_make_of_it() {
        for (text, expected) in [
            ("box", "http://box:11434/v1"),
            ("box:8080", "http://box:8080/v1"),
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            (":8080", "http://127.0.0.1:8080/v1"),
            ("[::1]:8080", "http://[::1]:8080/v1"),
            ("[::1]", "http://[::1]:11434/v1"),
            ("http://box", "http://box:80/v1"),
            ("https://box/", "https://box:443/v1"),
        ] {
            assert_eq!(ollama(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(ollama("ftp://box"), None);
    }
}
