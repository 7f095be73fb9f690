//! The variables `BUB_*` of the process and of `$BUB_HOME/.env`.

use super::dotenv;
use anyhow::{Context, Result, bail};
use bub_model::{Secret, Settings};
use bub_system::environment;
use bub_system::files::{Access, read_text};
use bub_types::text::one_line;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// File of variables, below `$BUB_HOME`.
pub(super) const FILE: &str = ".env";

/// All variables with the prefix `BUB_`, in upper case and without it. The process overrides the file.
pub(super) struct Environment {
    variables: HashMap<String, String>,
    /// Variables of providers' own tools, such as `OPENAI_API_KEY`, and of OpenTelemetry, by full name.
    providers: HashMap<String, String>,
    /// Which other users can read the file; `None` if there is no file.
    pub(super) access: Option<Access>,
}

impl Environment {
    pub(super) fn read(home: &Path) -> Result<Self> {
        let (mut variables, mut providers) = (HashMap::new(), HashMap::new());
        let file = home.join(FILE);
        let read = read_text(&file, dotenv::MAX_FILE).map_err(anyhow::Error::msg)?;
        let access = read.as_ref().map(|(_, access)| *access);
        if let Some((text, _)) = read {
            let lookup = |name: &str| environment::get(name)?.into_string().ok();
            // The line itself may hold a key: it is not repeated.
            let lines = dotenv::parse(&text, lookup)
                .map_err(|refused| anyhow::anyhow!("`{}` line {}: {}", file.display(), refused.line, refused.what))?;
            for (name, value) in lines {
                if is_of_provider(&name) {
                    providers.insert(name, value);
                } else {
                    insert(&mut variables, &name, value);
                }
            }
        }
        for (name, value) in environment::all() {
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) if is_of_provider(&name) => drop(providers.insert(name, value)),
                Ok(value) => insert(&mut variables, &name, value),
                // The value may be a key: it is not repeated.
                Err(_) if name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("BUB_")) => {
                    bail!("environment variable `{}` is not UTF-8", one_line(&name))
                }
                Err(_) => {}
            }
        }
        Ok(Self { variables, providers, access })
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Overrides a variable.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// A variable of a provider's own tools or of OpenTelemetry, by full name, trimmed.
    pub(super) fn of_provider(&self, name: &str) -> Option<&str> {
        self.providers.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// Names of all variables that are set, without the prefix `BUB_`.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name.as_str())
    }

    /// A list: words separated by commas, or a JSON array of strings and numbers; `null` is empty.
    pub(super) fn list(&self, name: &str) -> Result<Option<Vec<String>>> {
        let Some(text) = self.get(name).map(str::trim).filter(|text| *text != "null") else { return Ok(None) };
        let word = |value: &Value| match value {
            Value::String(text) => Some(text.trim().to_owned()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let words = match text.starts_with('[') {
            true => serde_json::from_str::<Vec<Value>>(text).ok().and_then(|list| list.iter().map(word).collect()),
            false => Some(text.split(',').map(|word| word.trim().to_owned()).collect::<Vec<_>>()),
        };
        let is_word = |word: &String| !word.contains(|c: char| c.is_whitespace() || c.is_control());
        let words = words.map(|words| words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>());
        let words = words.filter(|words| words.iter().all(is_word));
        words
            .map(Some)
            .with_context(|| format!("environment variable `BUB_{name}`: not a list: write `a,b`, or `[\"a\", \"b\"]`"))
    }

    /// A number of seconds, which may be 0.
    pub(super) fn seconds(&self, name: &str) -> Result<Option<f64>> {
        let Some(text) = self.get(name).filter(|text| *text != "null") else { return Ok(None) };
        let seconds = text.trim().parse::<f64>().ok().filter(|seconds| Duration::try_from_secs_f64(*seconds).is_ok());
        seconds.map(Some).with_context(|| {
            format!("environment variable `BUB_{name}`: `{}` is not a number of seconds", one_line(text))
        })
    }

    /// A whole number.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => bail!("environment variable `BUB_{name}`: `{value}` is not a whole number"),
        }
    }

    /// `true` or `false`, also as `1` or `0`.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>> {
        match self.get(name).map(|value| value.trim().to_ascii_lowercase()).as_deref() {
            None => Ok(None),
            Some("true" | "1") => Ok(Some(true)),
            Some("false" | "0") => Ok(Some(false)),
            Some(value) => bail!("environment variable `BUB_{name}`: `{value}` is neither `true` nor `false`"),
        }
    }

    pub(super) fn positive(&self, name: &str) -> Result<Option<u64>> {
        match self.number(name)? {
            Some(0) => bail!("environment variable `BUB_{name}`: `0` is not a positive whole number"),
            other => Ok(other),
        }
    }

    /// All variables, by full name.
    pub(super) fn all(&self) -> impl Iterator<Item = (String, String)> {
        self.variables.iter().map(|(name, value)| (format!("BUB_{name}"), value.clone()))
    }

    fn json(&self, name: &str) -> Result<Option<Value>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match serde_json::from_str(value) {
            Ok(Value::Null) => Ok(None),
            Ok(json) => Ok(Some(json)),
            Err(error) => bail!("environment variable `BUB_{name}`: no JSON: {error}"),
        }
    }

    fn object(&self, name: &str) -> Result<Map<String, Value>> {
        match self.json(name)? {
            None => Ok(Map::new()),
            Some(Value::Object(object)) => Ok(object),
            Some(_) => bail!("environment variable `BUB_{name}`: not a JSON object"),
        }
    }

    /// The fallback models.
    pub(super) fn fallback_models(&self) -> Result<Option<Vec<String>>> {
        let Some(models) = self.json("FALLBACK_MODELS")? else { return Ok(None) };
        let wrong = "not a JSON list of models, as in `[\"openai:a\", \"groq:b\"]`";
        let models = serde_json::from_value(models);
        models.map(Some).map_err(|_| anyhow::anyhow!("environment variable `BUB_FALLBACK_MODELS`: {wrong}"))
    }

    /// The settings of model requests.
    pub(super) fn model(&self) -> Result<Settings> {
        let mut settings = Settings::new(self.get("MODEL").unwrap_or_default());
        if let Some(max_tokens) = self.positive("MAX_TOKENS")? {
            settings.max_tokens = max_tokens;
        }
        if let Some(value) = self.get("MODEL_TIMEOUT_SECONDS").filter(|value| *value != "null") {
            let timeout = value
                .parse::<f64>()
                .ok()
                .filter(|seconds| *seconds > 0.0)
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            settings.timeout = Some(timeout.with_context(|| {
                format!("environment variable `BUB_MODEL_TIMEOUT_SECONDS`: `{value}` is not a number of seconds")
            })?);
        }
        if let Some(millis) = self.number("RETRY_BASE_MS")? {
            settings.retry_delay = Duration::from_millis(millis);
        }
        settings.completion_args = self.object("COMPLETION_ARGS")?;
        settings.headers = self.headers()?;
        self.addresses(&mut settings)?;
        Ok(settings)
    }

    /// `default_headers` of `BUB_CLIENT_ARGS`.
    fn headers(&self) -> Result<Vec<(String, String)>> {
        let mut arguments = self.object("CLIENT_ARGS")?;
        let headers = match arguments.remove("default_headers") {
            None => Vec::new(),
            Some(Value::Object(headers)) => headers
                .into_iter()
                .map(|(name, value)| match value {
                    Value::String(value) => Ok((name, value)),
                    _ => bail!("environment variable `BUB_CLIENT_ARGS`: the header `{name}` is not a string"),
                })
                .collect::<Result<_>>()?,
            Some(_) => bail!("environment variable `BUB_CLIENT_ARGS`: `default_headers` is not a JSON object"),
        };
        if let Some(name) = arguments.keys().next() {
            tracing::warn!("environment variable `BUB_CLIENT_ARGS`: `{name}` is not supported and is ignored");
        }
        Ok(headers)
    }

    /// Keys and addresses: one for all, a JSON object by provider, or one variable per provider. The single one wins.
    fn addresses(&self, settings: &mut Settings) -> Result<()> {
        // A secret may have the name of a provider's key.
        for (name, value) in self.variables.iter().filter(|(name, _)| !name.starts_with("SECRET_")) {
            if let Some(provider) = name.strip_suffix("_API_KEY") {
                settings.keys.insert(provider.to_ascii_lowercase(), Secret::new(value.clone()));
            } else if let Some(provider) = name.strip_suffix("_API_BASE") {
                settings.bases.insert(provider.to_ascii_lowercase(), value.clone());
            }
        }
        match self.get("API_KEY") {
            Some(map) if map.trim_start().starts_with('{') => {
                settings.keys = by_provider("API_KEY", map)?
                    .into_iter()
                    .map(|(provider, key)| (provider, Secret::new(key)))
                    .collect();
            }
            plain => settings.api_key = plain.map(|key| Secret::new(key.to_owned())),
        }
        match self.get("API_BASE") {
            Some(map) if map.trim_start().starts_with('{') => {
                settings.bases = by_provider("API_BASE", map)?.into_iter().collect()
            }
            plain => settings.api_base = plain.map(str::to_owned),
        }
        Ok(())
    }
}

