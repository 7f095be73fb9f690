//! The keys of the HTTP server: `serve`, `quotas` and `tokens`.

use super::{Key, key};
use bub_config::{Config, Quotas, Serve};
use bub_types::Principal;
use serde_json::{Value, json};

/// In the order of the reference page.
pub(super) fn keys(config: &Config) -> Vec<Key> {
    let (serve, unset_serve) = (&config.serve, Serve::default());
    let anonymous = Quotas::default().for_principal(Principal::Anonymous);
    let tokens: Vec<&String> = config.tokens.iter().map(|token| &token.name).collect();
    vec![
        key("serve.listen", json!(unset_serve.listen), json!(serve.listen), "address and port that `serve` listens on"),
        key(
            "serve.tls.certificate",
            Value::Null,
            json!(serve.tls.as_ref().map(|tls| &tls.certificate)),
            "certificate chain of `serve` in PEM, below `$BUB_HOME` unless absolute",
        ),
        key(
            "serve.tls.key",
            Value::Null,
            json!(serve.tls.as_ref().map(|tls| &tls.key)),
            "private key of the certificate in PEM; only you may read the file",
        ),
        key(
            "serve.behind_proxy",
            false,
            json!(serve.behind_proxy),
            "whether a reverse proxy ends TLS and its headers name the client",
        ),
        key("serve.hosts", json!([]), json!(serve.hosts), "further host names that requests may use"),
        key("serve.origins", json!([]), json!(serve.origins), "web origins that may use the API"),
        key("serve.max_turns", json!(unset_serve.max_turns), json!(serve.max_turns), "turns that run concurrently"),
        key(
            "serve.max_waiting",
            json!(unset_serve.max_waiting),
            json!(serve.max_waiting),
            "messages that may wait in all sessions",
        ),
        key(
            "serve.max_waiting_per_session",
            json!(unset_serve.max_waiting_per_session),
            json!(serve.max_waiting_per_session),
            "messages that may wait in one session",
        ),
        key(
            "serve.enabled_channels",
            json!(unset_serve.enabled_channels),
            json!(serve.enabled_channels),
            "channels of plugins to serve: names, `all`, or `!NAME` to exclude one",
        ),
        key(
            "serve.body_budget_mib",
            json!(unset_serve.body_budget_mib),
            json!(serve.body_budget_mib),
            "memory for request bodies of the owner and peers, in MiB",
        ),
        key(
            "serve.unknown_body_budget_mib",
            json!(unset_serve.unknown_body_budget_mib),
            json!(serve.unknown_body_budget_mib),
            "memory for request bodies of all other callers, in MiB",
        ),
        key(
            "serve.patience_seconds",
            json!(unset_serve.patience_seconds),
            json!(serve.patience_seconds),
            "timeout for reading a request or writing an answer, in seconds",
        ),
        key(
            "serve.drain_seconds",
            json!(unset_serve.drain_seconds),
            json!(serve.drain_seconds),
            "seconds that running turns may take to end at shutdown",
        ),
        key(
            "quotas.PRINCIPAL.requests_per_minute",
            json!(anonymous.requests_per_minute),
            Value::Null,
            "requests of one token per minute; unlimited for `owner` and `peer` unless set",
        ),
        key(
            "quotas.PRINCIPAL.tokens_per_day",
            json!(anonymous.tokens_per_day),
            Value::Null,
            "model tokens of one API token or sender in a day (local time); unlimited for `owner` and `peer` unless set",
        ),
        key(
            "quotas.PRINCIPAL.sessions",
            json!(anonymous.sessions),
            Value::Null,
            "sessions that one token may start; unlimited for `owner` and `peer` unless set",
        ),
        key(
            "quotas.PRINCIPAL.record_mib_per_day",
            json!(anonymous.record_mib_per_day),
            Value::Null,
            "data that one token may add to tapes in a day (UTC), in MiB; unlimited for `owner` and `peer` unless set",
        ),
        key("tokens[].name", Value::Null, json!(tokens), "name of an API token; its bearer's sender id"),
        key("tokens[].hash", Value::Null, Value::Null, "SHA-256 of the token in hex"),
        key("tokens[].scopes", Value::Null, Value::Null, "what the token allows: `turns`, `read`, `witness`, `admin`"),
        key("tokens[].session_prefix", "", Value::Null, "the token reaches sessions whose ids begin with this"),
        key("tokens[].principal", "anonymous", Value::Null, "who its bearer is: `owner`, `peer` or `anonymous`"),
        key(
            "tokens[].quota",
            json!({}),
            Value::Null,
            "quota of this token, with the keys of `quotas.PRINCIPAL`, which hold for those that it leaves out",
        ),
    ]
}
