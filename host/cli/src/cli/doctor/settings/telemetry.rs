//! The keys of `[telemetry]`.

use super::{Key, key};
use bub_config::{Config, Telemetry};
use serde_json::{Value, json};

pub(super) fn keys(config: &Config) -> Vec<Key> {
    let (now, unset) = (&config.telemetry, Telemetry::default());
    vec![
        key(
            "telemetry.endpoint",
            Value::Null,
            json!(now.endpoint),
            "address of an OpenTelemetry collector, for OTLP over HTTP, without `/v1/traces`; nothing is exported unless set",
        ),
        key(
            "telemetry.headers.HEADER",
            Value::Null,
            Value::Null,
            "header of each request to it; `{{secret:NAME}}` stands for a secret that is bound to its host",
        ),
        key(
            "telemetry.service_name",
            unset.service_name,
            now.service_name.clone(),
            "name of this program among others (`service.name`)",
        ),
        key(
            "telemetry.resource.ATTRIBUTE",
            Value::Null,
            Value::Null,
            "further attribute of everything that is exported, such as `\"deployment.environment.name\"`",
        ),
        key(
            "telemetry.sampler",
            unset.sampler,
            now.sampler.clone(),
            "which traces are recorded: `always_on`, `always_off` or `traceidratio`, or one of them after `parentbased_`",
        ),
        key("telemetry.ratio", unset.ratio, now.ratio, "share of the traces that `traceidratio` records, from 0 to 1"),
        key(
            "telemetry.content",
            unset.content,
            now.content,
            "whether spans hold the messages of conversations, and arguments and results of tools",
        ),
        key("telemetry.metrics", unset.metrics, now.metrics, "whether `serve` exports its metrics"),
        key("telemetry.logs", unset.logs, now.logs, "whether lines of the log are exported"),
        key(
            "telemetry.propagate_to_plugins",
            unset.propagate_to_plugins,
            now.propagate_to_plugins,
            "whether HTTP requests of plugins have a `traceparent` header",
        ),
    ]
}
