//! Variables of providers' own tools, such as `OPENAI_API_KEY`, used as defaults.
//!
//! They were set for other programs. So `BUB_` variables, `api_base` of config.toml and a secret with the provider's
//! name override them, and their keys are never sent over plain HTTP to another machine.

use super::environment::Environment;
use anyhow::Result;
use bub_egress::secret;
use bub_egress::secret::Secrets;
use bub_model::{Secret, Settings};

/// Ollama's address as in its own tools: `HOST`, `HOST:PORT` or a URL.
pub(super) const OLLAMA_HOST: &str = "OLLAMA_HOST";

/// The known providers and those of `models`.
fn providers(models: &[String]) -> Vec<String> {
    let mut providers: Vec<String> = bub_model::known_providers().map(str::to_owned).collect();
    providers.extend(models.iter().filter_map(|label| bub_model::provider_of(label)));
    providers.sort_unstable();
    providers.dedup();
    providers
}

/// Fills in addresses: `OPENAI_BASE_URL`, `OPENAI_API_BASE` and the like, `OLLAMA_HOST`. An invalid one is skipped,
/// with a warning if a configured model needs it.
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
                // The value may contain a password, so it is not quoted.
                tracing::warn!("environment variable `{variable}` is not an http address, and is not used");
            }
            None => {}
        }
    }
}

/// Fills in keys from secrets with a provider's name; such a key is sent only to the hosts that the secret is bound to.
///
/// # Errors
///
/// The secret of a configured model cannot be read.
pub(super) fn fill_from_secrets(settings: &mut Settings, secrets: &Secrets, models: &[String]) -> Result<()> {
    for label in models {
        fill_from_secret(settings, secrets, label)?.unwrap_or_else(|error| {
            // The model request will report the missing key.
            tracing::warn!("model `{label}`: {error}");
        });
    }
    // Secrets of providers that no configured model uses are not reported: a session may choose them later.
    for provider in bub_model::known_providers() {
        let _ = fill_from_secret(settings, secrets, &format!("{provider}:any"));
    }
    Ok(())
}

/// The inner error: the secret is not bound to the model's server.
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

/// Fills in keys: `OPENAI_API_KEY` and the like, for `gemini` also `GOOGLE_API_KEY`. A key that would be sent
/// unencrypted over a network is skipped, unless the user allowed that.
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
    // A wildcard listening address is not an address to connect to.
    let host = if matches!(host, "" | "0.0.0.0" | "[::]") { "127.0.0.1" } else { host };
    Some(format!("{scheme}://{host}:{port}/v1"))
}

#[cfg(test)]
mod tests {
    use super::ollama;

    #[test]
    fn the_host_of_ollama_is_read_as_by_its_own_tools() {
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
