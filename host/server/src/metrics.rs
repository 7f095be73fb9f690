//! `GET /metrics`: counters since the start of the process, in Prometheus' text format. The same values are exported by
//! OTLP.

use super::extract::Caller;
use super::{Api, ApiError};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bub_config::Scope;
use bub_runtime::plugin::Count;
use bub_telemetry::{Metric, Number, Sample};
use std::fmt::{Display, Write};

const fn metric(
    name: &'static str,
    kind: &'static str,
    labels: &'static [&'static str],
    about: &'static str,
) -> Metric {
    Metric { name, kind, labels, about }
}

/// All metrics.
pub static METRICS: [Metric; 23] = [
    metric("bub_messages_taken_total", "counter", &[], "accepted messages"),
    metric("bub_messages_refused_total", "counter", &[], "messages of channels that were refused"),
    metric("bub_turns_total", "counter", &["outcome"], "completed turns"),
    metric("bub_turn_seconds_total", "counter", &[], "duration of completed turns, in seconds"),
    metric("bub_tokens_total", "counter", &["kind"], "tokens of the model calls of turns"),
    metric("bub_tool_calls_total", "counter", &["outcome"], "completed tool calls"),
    metric("bub_denials_total", "counter", &[], "host calls of plugins that were denied"),
    metric("bub_quota_refusals_total", "counter", &["quota"], "requests refused because a quota was used up"),
    metric("bub_deliveries_total", "counter", &["outcome"], "answers delivered to channels, and answers given up"),
    metric("bub_turns_running", "gauge", &[], "running turns"),
    metric("bub_messages_waiting", "gauge", &[], "messages that wait for their turns"),
    metric("bub_answers_undelivered", "gauge", &[], "answers that wait for delivery"),
    metric(
        "bub_body_bytes",
        "gauge",
        &["caller"],
        "memory of request bodies, in bytes, held until their turns have ended",
    ),
    metric("bub_queue_messages", "gauge", &[], "messages that wait at all workers of the database"),
    metric("bub_queue_age_seconds", "gauge", &[], "age of the oldest message that waits at any worker"),
    metric("bub_leases", "gauge", &[], "leases that are held by all workers of the database"),
    metric("bub_adoptions_total", "counter", &[], "messages and answers taken over from workers that had ended"),
    metric("bub_fenced_writes_total", "counter", &[], "writes refused because another worker had taken over"),
    metric("bub_hook_calls_total", "counter", &["plugin", "hook"], "calls into plugins"),
    metric("bub_hook_faults_total", "counter", &["plugin", "hook"], "calls that failed by a fault of the plugin"),
    metric("bub_hook_seconds_total", "counter", &["plugin", "hook"], "duration of calls into plugins, in seconds"),
    metric("bub_hook_fuel_total", "counter", &["plugin", "hook"], "fuel used by calls into plugins"),
    metric(
        "bub_telemetry_records_total",
        "counter",
        &["outcome"],
        "spans and log lines that were exported, and those that were dropped",
    ),
];

/// All metrics. Their labels name plugins and hooks, but no sessions.
pub(super) async fn metrics(Caller { api, bearer }: Caller) -> Result<Response, ApiError> {
    bearer.needs(Scope::Read)?;
    let page = page(&samples(&api).await);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page).into_response())
}