fn by_provider(name: &str, text: &str) -> Result<Vec<(String, String)>> {
    // The text may hold keys, so errors do not repeat it.
    let map: Map<String, Value> = serde_json::from_str(text)
        .map_err(|_| anyhow::anyhow!("environment variable `BUB_{name}`: not a JSON object of strings by provider"))?;
    map.into_iter()
        .map(|(provider, value)| match value {
            Value::String(value) => Ok((provider.to_ascii_lowercase(), value)),
            _ => bail!("environment variable `BUB_{name}`: the value for `{provider}` is not a string"),
        })
        .collect()
}

/// Whether [`super::providers`] or [`super::telemetry`] reads the variable. Only upper case counts, as for the providers' tools.
fn is_of_provider(name: &str) -> bool {
    let ends = ["_API_KEY", "_BASE_URL", "_API_BASE"];
    let is_telemetry = name.starts_with("OTEL_");
    !name.starts_with("BUB_")
        && (is_telemetry || ends.iter().any(|end| name.ends_with(end)) || name == super::providers::OLLAMA_HOST)
}

fn insert(variables: &mut HashMap<String, String>, name: &str, value: String) {
    let name = name.to_ascii_uppercase();
    if let Some(name) = name.strip_prefix("BUB_") {
        variables.insert(name.to_owned(), value);
    }
}
