//! Descriptions of the program's hooks and plugins, as JSON: on the command line and over HTTP.

use super::Host;
use crate::hooks::{ActiveSelector, active_selector};
use crate::imports::grant_risk;
use crate::plugin::{OpenCircuit, Plugin, PluginSet, Tool};
use crate::turn::{CallScope, SelectorChoice, UndoCommand};
use bub_config::{OnFault, Prices};
use bub_model::usage::{Report, ReportRow, Session, Sum};
use bub_types::hook::{HOOKS, Hook};
use bub_types::text::{clipped, one_line};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Characters that are shown of the first sentence of a tool's description.
const MAX_ABOUT: usize = 300;

/// The plugins of a hook in the order in which they run.
pub fn plugins_of(hook: Hook, scope: &CallScope, is_asked: bool) -> Vec<&str> {
    let implementing = scope.plugins.exporting(hook);
    // Tools and commands are called by name, so their plugins need no grant.
    let may = |plugin: &Plugin| hook.is_called_by_name() || scope.may_answer(plugin, hook);
    let mut names: Vec<&str> =
        implementing.filter(|plugin| may(plugin) == is_asked).map(|plugin| plugin.name.as_str()).collect();
    if hook == Hook::SystemPrompt {
        names.reverse();
    }
    names
}

/// All hooks, and who answers each; and what selects where `choice` holds.
pub fn hooks(scope: &CallScope, choice: Option<&SelectorChoice>) -> Value {
    let hooks = HOOKS.iter().map(|hook| {
        json!({
            "hook": hook.name,
            "way": hook.way.name(),
            "power": hook.power,
            "plugins": plugins_of(hook.hook, scope, true),
            "not_granted": plugins_of(hook.hook, scope, false),
        })
    });
    let config = &scope.host.config;
    let selector = |choice: Option<&SelectorChoice>| {
        let ActiveSelector { name, why } = active_selector(scope, choice);
        json!({ "active": name, "why": why })
    };
    let mut selects = selector(choice);
    // Only where a channel has a choice of its own.
    let channels = config.channels_with_selector();
    let channels = channels.map(|name| (name.to_owned(), selector(SelectorChoice::configured(config, name).as_ref())));
    selects["channels"] = channels.collect::<serde_json::Map<_, _>>().into();
    json!({ "hooks": hooks.collect::<Value>(), "selector": selects, "failed": failed(&scope.plugins) })
}

/// All plugins, those that did not load or are not run, and those in quarantine.
pub fn plugins(host: &Host, plugins: &PluginSet) -> Value {
    let all: Vec<Value> = plugins.iter().map(|plugin| self::plugin(host, plugin)).collect();
    let untrusted = plugins.untrusted.iter();
    let untrusted = untrusted.map(|file| json!({ "name": file.name, "file": file.path, "digest": file.digest }));
    let untrusted: Vec<Value> = untrusted.collect();
    let circuit: Vec<Value> = host.quarantined().iter().map(circuit).collect();
    json!({ "plugins": all, "failed": failed(plugins), "untrusted": untrusted, "quarantined": circuit })
}

/// All that there is to know of a plugin.
pub fn plugin(host: &Host, plugin: &Plugin) -> Value {
    let given = host.grants.given(plugin, Clone::clone);
    let wants = plugin.wanted().into_iter().map(|grant| {
        json!({ "grant": grant, "why": plugin.why(&grant), "means": grant_risk::of_grant(&grant), "held": given.allow(&grant) })
    });
    json!({
        "name": plugin.name,
        "source": plugin.source.name(),
        "version": plugin.manifest.version,
        "about": plugin.manifest.about,
        "digest": plugin.digest,
        "hooks": plugin.hooks,
        "tools": plugin.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
        "reads_outside": plugin.tools.iter().filter(|tool| tool.reads_outside).map(|tool| &tool.name).collect::<Vec<_>>(),
        "gate": plugin.on_fault == OnFault::Deny,
        "commands": plugin.commands.iter().map(|command| json!({ "name": command.name, "about": command.about })).collect::<Vec<_>>(),
        "provider": plugin.provider,
        "wants": wants.collect::<Vec<_>>(),
        "grants": given.iter().collect::<Vec<_>>(),
        "imports": plugin.imports(),
        "dangers": grant_risk::dangers(plugin, &plugin.wanted()),
        "other_bytes": host.grants.is_for_other_bytes(plugin),
    })
}

