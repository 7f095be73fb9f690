//! `GET /metrics`: counters since the start of the process, in Prometheus' text format.

use super::ApiError;
use super::extract::Caller;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bub_config::Scope;
use std::fmt::{Display, Write};

/// All metrics. Their labels name plugins and hooks, but no sessions.
pub(super) async fn metrics(Caller { api, bearer }: Caller) -> Result<Response, ApiError> {
    bearer.needs(Scope::Read)?;
    let mut page = Page::default();
    let host = api.gateway.host();
    let counters = host.news.tally();
    let (running, waiting) = api.gateway.load();
    page.counters("bub_messages_taken_total", "accepted messages", [(&[][..], counters.taken)]);
    page.counters(
        "bub_messages_refused_total",
        "messages of channels that were refused",
        [(&[][..], counters.refused)],
    );
    page.counters(
        "bub_turns_total",
        "completed turns",
        [(&[("outcome", "answered")][..], counters.answered), (&[("outcome", "failed")], counters.failed)],
    );
    page.counters("bub_turn_seconds_total", "duration of completed turns", [(&[][..], counters.took.as_secs_f64())]);
    page.counters(
        "bub_tokens_total",
        "tokens of the model calls of turns",
        [(&[("kind", "prompt")][..], counters.usage.prompt), (&[("kind", "completion")], counters.usage.completion)],
    );
    page.counters(
        "bub_tool_calls_total",
        "completed tool calls",
        [(&[("outcome", "result")][..], counters.tools), (&[("outcome", "error")], counters.tools_failed)],
    );
    page.counters("bub_denials_total", "host calls of plugins that were denied", [(&[][..], counters.denied)]);
    let quotas: Vec<_> = counters.quotas.iter().map(|(quota, count)| ([("quota", *quota)], *count)).collect();
    page.counters(
        "bub_quota_refusals_total",
        "requests refused because a quota was used up",
        quotas.iter().map(|(label, count)| (&label[..], *count)),
    );
    page.counters(
        "bub_deliveries_total",
        "answers delivered to channels, and answers given up",
        [
            (&[("outcome", "delivered")][..], counters.delivered),
            (&[("outcome", "undeliverable")], counters.undeliverable),
        ],
    );
    page.gauge("bub_turns_running", "running turns", running);
    page.gauge("bub_messages_waiting", "messages that wait for their turns", waiting);
    page.gauge("bub_answers_undelivered", "answers that wait for delivery", api.gateway.undelivered());
    let (trusted, unknown) = api.bodies.used();
    page.gauges(
        "bub_body_bytes",
        "memory of request bodies, held until their turns have ended",
        [(&[("caller", "trusted")][..], trusted), (&[("caller", "unknown")], unknown)],
    );
    page.hooks(&host.meter.counts());
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page.0).into_response())
}

#[derive(Default)]
struct Page(String);

/// Names and values of labels.
type Labels<'a> = &'a [(&'a str, &'a str)];

impl Page {
    fn header(&mut self, name: &str, about: &str, kind: &str) {
        self.line(format_args!("# HELP {name} {about}\n# TYPE {name} {kind}"));
    }

    fn counters<'a, V: Display>(&mut self, name: &str, about: &str, values: impl IntoIterator<Item = (Labels<'a>, V)>) {
        self.header(name, about, "counter");
        values.into_iter().for_each(|(labels, value)| self.sample(name, labels, value));
    }

    fn gauge(&mut self, name: &str, about: &str, value: usize) {
        self.gauges(name, about, [(&[][..], value)]);
    }

    fn gauges<'a>(&mut self, name: &str, about: &str, values: impl IntoIterator<Item = (Labels<'a>, usize)>) {
        self.header(name, about, "gauge");
        values.into_iter().for_each(|(labels, value)| self.sample(name, labels, value));
    }

    fn hooks(&mut self, counts: &[(String, &'static str, bub_runtime::plugin::Count)]) {
        let each = |page: &mut Self, name: &str, about: &str, of: &dyn Fn(&bub_runtime::plugin::Count) -> f64| {
            page.header(name, about, "counter");
            for (plugin, hook, count) in counts {
                page.sample(name, &[("plugin", plugin), ("hook", hook)], of(count));
            }
        };
        each(self, "bub_hook_calls_total", "calls into plugins", &|count| count.calls as f64);
        each(self, "bub_hook_faults_total", "calls that failed by a fault of the plugin", &|count| count.faults as f64);
        each(self, "bub_hook_seconds_total", "duration of calls", &|count| count.took.as_secs_f64());
        each(self, "bub_hook_fuel_total", "fuel used by calls", &|count| count.fuel as f64);
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
