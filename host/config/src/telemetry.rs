//! `[telemetry]`: where traces, metrics and logs are exported to.

mod variables;

pub use variables::VARIABLES as OTEL_VARIABLES;

use super::Config;
use anyhow::{Context, Result, bail, ensure};
use bub_egress::secret;
use bub_telemetry::{Sampler, Settings};
use bub_types::text::escaped;
use reqwest::Url;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Headers and resource attributes that may be set, each.
const MAX_ATTRIBUTES: usize = 64;

/// The longest value of one of them, in bytes.
const MAX_VALUE: usize = 8 << 10;

/// `[telemetry]`, with the variables of OpenTelemetry over it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Telemetry {
    /// The address of the collector, for OTLP over HTTP; none: nothing is exported.
    pub endpoint: Option<String>,
    /// Headers of each request. `{{secret:NAME}}` stands for a secret.
    pub headers: BTreeMap<String, String>,
    /// The name of this program among others.
    pub service_name: String,
    /// Further attributes of everything that is exported.
    pub resource: BTreeMap<String, String>,
    /// Which traces are recorded.
    pub sampler: String,
    /// The share of them, for a sampler that has one.
    pub ratio: f64,
    /// Whether spans hold the text of conversations, and arguments and results of tools.
    pub content: bool,
    /// Whether metrics are exported.
    pub metrics: bool,
    /// Whether lines of the log are exported.
    pub logs: bool,
    /// Whether HTTP requests of plugins say to which trace they belong.
    pub propagate_to_plugins: bool,
    /// What the variables of OpenTelemetry set beyond that.
    #[serde(skip)]
    environment: Overrides,
}

/// What only variables set.
#[derive(Debug, Clone)]
struct Overrides {
    is_disabled: bool,
    /// Whether the address of the collector is that of a variable.
    sets_endpoint: bool,
    timeout: Duration,
    span_interval: Duration,
    metric_interval: Duration,
    /// Values that are not used, each with the reason.
    problems: Vec<String>,
}

impl Default for Overrides {
    fn default() -> Self {
        Self {
            is_disabled: false,
            sets_endpoint: false,
            // The defaults of the specification.
            timeout: Duration::from_secs(10),
            span_interval: Duration::from_secs(5),
            metric_interval: Duration::from_secs(60),
            problems: Vec::new(),
        }
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            endpoint: None,
            headers: BTreeMap::new(),
            service_name: "bub-wasm".to_owned(),
            resource: BTreeMap::new(),
            sampler: "parentbased_always_on".to_owned(),
            ratio: 1.0,
            content: false,
            metrics: true,
            logs: true,
            propagate_to_plugins: false,
            environment: Overrides::default(),
        }
    }
}

impl Telemetry {
    /// Checks the table of config.toml.
    pub(super) fn check(&self, insecure_http: bool) -> Result<()> {
        let table = || "`[telemetry]` of config.toml";
        if let Some(endpoint) = &self.endpoint {
            address(endpoint, insecure_http).with_context(|| format!("{}: `endpoint`", table()))?;
        }
        ensure!(
            self.headers.len() <= MAX_ATTRIBUTES && self.resource.len() <= MAX_ATTRIBUTES,
            "{}: at most {MAX_ATTRIBUTES} headers and as many attributes",
            table()
        );
        for (name, value) in &self.headers {
            check_header(name, value).with_context(|| format!("{}: `headers`", table()))?;
        }
        for (name, value) in &self.resource {
            let is_name = !name.is_empty() && name.len() <= 256 && !name.chars().any(char::is_control);
            let shown = escaped(name, 40);
            ensure!(is_name && value.len() <= MAX_VALUE, "{}: `resource`: `{shown}` is too long or empty", table());
        }
        ensure!(!self.service_name.trim().is_empty(), "{}: `service_name` is empty", table());
        ensure!((0.0..=1.0).contains(&self.ratio), "{}: `ratio`: `{}` is not between 0 and 1", table(), self.ratio);
        self.sampler().with_context(table)?;
        Ok(())
    }

