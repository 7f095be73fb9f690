//! `GET /metrics`: counters since the start of the process, in Prometheus' text format.

use super::ApiError;
use super::extract::Caller;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bub_config::Scope;
use std::fmt::{Display, Write};

/// A metric, as the page that is scraped describes it.
pub struct Metric {
    /// The name of the metric.
    pub name: &'static str,
    /// `counter` or `gauge`.
    pub kind: &'static str,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// The quantity that it counts.
    pub about: &'static str,
}

const fn metric(
    name: &'static str,
    kind: &'static str,
    labels: &'static [&'static str],
    about: &'static str,
) -> Metric {
    Metric { name, kind, labels, about }
}

/// All metrics.
pub const METRICS: [Metric; 22] = [
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
];

/// All metrics. Their labels name plugins and hooks, but no sessions.
pub(super) async fn metrics(Caller { api, bearer }: Caller) -> Result<Response, ApiError> {
    bearer.needs(Scope::Read)?;
    let mut page = Page::default();
    let host = api.gateway.host();
    let counters = host.events.counters();
    let (running, waiting) = api.gateway.load();
    page.counters("bub_messages_taken_total", [(&[][..], counters.taken)]);
    page.counters("bub_messages_refused_total", [(&[][..], counters.refused)]);
    page.counters(
        "bub_turns_total",
        [(&[("outcome", "answered")][..], counters.answered), (&[("outcome", "failed")], counters.failed)],
    );
    page.counters("bub_turn_seconds_total", [(&[][..], counters.took.as_secs_f64())]);
    page.counters(
        "bub_tokens_total",
        [(&[("kind", "prompt")][..], counters.usage.prompt), (&[("kind", "completion")], counters.usage.completion)],
    );
    page.counters(
        "bub_tool_calls_total",
        [(&[("outcome", "result")][..], counters.tools), (&[("outcome", "error")], counters.tools_failed)],
    );
    page.counters("bub_denials_total", [(&[][..], counters.denied)]);
    let quotas: Vec<_> = counters.quotas.iter().map(|(quota, count)| ([("quota", *quota)], *count)).collect();
    page.counters("bub_quota_refusals_total", quotas.iter().map(|(label, count)| (&label[..], *count)));
    page.counters(
        "bub_deliveries_total",
        [
            (&[("outcome", "delivered")][..], counters.delivered),
            (&[("outcome", "undeliverable")], counters.undeliverable),
        ],
    );
    page.gauge("bub_turns_running", running);
    page.gauge("bub_messages_waiting", waiting);
    page.gauge("bub_answers_undelivered", api.gateway.undelivered());
    let (trusted, unknown) = api.bodies.used();
    page.gauges("bub_body_bytes", [(&[("caller", "trusted")][..], trusted), (&[("caller", "unknown")], unknown)]);
    // Without an answer of the database the other metrics are of use all the same.
    if let Some(status) = api.gateway.cluster_status().await {
        page.gauge("bub_queue_messages", status.waiting);
        page.counters("bub_queue_age_seconds", [(&[][..], status.oldest)]);
        page.gauge("bub_leases", status.leases);
        page.counters("bub_adoptions_total", [(&[][..], status.adopted)]);
        page.counters("bub_fenced_writes_total", [(&[][..], status.fenced)]);
    }
    page.hooks(&host.meter.counts());
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page.0).into_response())
}

#[derive(Default)]
struct Page(String);

/// Names and values of labels.
type Labels<'a> = &'a [(&'a str, &'a str)];

impl Page {
    fn header(&mut self, name: &str) {
        if let Some(Metric { kind, about, .. }) = METRICS.iter().find(|metric| metric.name == name) {
            self.line(format_args!("# HELP {name} {about}\n# TYPE {name} {kind}"));
        }
    }

    fn counters<'a, V: Display>(&mut self, name: &str, values: impl IntoIterator<Item = (Labels<'a>, V)>) {
        self.header(name);
        values.into_iter().for_each(|(labels, value)| self.sample(name, labels, value));
    }

    fn gauge(&mut self, name: &str, value: usize) {
        self.gauges(name, [(&[][..], value)]);
    }

    fn gauges<'a>(&mut self, name: &str, values: impl IntoIterator<Item = (Labels<'a>, usize)>) {
        self.header(name);
        values.into_iter().for_each(|(labels, value)| self.sample(name, labels, value));
    }

    fn hooks(&mut self, counts: &[(String, &'static str, bub_runtime::plugin::Count)]) {
        let each = |page: &mut Self, name: &str, of: &dyn Fn(&bub_runtime::plugin::Count) -> f64| {
            page.header(name);
            for (plugin, hook, count) in counts {
                page.sample(name, &[("plugin", plugin), ("hook", hook)], of(count));
            }
        };
        each(self, "bub_hook_calls_total", &|count| count.calls as f64);
        each(self, "bub_hook_faults_total", &|count| count.faults as f64);
        each(self, "bub_hook_seconds_total", &|count| count.took.as_secs_f64());
        each(self, "bub_hook_fuel_total", &|count| count.fuel as f64);
    }

    fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
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
