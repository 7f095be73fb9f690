//! The hook `selector`: who selects, and what holds when they cannot.

use super::guest_call::{answered, unless_broken};
use super::model::warn_fallback;
use super::{call_one, notify_observers, report_failure};
use crate::error::Failure;
use crate::guest::CallContext;
use crate::guest::selection::Selected;
use crate::guest::selection::Selection;
use crate::guest::view::View;
use crate::plugin::{Plugin, Source};
use crate::turn::{CallScope, SelectorChoice, Turn};
use bub_types::hook::Hook;
use bub_types::plugin_name::{EVERYTHING, SIMPLE};
use bub_types::{Error, ErrorKind};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

const HOOK: Hook = Hook::Selector;

/// Second selectors that run at once: they are left out first when there is much to do.
const SHADOWS: usize = 2;

static SHADOW: tokio::sync::Semaphore = tokio::sync::Semaphore::const_new(SHADOWS);

/// The plugins that select, and may be asked to, latest registered first; and at last what is no plugin.
pub fn selectors(scope: &CallScope) -> impl DoubleEndedIterator<Item = &str> {
    scope.granted(HOOK).map(|plugin| plugin.name.as_str()).chain([SIMPLE])
}

/// The selector of a turn that begins now, and why it is that one.
pub struct ActiveSelector {
    /// The selector's name.
    pub name: String,
    /// For people, in one line without a full stop.
    pub why: String,
}

/// The selector that would be asked, by the rule of [`select`].
pub fn active_selector(scope: &CallScope, choice: Option<&SelectorChoice>) -> ActiveSelector {
    let (chosen, by) = (choice.map(|choice| choice.name.as_str()), choice.map(|choice| choice.by.shown()));
    if let Some(by) = by.as_ref().filter(|_| chosen == Some(SIMPLE)) {
        return ActiveSelector { name: SIMPLE.to_owned(), why: format!("chosen by {by}") };
    }
    let candidates = candidates(scope, chosen);
    let context = CallContext::about(HOOK, "");
    let circuit = candidates.first().and_then(|plugin| scope.open_circuit(plugin, &context));
    match (candidates.iter().find(|plugin| scope.open_circuit(plugin, &context).is_none()), chosen, by) {
        (Some(found), Some(_), Some(by)) => ActiveSelector { name: found.name.clone(), why: format!("chosen by {by}") },
        (Some(found), ..) => {
            let why = match (&circuit, found.source) {
                (Some(circuit), _) => format!("plugin `{}` would be asked, and is {circuit}", circuit.plugin),
                (None, Source::Embedded) => "the default: no other one is configured".to_owned(),
                (None, _) => "the latest of your own plugins that select; no other one is configured".to_owned(),
            };
            ActiveSelector { name: found.name.clone(), why }
        }
        (None, chosen, by) => {
            let chosen = chosen.unwrap_or_default();
            let by = by.unwrap_or_default();
            let why = match circuit {
                Some(circuit) => format!("`{chosen}`, chosen by {by}, is {circuit}"),
                None if chosen.is_empty() => "no plugin selects".to_owned(),
                None => format!("no plugin `{chosen}`, chosen by {by}, selects, or it is not granted `hook:selector`"),
            };
            ActiveSelector { name: EVERYTHING.to_owned(), why }
        }
    }
}

