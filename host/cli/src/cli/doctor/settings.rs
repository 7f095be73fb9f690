//! Every key of config.toml.

use anyhow::Result;
use bub_config::{Config, DEFAULT_MODEL, Limits, Serve};
use bub_permissions::policy::ApprovalMode;
use serde_json::{Value, json};
use std::io::Write;

/// A key: where it stands, what holds unless it is set, what holds now, what it is for.
struct Key {
    name: &'static str,
    default: Value,
    now: Value,
    about: &'static str,
}

fn key(name: &'static str, default: impl Into<Value>, now: impl Into<Value>, about: &'static str) -> Key {
    Key { name, default: default.into(), now: now.into(), about }
}

fn keys(config: &Config) -> Vec<Key> {
    let (model, limits, unset) = (&config.model, config.limits(), Limits::default());
    let timeout = model.timeout.map(|timeout| timeout.as_secs_f64());
    let plugins: Vec<&String> = config.plugins.keys().collect();
    let trusted: Vec<&String> = config.trusted_plugins.keys().collect();
    let tokens: Vec<&String> = config.tokens.iter().map(|token| &token.name).collect();
    let limit = |name, unset: u64, now: u64, about| key(name, unset, now, about);
    vec![
        key("model", DEFAULT_MODEL, model.model.clone(), "`provider:model`"),
        key("fallback_models", json!([]), json!(config.fallback_models), "asked in order when the model fails"),
        key("api_base", Value::Null, json!(model.api_base), "address of the model's server"),
        key(
            "insecure_http",
            false,
            model.insecure_http,
            "a model's key may go over http to another machine, readable on the way",
        ),
        key("max_steps", Value::Null, json!(config.max_steps), "steps of the agent loop in a turn"),
        key("max_tokens", 16_384, model.max_tokens, "tokens of one answer"),
        key("model_timeout_seconds", Value::Null, json!(timeout), "for one whole answer"),
        key(
            "spill_threshold",
            4096,
            config.spill_threshold,
            "tokens above which a tool's result is put aside; 0: never",
        ),
        key("tape_store", "files", config.tapes.storage.to_string(), "`files`, or `sqlite:PATH`"),
        key("durability", "os", config.tapes.journal.durability.name(), "`os`, or `fsync` for losses of power too"),
        key(
            "memory_history_days",
            30,
            config.tapes.memory_history_days,
            "days for which a version of the memory is kept after the next one",
        ),
        key("lock_wait", 30.0, config.tapes.journal.lock_wait.as_secs_f64(), "seconds for another turn of the session"),
        key("shared_fs", false, config.tapes.shared_fs, "locks of the network file system hold everywhere"),
        key("trusted_workspaces", json!([]), json!(config.trusted_workspaces), "written by `bub-wasm trust`"),
        key(
            "budget.tokens_per_day",
            Value::Null,
            json!(config.budget.tokens_per_day),
            "tokens that all model calls together may use in a day, local time",
        ),
        key(
            "policy.approve",
            ApprovalMode::default().name(),
            config.policy.approve.name(),
            "when the owner is asked about tool calls: `ask`, `auto`, `read-only` or `all`",
        ),
        key(
            "policy.ask_destructive",
            false,
            config.policy.ask_destructive,
            "the owner is asked about commands that destroy something, whatever else is so",
        ),
        key(
            "policy.runs_later",
            json!([]),
            json!(config.policy.runs_later.patterns()),
            "files that run later, beside those that the host knows: to write them is `run`",
        ),
        key(
            "selector",
            "builtin",
            json!(config.selector("").map(|(name, _)| name)),
            "the plugin that selects what of the tape a model is told",
        ),
        key("shadow_selector", Value::Null, json!(config.shadow_selector), "a second one, compared with it in the log"),
        key(
            "windows.MODEL",
            Value::Null,
            Value::Null,
            "tokens that a model takes in, where it is not known or is less",
        ),
        key(
            "context_reserve",
            Value::Null,
            json!(config.context_reserve),
            "tokens of a window that requests stay away from; a twentieth unless set",
        ),
        limit("limits.fuel", unset.fuel, limits.fuel, "units of one call of a guest"),
        limit(
            "limits.memory_mib",
            mib(unset.memory_bytes()),
            mib(limits.memory_bytes()),
            "all memories and tables of a call",
        ),
        limit("limits.deadline_ms", millis(unset.deadline()), millis(limits.deadline()), "of a hook, waiting included"),
        limit(
            "limits.turn_deadline_ms",
            millis(unset.turn_deadline()),
            millis(limits.turn_deadline()),
            "of the whole turn",
        ),
        limit(
            "limits.output_mib",
            mib(unset.output_bytes()),
            mib(limits.output_bytes()),
            "handed over in one call of the host",
        ),
        limit(
            "limits.calls",
            unset.calls("").into(),
            limits.calls("").into(),
            "calls of the host in one call of a hook",
        ),
        limit("limits.depth", unset.depth.into(), limits.depth.into(), "calls inside calls"),
        limit(
            "limits.compile_seconds",
            unset.compile_seconds,
            limits.compile_seconds,
            "of a processor, to compile a plugin",
        ),
        limit("limits.compile_mib", unset.compile_mib, limits.compile_mib, "of memory, to compile a plugin"),
        limit(
            "limits.quarantine_seconds",
            unset.quarantine().as_secs(),
            limits.quarantine().as_secs(),
            "of a plugin's first pause after three faults in a row; each further one is twice as long",
        ),
        key("plugins", json!([]), json!(plugins), "one table a plugin, with the keys below"),
        key("plugins.NAME.enabled", true, Value::Null, "whether it is loaded"),
        key("plugins.NAME.grants", json!([]), Value::Null, "written by `bub-wasm plugin grant`"),
        key("plugins.NAME.digest", Value::Null, Value::Null, "the bytes that the grants are for"),
        key("plugins.NAME.follow", false, Value::Null, "the grants are for whatever bytes come"),
        key("plugins.NAME.on_fault", "fail", Value::Null, "`fail`, `skip`, or `deny` for a gate"),
        key("plugins.NAME.daily_tokens", Value::Null, Value::Null, "tokens that it may spend in a day, local time"),
        key("plugins.NAME.limits", json!({}), Value::Null, "its own limits, with the keys of `limits`"),
        key("plugins.NAME.config", json!({}), Value::Null, "what the plugin reads"),
        key("trusted_plugins", json!([]), json!(trusted), "one table a digest, written by `bub-wasm plugin trust`"),
        key("trusted_plugins.DIGEST.file", Value::Null, Value::Null, "where the workspace's plugin lay"),
        key(
            "trusted_plugins.DIGEST.grants",
            json!([]),
            Value::Null,
            "and `on_fault`, `limits`, `config`: as in `plugins`",
        ),
        key("channels.NAME.owners", json!([]), Value::Null, "senders who are the owner"),
        key("channels.NAME.peers", json!([]), Value::Null, "senders who are known"),
        key("channels.NAME.commands", "none", Value::Null, "`all`, `tools` or `none`: lines that begin with a comma"),
        key("channels.NAME.selector", Value::Null, Value::Null, "the plugin that selects there"),
        key("channels.NAME.tools", json!([]), Value::Null, "tools that only read, for others than the owner"),
        key("channels.NAME.debounce_seconds", 1, Value::Null, "how long the next message of a chat is waited for"),
        key("channels.NAME.max_wait_seconds", 10, Value::Null, "the same, for what is not meant for the agent"),
        key("channels.NAME.active_time_window", 60, Value::Null, "seconds that a chat is listened to behind a message"),
        key("channels.NAME.resend", "mark", Value::Null, "`mark` or `never`: an answer that may have been delivered"),
        key(
            "process.env",
            json!([]),
            json!(config.process.env),
            "further variables that programs get; `AWS_*` for all that begin so",
        ),
        key("serve.listen", json!(Serve::default().listen), json!(config.serve.listen), "address and port of `serve`"),
        key(
            "serve.tls",
            Value::Null,
            json!(config.serve.tls.as_ref().map(|tls| [&tls.certificate, &tls.key])),
            "`certificate` and `key`: files in PEM, below `$BUB_HOME` unless absolute",
        ),
        key(
            "serve.behind_proxy",
            false,
            json!(config.serve.behind_proxy),
            "a proxy ends TLS, and says where requests come from",
        ),
        key("serve.hosts", json!([]), json!(config.serve.hosts), "further names that it answers to"),
        key("serve.origins", json!([]), json!(config.serve.origins), "origins whose pages may use the API"),
        key("serve.max_turns", 64, json!(config.serve.max_turns), "turns that run at once"),
        key("serve.max_waiting", 1024, json!(config.serve.max_waiting), "messages that may wait, of all sessions"),
        key(
            "serve.max_waiting_per_session",
            64,
            json!(config.serve.max_waiting_per_session),
            "messages that may wait in one session",
        ),
        key(
            "serve.enabled_channels",
            json!(["all"]),
            json!(config.serve.enabled_channels),
            "channels of plugins: names, `all`, `!NAME`",
        ),
        key(
            "serve.body_budget_mib",
            128,
            json!(config.serve.body_budget_mib),
            "MiB of bodies at once, of the owner and peers",
        ),
        key(
            "serve.unknown_body_budget_mib",
            2,
            json!(config.serve.unknown_body_budget_mib),
            "the same, of all other callers together",
        ),
        key("serve.patience_seconds", 30, json!(config.serve.patience_seconds), "how long a request may take to come"),
        key("serve.drain_seconds", 20, json!(config.serve.drain_seconds), "how long turns go on at the end"),
        key(
            "quotas.PRINCIPAL.requests_per_minute",
            60,
            Value::Null,
            "requests of a token; the defaults are those of `anonymous`",
        ),
        key("quotas.PRINCIPAL.tokens_per_day", 200_000, Value::Null, "model tokens of a token or a sender"),
        key("quotas.PRINCIPAL.sessions", 64, Value::Null, "sessions that a token may begin"),
        key("quotas.PRINCIPAL.record_mib_per_day", 64, Value::Null, "MiB that a token may add to tapes"),
        key(
            "tokens",
            json!([]),
            json!(tokens),
            "`name`, `hash`, `scopes`, `session_prefix`, `principal`, `quota` each",
        ),
    ]
}

fn mib(bytes: usize) -> u64 {
    (bytes >> 20) as u64
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Takes secrets out of what holds now: an address may hold a password.
fn redact(config: &Config, value: &mut Value) {
    match value {
        Value::String(text) => *text = config.redact(text),
        Value::Array(list) => list.iter_mut().for_each(|one| redact(config, one)),
        Value::Object(table) => table.values_mut().for_each(|one| redact(config, one)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// All of them, one a line.
pub(super) fn print(out: &mut impl Write, config: &Config, as_json: bool) -> Result<()> {
    let mut keys = keys(config);
    keys.iter_mut().for_each(|key| redact(config, &mut key.now));
    if as_json {
        let all = keys
            .iter()
            .map(|key| json!({ "key": key.name, "default": key.default, "now": key.now, "about": key.about }));
        writeln!(out, "{:#}", json!({ "file": config.file(), "keys": all.collect::<Vec<_>>() }))?;
        return Ok(());
    }
    for key in keys {
        let set =
            if key.now.is_null() || key.now == key.default { String::new() } else { format!(", now {}", key.now) };
        writeln!(out, "{:<28} {} (unless set: {}{set})", key.name, key.about, key.default)?;
    }
    Ok(())
}