/// The values of all metrics, in the order of [`METRICS`]. Those that are not known now are left out.
pub(super) async fn samples(api: &Api) -> Vec<Sample> {
    let mut all = Samples::default();
    let host = api.gateway.host();
    let counters = host.events.counters();
    let (running, waiting) = api.gateway.load();
    all.add("bub_messages_taken_total", "", counters.taken);
    all.add("bub_messages_refused_total", "", counters.refused);
    all.add("bub_turns_total", "answered", counters.answered);
    all.add("bub_turns_total", "failed", counters.failed);
    all.add("bub_turn_seconds_total", "", counters.took.as_secs_f64());
    all.add("bub_tokens_total", "prompt", counters.usage.prompt);
    all.add("bub_tokens_total", "completion", counters.usage.completion);
    all.add("bub_tool_calls_total", "result", counters.tools);
    all.add("bub_tool_calls_total", "error", counters.tools_failed);
    all.add("bub_denials_total", "", counters.denied);
    counters.quotas.iter().for_each(|(quota, count)| all.add("bub_quota_refusals_total", quota, *count));
    all.add("bub_deliveries_total", "delivered", counters.delivered);
    all.add("bub_deliveries_total", "undeliverable", counters.undeliverable);
    all.add("bub_turns_running", "", running);
    all.add("bub_messages_waiting", "", waiting);
    all.add("bub_answers_undelivered", "", api.gateway.undelivered());
    let (trusted, unknown) = api.bodies.used();
    all.add("bub_body_bytes", "trusted", trusted);
    all.add("bub_body_bytes", "unknown", unknown);
    // Without an answer of the database the other metrics are of use all the same.
    if let Some(status) = api.gateway.cluster_status().await {
        all.add("bub_queue_messages", "", status.waiting);
        all.add("bub_queue_age_seconds", "", status.oldest);
        all.add("bub_leases", "", status.leases);
        all.add("bub_adoptions_total", "", status.adopted);
        all.add("bub_fenced_writes_total", "", status.fenced);
    }
    let counts = host.meter.counts();
    all.hooks("bub_hook_calls_total", &counts, |count| Number::Whole(count.calls));
    all.hooks("bub_hook_faults_total", &counts, |count| Number::Whole(count.faults));
    all.hooks("bub_hook_seconds_total", &counts, |count| Number::Float(count.took.as_secs_f64()));
    all.hooks("bub_hook_fuel_total", &counts, |count| Number::Whole(count.fuel));
    let records = bub_telemetry::counts();
    all.add("bub_telemetry_records_total", "exported", records.exported);
    all.add("bub_telemetry_records_total", "dropped", records.dropped);
    all.0
}

/// A value as a metric has it.
trait Measure {
    fn number(self) -> Number;
}

impl Measure for u64 {
    fn number(self) -> Number {
        Number::Whole(self)
    }
}

impl Measure for usize {
    fn number(self) -> Number {
        Number::Whole(self as u64)
    }
}

impl Measure for f64 {
    fn number(self) -> Number {
        Number::Float(self)
    }
}

#[derive(Default)]
struct Samples(Vec<Sample>);

impl Samples {
    /// Adds a value of the metric; `label` is the value of its label, if it has one.
    fn add(&mut self, name: &str, label: &str, value: impl Measure) {
        if let Some(metric) = find(name) {
            let labels = metric.labels.iter().map(|name| (*name, label.to_owned())).collect();
            self.0.push(Sample { metric, labels, value: value.number() });
        }
    }

    fn hooks(&mut self, name: &str, counts: &[(String, &'static str, Count)], of: impl Fn(&Count) -> Number) {
        let Some(metric) = find(name) else { return };
        for (plugin, hook, count) in counts {
            let labels = vec![("plugin", plugin.clone()), ("hook", (*hook).to_owned())];
            self.0.push(Sample { metric, labels, value: of(count) });
        }
    }
}

fn find(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// The page that is scraped.
fn page(samples: &[Sample]) -> String {
    let mut page = Page::default();
    for Metric { name, kind, about, .. } in &METRICS {
        page.line(format_args!("# HELP {name} {about}\n# TYPE {name} {kind}"));
        samples.iter().filter(|sample| sample.metric.name == *name).for_each(|sample| page.sample(sample));
    }
    page.0
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn sample(&mut self, Sample { metric: Metric { name, .. }, labels, value }: &Sample) {
        let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        match labels.is_empty() {
            true => self.line(format_args!("{name} {value}")),
            false => self.line(format_args!("{name}{{{}}} {value}", labels.join(","))),
        }
    }

    fn line(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{line}");
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