/// Selects from the view: by the plugin that is named, else by the one that is chosen for the turn, else by the latest
/// registered one of the user's, and by the first of the embedded ones where there is none. A chosen selector that
/// cannot be asked, and any that faults, leaves the whole window for the rest of the turn, and the failure is reported.
pub async fn select(turn: &Arc<Turn>, depth: u32, view: &View, named: Option<&str>) -> Result<Selected, Failure> {
    if named.is_none() && turn.fell_back() {
        return everything(view, "the selector has failed in this turn".to_owned()).await;
    }
    let chosen = match named {
        Some(named) => Some(named),
        None => turn.selector().await?,
    };
    if chosen == Some(SIMPLE) {
        let began = Instant::now();
        let selection = view.own().await?;
        let took = began.elapsed();
        return Ok(Selected { by: SIMPLE.to_owned(), selection, trace: None, took, fuel: 0, fallback: None });
    }
    let context = CallContext::inside(HOOK, turn, depth);
    turn.passes_over_ungranted(HOOK);
    let candidates = candidates(&turn.scope, chosen);
    let found = candidates.iter().find(|plugin| turn.scope.open_circuit(plugin, &context).is_none());
    if let Some(circuit) = candidates.first().and_then(|plugin| turn.scope.open_circuit(plugin, &context)) {
        match found {
            Some(other) => warn_fallback(turn, &other.name, "selects", &circuit),
            None if turn.note_skipped(&circuit) => tracing::warn!(
                "everything since the latest anchor is taken while plugin `{}`, which selects, is {circuit}",
                circuit.plugin
            ),
            None => {}
        }
    }
    let Some(plugin) = found else {
        if let (Some(chosen), true) = (chosen, candidates.is_empty()) {
            absent(turn, chosen).await;
        }
        let circuit = candidates.first().and_then(|plugin| turn.scope.open_circuit(plugin, &context));
        let why = circuit
            .map_or("no plugin selects".to_owned(), |circuit| format!("plugin `{}` is {circuit}", circuit.plugin));
        return everything(view, why).await;
    };
    match ask(turn, plugin, &context, view).await {
        Ok(selected) => {
            turn.selected_by(&plugin.name);
            Ok(selected)
        }
        // Another call took the trial: the plugin was not called, and has broken nothing in this turn.
        Err(failure) if failure.is_circuit_open() => everything(view, failure.to_string()).await,
        Err(failure @ Failure::Fault(_)) => {
            report_failure(&turn.scope, &context, &failure).await;
            fall_back(turn, &plugin.name, Some(&plugin.digest), &failure.to_string()).await;
            everything(view, failure.to_string()).await
        }
        Err(failure) => Err(failure),
    }
}

/// The candidate selectors, best first: only the chosen one, if there is one. Otherwise all that the user has installed,
/// then the default; the other embedded ones are used only when they are chosen.
fn candidates<'a>(scope: &'a CallScope, chosen: Option<&str>) -> Vec<&'a Arc<Plugin>> {
    if let Some(chosen) = chosen {
        return scope.granted(HOOK).filter(|plugin| plugin.name == chosen).collect();
    }
    let own = scope.granted(HOOK).filter(|plugin| plugin.source != Source::Embedded);
    own.chain(scope.granted(HOOK).next_back().filter(|plugin| plugin.source == Source::Embedded)).collect()
}

async fn ask(turn: &Arc<Turn>, plugin: &Arc<Plugin>, context: &CallContext, view: &View) -> Result<Selected, Failure> {
    let began = Instant::now();
    let fuel = turn.fuel();
    let view = view.fresh();
    let view = &view;
    let selection = call_one(&turn.scope, plugin, context.clone(), |guest_call| {
        Box::pin(async move {
            let given = guest_call.store.data().recorder.record(|| view.snapshot());
            let recording = guest_call.store.data().recording.clone();
            // A recording has what the guest has read of the view, which is less.
            recording.arguments(&Arc::new(serde_json::json!([])));
            let guest = guest_call.exports.selector(guest_call.store, &guest_call.instance)?;
            let handle = guest_call.store.data_mut().table.push(view.clone())?;
            let selected = guest.call_select(&mut *guest_call.store, handle).await?;
            answered!(guest_call.store.data().recorder, &selected);
            let answer = match selected {
                // The entries that it names are on the recorded tape.
                Ok(_) if recording.is_playback() => Ok(Selection::default()),
                Ok(selected) => Ok(view.accept(selected).await?),
                Err(error) => Err(error),
            };
            unless_broken(given, Ok(answer))
        })
    });
    let selection = selection.await?;
    let (took, fuel) = (began.elapsed(), turn.fuel().saturating_sub(fuel));
    let trace = Some(view.trace.clone());
    Ok(Selected { by: plugin.name.clone(), selection, trace, took, fuel, fallback: None })
}