/// What a person can call by a comma and its name, in the order of the names: tools, and the commands of the program itself.
pub fn commands(plugins: &PluginSet) -> Vec<Value> {
    let tools = plugins.iter().flat_map(|plugin| plugin.tools.iter().map(move |tool| (plugin, tool)));
    let command = |(plugin, tool): (&Arc<Plugin>, &Tool)| {
        let about = tool.description.split_inclusive(". ").next().unwrap_or_default();
        json!({ "name": tool.name, "about": clipped(&one_line(about), MAX_ABOUT), "plugin": plugin.name })
    };
    let own = UndoCommand::NAMES.map(|(name, about)| json!({ "name": name, "about": about, "plugin": null }));
    let tools = tools.filter(|(_, tool)| !UndoCommand::is_name(&tool.name)).map(command);
    let mut commands: Vec<Value> = tools.chain(own).collect();
    commands.sort_by(|one, other| one["name"].as_str().cmp(&other["name"].as_str()));
    commands
}

fn circuit(circuit: &OpenCircuit) -> Value {
    json!({
        "plugin": circuit.plugin,
        "digest": circuit.digest,
        "hook": circuit.hook,
        "caller": circuit.caller,
        "session": circuit.session,
        "seconds": circuit.left.as_secs(),
        "fault": circuit.fault,
    })
}

fn failed(plugins: &PluginSet) -> Vec<Value> {
    let at_first_call = plugins.iter().filter_map(|plugin| Some((&plugin.name, plugin.open_error()?.to_string())));
    let failed = plugins.failed.iter().map(|(plugin, reason)| (plugin, reason.clone()));
    failed.chain(at_first_call).map(|(plugin, reason)| json!({ "plugin": plugin, "reason": reason })).collect()
}

/// Rows of a usage report, at most. The oldest are left out.
const MAX_ROWS: usize = 10_000;

/// Tokens of model calls, and their cost where models have a price, by model, session and day, and by all three.
pub fn usage(report: &Report, budget: &Value, prices: &Prices) -> Value {
    let session = |session: &Session| [("session", session.id.clone()), ("workspace", session.workspace.clone())];
    // Known only where each of the calls has a price.
    let (mut total, mut by_day) = (Some(0.0), BTreeMap::new());
    for row in &report.rows {
        let cost = prices.cost(&row.model, &row.sum);
        let add = |sum: Option<f64>| Some(sum? + cost?);
        total = add(total);
        by_day.entry(row.day).and_modify(|sum| *sum = add(*sum)).or_insert(cost);
    }
    let with_cost = |mut sum: Value, cost: Option<f64>| {
        sum["cost"] = cost.into();
        sum
    };
    let rows = report.rows.iter().rev().take(MAX_ROWS).rev().map(|row| {
        let ReportRow { day, model, session, sum: used } = row;
        let names = [
            ("day", day.to_string()),
            ("model", model.clone()),
            ("session", session.id.clone()),
            ("workspace", session.workspace.clone()),
        ];
        with_cost(sum(used, names), prices.cost(model, used))
    });
    let models = report
        .models
        .iter()
        .map(|(model, used)| with_cost(sum(used, [("model", model.clone())]), prices.cost(model, used)));
    let days = report
        .days
        .iter()
        .map(|(day, used)| with_cost(sum(used, [("day", day.to_string())]), by_day.get(day).copied().flatten()));
    json!({
        "first": report.first.to_string(),
        "last": report.last.to_string(),
        "currency": prices.currency,
        "total": with_cost(sum(&report.total, []), total),
        "budget": budget,
        "models": models.collect::<Value>(),
        "sessions": report.sessions.iter().map(|(of, used)| sum(used, session(of))).collect::<Value>(),
        "days": days.collect::<Value>(),
        "rows": rows.collect::<Value>(),
    })
}

fn sum<const N: usize>(sum: &Sum, names: [(&str, String); N]) -> Value {
    let names = names.map(|(key, name)| (key, Value::from(name))).into_iter();
    let numbers = [
        ("calls", sum.calls),
        ("estimated_calls", sum.estimated),
        ("prompt_tokens", sum.prompt),
        ("cached_tokens", sum.cached),
        ("completion_tokens", sum.completion),
        ("total_tokens", sum.total),
    ];
    let numbers = numbers.into_iter().map(|(key, number)| (key, Value::from(number)));
    Value::Object(names.chain(numbers).map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
}
