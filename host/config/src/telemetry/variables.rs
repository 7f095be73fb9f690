//! The variables of OpenTelemetry: the same for all programs that export by OTLP. They override the file.

use super::{MAX_ATTRIBUTES, MAX_VALUE, Telemetry, check_header};
use crate::environment::Environment;
use bub_telemetry::Sampler;
use bub_types::text::escaped;
use percent_encoding::percent_decode_str;
use std::time::Duration;

/// All that are read, with their meaning.
pub const VARIABLES: [(&str, &str); 12] = [
    ("OTEL_SDK_DISABLED", "`true` turns the export of telemetry off."),
    (
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "Address of an OpenTelemetry collector, for OTLP over HTTP, without `/v1/traces`. Overrides `telemetry.endpoint`, and `telemetry.headers` with it.",
    ),
    (
        "OTEL_EXPORTER_OTLP_HEADERS",
        "Headers of each request to it: `name=value`, with commas between them. `{{secret:NAME}}` stands for a secret.",
    ),
    ("OTEL_EXPORTER_OTLP_PROTOCOL", "`http/protobuf`; with another value, nothing is exported."),
    ("OTEL_EXPORTER_OTLP_TIMEOUT", "Longest time for one request to the collector, in milliseconds. Default: 10000."),
    ("OTEL_SERVICE_NAME", "Overrides `telemetry.service_name`."),
    ("OTEL_RESOURCE_ATTRIBUTES", "Adds to `telemetry.resource`: `name=value`, with commas between them."),
    ("OTEL_TRACES_SAMPLER", "Overrides `telemetry.sampler`."),
    ("OTEL_TRACES_SAMPLER_ARG", "Overrides `telemetry.ratio`."),
    (
        "OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER, OTEL_LOGS_EXPORTER",
        "`none` turns the export of traces, metrics or logs off.",
    ),
    ("OTEL_BSP_SCHEDULE_DELAY", "Time between two requests with spans, in milliseconds. Default: 5000."),
    ("OTEL_METRIC_EXPORT_INTERVAL", "Time between two requests with metrics, in milliseconds. Default: 60000."),
];

impl Telemetry {
    /// The table with the variables over it. A value that cannot be used is noted, and left out.
    pub(crate) fn with_environment(mut self, environment: &Environment) -> Self {
        let get = |name: &str| environment.of_provider(name);
        let mut problems = Vec::new();
        let is_off = get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        self.environment.is_disabled = is_off;
        if let Some(endpoint) = get("OTEL_EXPORTER_OTLP_ENDPOINT") {
            self.endpoint = Some(endpoint.to_owned());
            self.environment.sets_endpoint = true;
            // The file's headers are for the file's address.
            self.headers.clear();
        }
        for (name, value) in pairs("OTEL_EXPORTER_OTLP_HEADERS", get, &mut problems) {
            match check_header(&name, &value) {
                Ok(()) => drop(self.headers.insert(name.to_ascii_lowercase(), value)),
                // The value may be a key.
                Err(_) => problems.push(format!(
                    "environment variable `OTEL_EXPORTER_OTLP_HEADERS`: `{}` is no header that can be sent",
                    escaped(&name, 40)
                )),
            }
        }
        for (name, value) in pairs("OTEL_RESOURCE_ATTRIBUTES", get, &mut problems) {
            match name.as_str() {
                "service.name" => self.service_name = value,
                _ => drop(self.resource.insert(name, value)),
            }
        }
        if let Some(name) = get("OTEL_SERVICE_NAME") {
            self.service_name = name.chars().take(256).collect();
        }
        self.sample_by(get, &mut problems);
        if get("OTEL_TRACES_EXPORTER") == Some("none") {
            self.sampler = "always_off".to_owned();
        }
        self.metrics &= get("OTEL_METRICS_EXPORTER") != Some("none");
        self.logs &= get("OTEL_LOGS_EXPORTER") != Some("none");
        let mut times = [
            ("OTEL_EXPORTER_OTLP_TIMEOUT", &mut self.environment.timeout),
            ("OTEL_BSP_SCHEDULE_DELAY", &mut self.environment.span_interval),
            ("OTEL_METRIC_EXPORT_INTERVAL", &mut self.environment.metric_interval),
        ];
        for (name, time) in &mut times {
            let Some(text) = get(name) else { continue };
            // At most an hour, and not without a pause.
            match text.parse::<u64>().ok().filter(|millis| (10..=3_600_000).contains(millis)) {
                Some(millis) => **time = Duration::from_millis(millis),
                None => problems.push(format!(
                    "environment variable `{name}`: `{}` is not between 10 and 3600000 milliseconds",
                    escaped(text, 40)
                )),
            }
        }
        if let Some(protocol) = get("OTEL_EXPORTER_OTLP_PROTOCOL").filter(|protocol| *protocol != "http/protobuf") {
            problems.push(format!(
                "environment variable `OTEL_EXPORTER_OTLP_PROTOCOL`: `{}` is not spoken, only `http/protobuf`; nothing is \
                 exported",
                escaped(protocol, 40)
            ));
            self.environment.is_disabled |= self.endpoint.is_some();
        }
        // Where nothing is to be exported, they are another program's matter.
        let is_wanted = self.endpoint.is_some() && !is_off;
        self.environment.problems = if is_wanted { problems } else { Vec::new() };
        self
    }

    fn sample_by<'a>(&mut self, get: impl Fn(&str) -> Option<&'a str>, problems: &mut Vec<String>) {
        if let Some(ratio) = get("OTEL_TRACES_SAMPLER_ARG") {
            match ratio.parse::<f64>().ok().filter(|ratio| (0.0..=1.0).contains(ratio)) {
                Some(ratio) => self.ratio = ratio,
                None => problems.push(format!(
                    "environment variable `OTEL_TRACES_SAMPLER_ARG`: `{}` is not between 0 and 1",
                    escaped(ratio, 40)
                )),
            }
        }
        if let Some(name) = get("OTEL_TRACES_SAMPLER") {
            match Sampler::parse(name, 1.0) {
                Some(_) => name.clone_into(&mut self.sampler),
                None => problems.push(format!(
                    "environment variable `OTEL_TRACES_SAMPLER`: `{}` is none of `{}`",
                    escaped(name, 40),
                    Sampler::NAMES.join("`, `")
                )),
            }
        }
    }
}

/// `name=value,name=value`, both percent-encoded.
fn pairs<'a>(
    variable: &str,
    get: impl Fn(&str) -> Option<&'a str>,
    problems: &mut Vec<String>,
) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for text in get(variable).unwrap_or_default().split(',').map(str::trim).filter(|text| !text.is_empty()) {
        let decode = |text: &str| percent_decode_str(text.trim()).decode_utf8().ok().map(|text| text.into_owned());
        let pair = text.split_once('=').and_then(|(name, value)| Some((decode(name)?, decode(value)?)));
        match pair.filter(|(name, value)| !name.is_empty() && name.len() <= 256 && value.len() <= MAX_VALUE) {
            Some(pair) if pairs.len() < MAX_ATTRIBUTES => pairs.push(pair),
            // The text may be a key.
            _ => problems.push(format!("environment variable `{variable}`: a part of it is not `name=value`")),
        }
    }
    problems.truncate(MAX_ATTRIBUTES);
    pairs
}
