//! Every key of config.toml.

mod changes;
mod mcp;
mod process;
mod registry;
mod server;
mod telemetry;

use anyhow::Result;
use bub_config::{Config, DEFAULT_MODEL, Limits, OPEN_TOOLS, TOOL_BUDGET};
use bub_permissions::policy::ApprovalMode;
use bub_types::hook::Deadline;
use serde_json::{Value, json};
use std::io::Write;

/// A key: its name, default, current value and description.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) default: Value,
    now: Value,
    pub(crate) about: &'static str,
}

fn key(name: &'static str, default: impl Into<Value>, now: impl Into<Value>, about: &'static str) -> Key {
    Key { name, default: default.into(), now: now.into(), about }
}

/// All of them. A test compares them with the keys that are read.
pub(crate) fn keys(config: &Config) -> Vec<Key> {
    let (model, limits, unset) = (&config.model, config.limits(), Limits::default());
    let timeout = model.timeout.map(|timeout| timeout.as_secs_f64());
    let limit = |name, unset: u64, now: u64, about| key(name, unset, now, about);
    let mut keys = vec![
        key("model", DEFAULT_MODEL, model.model.clone(), "model that answers, as `provider:model`"),
        key(
            "fallback_models",
            json!([]),
            json!(config.fallback_models),
            "models to try in order when the first one fails",
        ),
        key(
            "api_base",
            Value::Null,
            json!(model.api_base),
            "address of the model's server, without `/chat/completions`; the provider's own unless set",
        ),
        key(
            "insecure_http",
            false,
            model.insecure_http,
            "whether a model's key may be sent to another machine without encryption",
        ),
        key(
            "max_steps",
            Value::Null,
            json!(config.max_steps),
            "largest number of model calls in a turn; unlimited unless set",
        ),
        key("max_tokens", 16_384, model.max_tokens, "largest number of tokens in one answer"),
        key("model_timeout_seconds", Value::Null, json!(timeout), "longest time for one answer, in seconds"),
        key(
            "spill_threshold",
            4096,
            config.spill_threshold,
            "tokens above which a tool's result is stored beside the tape; 0: never",
        ),
        key(
            "tool_budget",
            TOOL_BUDGET,
            config.tool_budget,
            "percent of the model's context above which tools are deferred: the model gets a few, and searches for the others",
        ),
        key(
            "tools_always",
            Value::Null,
            json!(config.tools_always),
            "tools that are never deferred, by name or by a beginning with `*`; those of the program itself unless set",
        ),
        key(
            "tape_store",
            "files",
            config.tapes.storage.to_string(),
            "where tapes are stored: `files`, `sqlite:PATH` or `postgres://HOST/NAME`",
        ),
        key(
            "plugin_store",
            Value::Null,
            if config.shares_plugins() { "shared" } else { "local" },
            "with PostgreSQL: whether plugins are `shared` by all workers, the default, or `local`",
        ),
        key(
            "durability",
            "os",
            config.tapes.journal.durability.name(),
            "what writes survive: `os` a crash of the process, `fsync` a loss of power too",
        ),
        key(
            "memory_history_days",
            30,
            config.tapes.memory_history_days,
            "days for which an old version of the memory is kept",
        ),
        key(
            "lock_wait",
            30.0,
            config.tapes.journal.lock_wait.as_secs_f64(),
            "seconds to wait for another turn of the same session",
        ),
        key(
            "lease_seconds",
            30.0,
            config.tapes.lease.as_secs_f64(),
            "seconds after which other workers of a database take over from one that does not answer",
        ),
        key(
            "shared_fs",
            false,
            config.tapes.shared_fs,
            "whether the locks of a network file system hold on all machines",
        ),
        key(
            "trusted_workspaces",
            json!([]),
            json!(config.trusted_workspaces),
            "workspaces whose files count as your own words; written by `bub-wasm trust`",
        ),
        key(
            "budget.tokens_per_day",
            Value::Null,
            json!(config.budget.tokens_per_day),
            "tokens that all model calls may use in a day (local time); unlimited unless set",
        ),
        key("prices.currency", Value::Null, json!(config.prices.currency), "the currency of prices, such as `USD`"),
        key(
            "prices.models.MODEL.prompt",
            Value::Null,
            Value::Null,
            "the price of a million prompt tokens of a model; shown, not enforced",
        ),
        key(
            "prices.models.MODEL.cached",
            Value::Null,
            Value::Null,
            "the price of those that the provider read from its cache; as others unless set",
        ),
        key(
            "prices.models.MODEL.completion",
            Value::Null,
            Value::Null,
            "the price of a million completion tokens of a model",
        ),
        key(
            "policy.approve",
            ApprovalMode::default().name(),
            config.policy.approve.name(),
            "when you are asked to approve a tool call: `ask`, `auto`, `read-only` or `all`",
        ),
        key(
            "policy.ask_destructive",
            false,
            config.policy.ask_destructive,
            "whether destructive commands always need approval",
        ),
        key(
            "policy.runs_later",
            json!([]),
            json!(config.policy.runs_later.patterns()),
            "patterns of further files that are executed later; writing them needs the effect `run`",
        ),
        key(
            "selector",
            Value::Null,
            json!(config.selector("").map(|(name, _)| name)),
            "plugin that selects the context for the model; unless set, the latest of your own plugins that select, else `builtin`",
        ),
        key(
            "shadow_selector",
            Value::Null,
            json!(config.shadow_selector),
            "second selector, whose choice is only compared in the log",
        ),
        key(
            "windows.MODEL",
            Value::Null,
            Value::Null,
            "context window of a model in tokens, if it is unknown or smaller",
        ),
        key(
            "context_reserve",
            Value::Null,
            json!(config.context_reserve),
            "tokens of the context window that stay free; a twentieth unless set",
        ),
        key(
            "embedding_model",
            Value::Null,
            json!(config.embedding_model),
            "model that compares texts by meaning, `provider:model`; without it, words are compared",
        ),
        key(
            "embedding_scale.median",
            Value::Null,
            json!(config.embedding_scale.map(|scale| scale.median)),
            "median cosine of unrelated texts; measured unless set",
        ),
        key(
            "embedding_scale.spread",
            Value::Null,
            json!(config.embedding_scale.map(|scale| scale.spread)),
            "spread of these cosines; set both or neither",
        ),
        limit("limits.fuel", unset.fuel, limits.fuel, "fuel of one call into a plugin"),
        limit(
            "limits.memory_mib",
            mib(unset.memory_bytes()),
            mib(limits.memory_bytes()),
            "memory of one call into a plugin, in MiB",
        ),
        limit(
            "limits.deadline_ms",
            millis(unset.deadline()),
            millis(limits.deadline()),
            "deadline of a hook, in milliseconds, waiting included",
        ),
        limit(
            "limits.turn_deadline_ms",
            millis(unset.turn_deadline()),
            millis(limits.turn_deadline()),
            "deadline of a turn, in milliseconds",
        ),
        limit(
            "limits.output_mib",
            mib(unset.output_bytes()),
            mib(limits.output_bytes()),
            "data that a plugin may pass in one call of the host, in MiB",
        ),
        limit(
            "limits.calls",
            unset.calls(Deadline::Plugin).into(),
            limits.calls(Deadline::Plugin).into(),
            "calls of the host during one call of a hook",
        ),
        limit("limits.depth", unset.depth.into(), limits.depth.into(), "depth of nested calls"),
        limit(
            "limits.compile_seconds",
            unset.compile_seconds,
            limits.compile_seconds,
            "CPU seconds to compile a plugin",
        ),
        limit("limits.compile_mib", unset.compile_mib, limits.compile_mib, "memory to compile a plugin, in MiB"),
        limit(
            "limits.quarantine_seconds",
            unset.quarantine().as_secs(),
            limits.quarantine().as_secs(),
            "seconds of a plugin's first quarantine after three faults in a row; each further one is twice as long",
        ),
        key("plugins.NAME.enabled", true, Value::Null, "whether the plugin is loaded"),
        key(
            "plugins.NAME.grants",
            Value::Null,
            Value::Null,
            "grants of the plugin, written by `bub-wasm plugin grant`; unless set, those that a built-in plugin comes with, and none for others",
        ),
        key("plugins.NAME.digest", Value::Null, Value::Null, "SHA-256 of the component that the grants were given to"),
        key("plugins.NAME.follow", false, Value::Null, "whether the grants hold for any component of this name"),
        key(
            "plugins.NAME.on_fault",
            "fail",
            Value::Null,
            "effect of a fault: `fail` the turn, `skip` the plugin, or `deny` the call (a gate)",
        ),
        key(
            "plugins.NAME.daily_tokens",
            Value::Null,
            Value::Null,
            "tokens that the plugin may use in a day (local time); unlimited unless set",
        ),
        key("plugins.NAME.limits", json!({}), Value::Null, "limits of the plugin, with the keys of `limits`"),
        key("plugins.NAME.config", json!({}), Value::Null, "settings that the plugin reads"),
        key("trusted_plugins.DIGEST.file", Value::Null, Value::Null, "path of the component when it was trusted"),
        key("trusted_plugins.DIGEST.grants", json!([]), Value::Null, "grants of the component"),
        key("trusted_plugins.DIGEST.on_fault", "fail", Value::Null, "as in `plugins.NAME.on_fault`"),
        key("trusted_plugins.DIGEST.limits", json!({}), Value::Null, "as in `plugins.NAME.limits`"),
        key("trusted_plugins.DIGEST.config", json!({}), Value::Null, "as in `plugins.NAME.config`"),
        key("channels.NAME.owners", json!([]), Value::Null, "sender ids that are the owner"),
        key(
            "channels.NAME.peers",
            json!([]),
            Value::Null,
            "sender ids that are peers; all other senders are anonymous",
        ),
        key(
            "channels.NAME.commands",
            "none",
            Value::Null,
            "meaning of lines that begin with a comma: `all`, `tools` or `none`; `all` on `cli`",
        ),
        key("channels.NAME.selector", Value::Null, Value::Null, "selector of this channel; `selector` unless set"),
        key(
            "channels.NAME.tools",
            json!(OPEN_TOOLS),
            Value::Null,
            "read-only tools that senders other than the owner may use",
        ),
        key(
            "channels.NAME.debounce_seconds",
            1,
            Value::Null,
            "seconds to wait for further messages of a chat before a turn starts",
        ),
        key(
            "channels.NAME.max_wait_seconds",
            10,
            Value::Null,
            "longest wait for messages that do not address the agent, in seconds",
        ),
        key(
            "channels.NAME.active_time_window",
            60,
            Value::Null,
            "seconds for which a chat is followed after a message to the agent",
        ),
        key(
            "channels.NAME.resend",
            "mark",
            Value::Null,
            "what to do with an answer whose delivery is uncertain: `mark` sends it again, marked; `never` does not",
        ),
    ];
    keys.extend(changes::keys(config));
    keys.extend(registry::keys(config));
    keys.extend(process::keys(config));
    keys.extend(mcp::keys());
    keys.extend(server::keys(config));
    keys.extend(telemetry::keys(config));
    keys
}

fn mib(bytes: usize) -> u64 {
    (bytes >> 20) as u64
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Redacts passwords in current values, such as those of addresses.
fn redact(config: &Config, value: &mut Value) {
    match value {
        Value::String(text) => *text = config.redact(text),
        Value::Array(list) => list.iter_mut().for_each(|one| redact(config, one)),
        Value::Object(table) => table.values_mut().for_each(|one| redact(config, one)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Prints all keys, one per line.
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