    /// The sampler.
    fn sampler(&self) -> Result<Sampler> {
        Sampler::parse(&self.sampler, self.ratio).with_context(|| {
            format!("`sampler`: `{}` is none of `{}`", escaped(&self.sampler, 40), Sampler::NAMES.join("`, `"))
        })
    }

    /// What is wrong with the variables of OpenTelemetry: they are set for other programs too, and do not keep this one
    /// from its start.
    pub fn problems(&self) -> &[String] {
        &self.environment.problems
    }

    /// Whether a variable turns everything off.
    pub fn is_disabled(&self) -> bool {
        self.environment.is_disabled
    }

    /// Values of headers, which may be keys.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.headers.values().flat_map(|value| {
            // `Bearer` and the like stand in front of a key.
            let key = value.rsplit(' ').next().filter(|key| *key != value);
            std::iter::once(value.as_str()).chain(key)
        })
    }
}

impl Config {
    /// The settings of the exporter; none: nothing is exported.
    ///
    /// # Errors
    ///
    /// The address of a variable cannot be used, or a secret of a header cannot be sent there.
    pub fn telemetry_settings(&self) -> Result<Option<Settings>> {
        let telemetry = &self.telemetry;
        let Some(endpoint) = telemetry.endpoint.as_ref().filter(|_| !telemetry.is_disabled()) else { return Ok(None) };
        let source = match telemetry.environment.sets_endpoint {
            true => "environment variable `OTEL_EXPORTER_OTLP_ENDPOINT`",
            false => "`endpoint` in `[telemetry]` of config.toml",
        };
        let url = address(endpoint, self.model.insecure_http).context(source)?;
        let name = url.host_str().unwrap_or_default();
        let mut headers = Vec::with_capacity(telemetry.headers.len());
        for (header, value) in &telemetry.headers {
            for secret in secret::placeholders(value)? {
                self.secrets.check_host(&secret, name, url.scheme() == "https")?;
            }
            let value = self.secrets.fill(value).with_context(|| format!("telemetry header `{header}`"))?;
            headers.push((header.clone(), value.expose().to_vec()));
        }
        Ok(Some(Settings {
            endpoint: url.as_str().trim_end_matches('/').to_owned(),
            host: url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}")),
            is_local: bub_model::is_this_machine(&url),
            headers,
            service_name: telemetry.service_name.clone(),
            resource: telemetry.resource.clone().into_iter().collect(),
            sampler: telemetry.sampler()?,
            metrics: telemetry.metrics,
            logs: telemetry.logs,
            timeout: telemetry.environment.timeout,
            span_interval: telemetry.environment.span_interval,
            metric_interval: telemetry.environment.metric_interval,
        }))
    }
}

/// The address of a collector. What is exported says much about a conversation, so it leaves this machine encrypted.
pub(super) fn address(text: &str, insecure_http: bool) -> Result<Url> {
    let url = Url::parse(text.trim()).context("it is no address, such as `https://otel.example:4318`")?;
    // The address itself may hold a password, and is not repeated.
    match url.scheme() {
        "https" => {}
        "http" if insecure_http || bub_model::is_this_machine(&url) => {}
        "http" => bail!(
            "what is exported would go to `{}` unencrypted: use an `https` address, or set `insecure_http = true` in \
             config.toml",
            escaped(url.host_str().unwrap_or_default(), 100)
        ),
        other => bail!("`{}` is spoken by no collector: use `https`", escaped(other, 20)),
    }
    ensure!(url.host_str().is_some_and(|host| !host.is_empty()), "it has no host");
    ensure!(url.username().is_empty() && url.password().is_none(), "it has a user name: use a header");
    ensure!(url.query().is_none() && url.fragment().is_none(), "it has a query or a fragment");
    Ok(url)
}

pub(super) fn check_header(name: &str, value: &str) -> Result<()> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let shown = escaped(name, 40);
    ensure!(
        !name.is_empty() && name.len() <= 256 && name.chars().all(is_token),
        "`{shown}` is not the name of a header"
    );
    let is_line = value.len() <= MAX_VALUE && !value.chars().any(char::is_control);
    ensure!(is_line, "the value of `{shown}` is too long or has a control character in it");
    secret::placeholders(value).with_context(|| format!("the value of `{shown}`"))?;
    Ok(())
}
