//! `GET /metrics`: counts since the program began, in Prometheus' words.

use super::Problem;
use super::extract::Caller;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bub_config::Scope;
use std::fmt::{Display, Write};

/// All counts. They name plugins and hooks, and no session.
pub(super) async fn metrics(Caller { api, bearer }: Caller) -> Result<Response, Problem> {
    bearer.needs(Scope::Read)?;
    let mut page = Page::default();
    let host = api.gateway.host();
    let tally = host.news.tally();
    let (running, waiting) = api.gateway.load();
    page.counts("bub_messages_taken_total", "messages that were taken", [(&[][..], tally.taken)]);
    page.counts("bub_messages_refused_total", "messages of channels that break a rule", [(&[][..], tally.refused)]);
    page.counts(
        "bub_turns_total",
        "turns that have ended",
        [(&[("outcome", "answered")][..], tally.answered), (&[("outcome", "failed")], tally.failed)],
    );
    page.counts("bub_turn_seconds_total", "how long they took", [(&[][..], tally.took.as_secs_f64())]);
    page.counts(
        "bub_tokens_total",
        "tokens of the model calls of turns",
        [(&[("kind", "prompt")][..], tally.usage.prompt), (&[("kind", "completion")], tally.usage.completion)],
    );
    page.counts(
        "bub_tool_calls_total",
        "tool calls that have ended",
        [(&[("outcome", "result")][..], tally.tools), (&[("outcome", "error")], tally.tools_failed)],
    );
    page.counts("bub_denials_total", "what plugins were refused", [(&[][..], tally.denied)]);
    let quotas: Vec<_> = tally.quotas.iter().map(|(quota, count)| ([("quota", *quota)], *count)).collect();
    page.counts(
        "bub_quota_refusals_total",
        "what callers were refused because a quota was used up",
        quotas.iter().map(|(label, count)| (&label[..], *count)),
    );
    page.counts(
        "bub_deliveries_total",
        "answers to channels",
        [(&[("outcome", "delivered")][..], tally.delivered), (&[("outcome", "undeliverable")], tally.undeliverable)],
    );
    page.gauge("bub_turns_running", "turns that run now", running);
    page.gauge("bub_messages_waiting", "messages that wait for their turns", waiting);
    page.gauge("bub_answers_undelivered", "answers that wait for their channels", api.gateway.undelivered());
    let (trusted, unknown) = api.bodies.used();
    page.gauges(
        "bub_body_bytes",
        "memory that bodies of requests take until their turns have ended",
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
    fn head(&mut self, name: &str, about: &str, kind: &str) {
        self.line(format_args!("# HELP {name} {about}\n# TYPE {name} {kind}"));
    }

    fn counts<'a, V: Display>(&mut self, name: &str, about: &str, values: impl IntoIterator<Item = (Labels<'a>, V)>) {
        self.head(name, about, "counter");
        values.into_iter().for_each(|(labels, value)| self.value(name, labels, value));
    }

    fn gauge(&mut self, name: &str, about: &str, value: usize) {
        self.gauges(name, about, [(&[][..], value)]);
    }

    fn gauges<'a>(&mut self, name: &str, about: &str, values: impl IntoIterator<Item = (Labels<'a>, usize)>) {
        self.head(name, about, "gauge");
        values.into_iter().for_each(|(labels, value)| self.value(name, labels, value));
    }

    fn hooks(&mut self, counts: &[(String, &'static str, bub_runtime::plugin::Count)]) {
        let each = |page: &mut Self, name: &str, about: &str, of: &dyn Fn(&bub_runtime::plugin::Count) -> f64| {
            page.head(name, about, "counter");
            for (plugin, hook, count) in counts {
                page.value(name, &[("plugin", plugin), ("hook", hook)], of(count));
            }
        };
        each(self, "bub_hook_calls_total", "calls into plugins", &|count| count.calls as f64);
        each(self, "bub_hook_faults_total", "calls that the plugin broke", &|count| count.faults as f64);
        each(self, "bub_hook_seconds_total", "how long calls took", &|count| count.took.as_secs_f64());
        each(self, "bub_hook_fuel_total", "fuel that calls used", &|count| count.fuel as f64);
    }

    fn value(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        match labels.is_empty() {
            true => self.line(format_args!("{name} {value}")),
            false => self.line(format_args!("{name}{{{}}} {value}", labels.join(","))),
        }
    }

    fn line(&mut self, line: impl Display) {
        // A string takes what is written.
        let _ = writeln!(self.0, "{line}");
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