/// The whole window, and why.
async fn everything(view: &View, why: String) -> Result<Selected, Failure> {
    let began = Instant::now();
    let selection = view.all().await?;
    let (by, took) = (EVERYTHING.to_owned(), began.elapsed());
    Ok(Selected { by, selection, trace: None, took, fuel: 0, fallback: Some(why) })
}

/// A selector that is chosen and cannot be asked.
async fn absent(turn: &Arc<Turn>, chosen: &str) {
    if turn.fell_back() {
        return;
    }
    let why = format!("no plugin `{chosen}` selects, or it is not granted `hook:selector`");
    tracing::warn!("{why}; everything since the latest anchor is taken");
    fall_back(turn, chosen, None, &why).await;
    let message = turn.envelope();
    notify_observers(&turn.scope, Some(turn), HOOK.spec().stage, &Error::new(ErrorKind::Config, why), Some(&message))
        .await;
}

/// From here on the default, and the tape says so.
async fn fall_back(turn: &Arc<Turn>, selector: &str, digest: Option<&str>, cause: &str) {
    if turn.fall_back() {
        return;
    }
    let data = serde_json::json!({ "selector": selector, "digest": digest, "cause": cause });
    if let Err(error) = turn.append_event("selector.fallback", &data).await {
        tracing::warn!("that the default selector took over is not on the tape: {error}");
    }
}

/// Lets the shadow selector select beside the one in charge, while the model is asked, and logs where they disagree.
/// Its selection is never sent. Where two run already it is left out.
pub fn shadow(turn: &Arc<Turn>, depth: u32, view: &View, served: &Selected) {
    let Some(name) = &turn.scope.host.config.shadow_selector else { return };
    if *name == served.by {
        return;
    }
    let context = CallContext::inside(HOOK, turn, depth);
    let Some(plugin) = turn.scope.callable(&context).find(|plugin| plugin.name == *name).cloned() else {
        tracing::warn!("the shadow selector `{name}` is not there, or is not granted `hook:selector`");
        return;
    };
    let Ok(place) = SHADOW.try_acquire() else {
        tracing::debug!("the shadow selector `{name}` is left out: {SHADOWS} run already");
        return;
    };
    let (turn, view, token) = (turn.clone(), view.fresh(), turn.task_token());
    let (by, served) = (served.by.clone(), served.selection.clone());
    tokio::spawn(async move {
        let _held = (place, token);
        let session = &turn.session_id;
        match ask(&turn, &plugin, &context, &view).await {
            Ok(shadow) => match disagreement(&served, &shadow.selection) {
                Some(how) => tracing::warn!(
                    "session `{session}`: the shadow selector `{}` disagrees with `{by}`: {how} ({:?})",
                    plugin.name,
                    shadow.took
                ),
                None => {
                    tracing::debug!("session `{session}`: the shadow selector `{}` agrees with `{by}`", plugin.name)
                }
            },
            Err(failure) => tracing::warn!("session `{session}`: the shadow selector failed: {failure}"),
        }
    });
}

/// How two selections differ; none where the model would be told the same.
fn disagreement(served: &Selection, shadow: &Selection) -> Option<String> {
    let told = |selection: &Selection| {
        let messages = selection.before.iter().chain(&selection.history).chain(&selection.after);
        messages.cloned().collect::<Vec<_>>()
    };
    let (one, other) = (told(served), told(shadow));
    if one == other && served.system_prompt == shadow.system_prompt && served.new_messages == shadow.new_messages {
        return None;
    }
    let only = |a: &BTreeSet<u64>, b: &BTreeSet<u64>| {
        let ids: Vec<String> = a.difference(b).map(u64::to_string).collect();
        match ids.len() {
            0 => "none".to_owned(),
            count if count > 8 => format!("{count} entries, from {} to {}", ids[0], ids[count - 1]),
            _ => ids.join(" "),
        }
    };
    Some(format!(
        "left out: {}; in besides: {}; {} messages instead of {}",
        only(&served.entries, &shadow.entries),
        only(&shadow.entries, &served.entries),
        other.len(),
        one.len()
    ))
}
