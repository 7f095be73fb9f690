//! The making of the messages that an agent loop is given, where it is kept.

use super::stages::Request;
use crate::guest::selection::MessageOrigin;
use crate::guest::view::View;
use crate::turn::{Making, SystemPrompt, TrailContext, TrailMessage, Turn};
use bub_blame::{Source, SourceKind};
use bub_tape::{Entry, json};
use bub_types::hook::Hook;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many entries are read for each one that is wanted, at most.
const MAX_SPREAD: usize = 8;

/// What parts of a system prompt are joined by.
const BETWEEN_PARTS: &str = "\n\n";

/// Where a message of a request comes from.
enum From {
    System,
    Entry(u64),
    Selector,
    New(usize),
}

/// The messages of a request, and how they were made. `agent` is the plugin that asks for them.
pub async fn context(
    turn: &Arc<Turn>,
    request: Request,
    agent: Option<&Source>,
) -> bub_tape::Result<(Vec<String>, TrailContext)> {
    let origins = origins(&request);
    let entries = entries(&request.view, &origins).await?;
    let selector = Source::plugin(&request.selected.by, digest(turn, &request.selected.by), Hook::Selector.name());
    let selector = if digest(turn, &request.selected.by).is_empty() { Source::host() } else { selector };
    let (system, selected) = (&request.view.about().system, &request.selected.selection);
    let mut content = joined(turn, system, agent);
    if let Some(text) = &selected.system_prompt {
        content.step(selector.clone(), text.as_str());
    }
    let new: Vec<Making> =
        (0..request.view.about().new_messages.len()).map(|at| said(turn, &request, at, agent)).collect();
    let messages = request.into_messages(turn);
    let made = origins.into_iter().zip(&messages).map(|(origin, message)| {
        let text: Arc<str> = message.as_str().into();
        let plain = |source| TrailMessage { making: Making::new(source, text.clone()), content: None, entry: None };
        match origin {
            From::System => TrailMessage { content: Some(content.clone()), ..plain(Source::host()) },
            From::Selector => plain(selector.clone()),
            From::Entry(id) => {
                let entry = entries.get(&id);
                let source = entry.map_or_else(|| Source::entry(id), |entry| turn.by_entry(entry));
                let mut making = known(turn, id, message).unwrap_or_else(|| Making::new(source.clone(), text.clone()));
                making.step(source, text);
                TrailMessage { making, content: None, entry: Some(id) }
            }
            From::New(at) => {
                let mut making = new.get(at).cloned().unwrap_or_default();
                making.step(selector.clone(), text);
                TrailMessage { making, content: None, entry: None }
            }
        }
    });
    let context = TrailContext { messages: made.collect() };
    Ok((messages, context))
}

/// The origin of each message, in the order in which they are sent.
fn origins(request: &Request) -> Vec<From> {
    let selection = &request.selected.selection;
    let earlier = selection.before.len() + selection.history.len();
    let of = |at: usize| match selection.origins.get(at) {
        Some(MessageOrigin::Entry(id)) => From::Entry(*id),
        Some(MessageOrigin::Own { .. }) | None => From::Selector,
    };
    let count = selection.new_messages.as_ref().map_or(request.view.about().new_messages.len(), Vec::len);
    let system = request.system().map(|_| From::System);
    let after = earlier..earlier + selection.after.len();
    system.into_iter().chain((0..earlier).map(of)).chain((0..count).map(From::New)).chain(after.map(of)).collect()
}

/// The entries that the messages stand for, by their ids.
async fn entries(view: &View, origins: &[From]) -> bub_tape::Result<BTreeMap<u64, Entry>> {
    let mut wanted: BTreeSet<u64> = BTreeSet::new();
    wanted.extend(origins.iter().filter_map(|origin| if let From::Entry(id) = origin { Some(*id) } else { None }));
    let mut found: BTreeMap<u64, Entry> = {
        let seen = view.trace.seen.lock();
        wanted.iter().filter_map(|id| Some((*id, seen.get(id)?.clone()))).collect()
    };
    wanted.retain(|id| !found.contains_key(id));
    let (Some(first), Some(last)) = (wanted.first().copied(), wanted.last().copied()) else { return Ok(found) };
    // They mostly stand side by side: one read costs less than one for each.
    let across = usize::try_from(last - first).unwrap_or(usize::MAX).saturating_add(1);
    if across <= wanted.len().saturating_mul(MAX_SPREAD) {
        let page = view.tape.read(first.saturating_sub(1), across).await?;
        found.extend(page.into_iter().filter(|entry| wanted.contains(&entry.id)).map(|entry| (entry.id, entry)));
        return Ok(found);
    }
    for id in wanted {
        let page = view.tape.read(id.saturating_sub(1), 1).await?;
        found.extend(page.into_iter().filter(|entry| entry.id == id).map(|entry| (id, entry)));
    }
    Ok(found)
}

/// The system prompt: the parts that plugins answered, and what the agent loop made of them.
fn joined(turn: &Turn, system: &SystemPrompt, agent: Option<&Source>) -> Making {
    let own = system.parts.iter().any(|written| written.plugin.is_none());
    let answered = turn.answered_system_prompt().filter(|_| own);
    let mut making = Making::default();
    for written in answered.as_ref().unwrap_or(system).parts.iter() {
        if !making.pieces.is_empty() {
            making.pieces.push((Source::host(), BETWEEN_PARTS.into()));
        }
        let source = match &written.plugin {
            Some(plugin) => Source::plugin(plugin, digest(turn, plugin), Hook::SystemPrompt.name()),
            None => agent.cloned().unwrap_or_default(),
        };
        making.pieces.push((source.named(&written.part.name), written.part.text.as_str().into()));
    }
    making.step(agent.cloned().unwrap_or_default(), &*system.text);
    making
}

/// A message that is not on the tape yet: the user's, one that arrived meanwhile, or the prompt of a later step.
fn said(turn: &Turn, request: &Request, at: usize, agent: Option<&Source>) -> Making {
    let text = request.view.about().new_messages[at].as_str();
    let agent = agent.cloned().unwrap_or_default();
    let prompt = turn.prompt_making();
    let content = |message: &str| json::get(message, "content").and_then(json::string).unwrap_or_default();
    let is_prompt = prompt.latest().is_some_and(|latest| content(latest).trim() == content(text).trim());
    let mut making = match turn.has_steered(&content(text)) {
        _ if is_prompt => prompt,
        true => Making::new(Source::new(SourceKind::Sender).named(&turn.message.channel), text),
        false => Making::new(agent.clone(), text),
    };
    making.step(agent, text);
    making
}

/// The making of a message that this turn wrote itself: its prompt, or the result of a tool.
fn known(turn: &Turn, id: u64, message: &str) -> Option<Making> {
    if id <= turn.began() {
        return None;
    }
    let text = |key| json::get(message, key).and_then(json::string);
    match text("role")?.as_str() {
        "user" => {
            let prompt = turn.prompt_making();
            let content = prompt.latest().and_then(|latest| json::get(latest, "content")).and_then(json::string);
            (content == text("content")).then_some(prompt)
        }
        "tool" => {
            let result = turn.result_making(&text("tool_call_id")?)?;
            let as_message = |result: &str| {
                let content = json::string(result).unwrap_or_else(|| result.to_owned());
                format!(r#"{{"content": {}}}"#, json::quote(&content))
            };
            let mut steps = result.pieces.iter().chain(&result.steps);
            let (source, first) = steps.next()?;
            let mut making = Making::new(source.clone(), as_message(first));
            steps.for_each(|(source, text)| making.step(source.clone(), as_message(text)));
            Some(making)
        }
        _ => None,
    }
}

/// The digest of a plugin of the turn; empty: there is none of that name.
fn digest<'a>(turn: &'a Turn, name: &str) -> &'a str {
    let plugin = turn.scope.plugins.iter().find(|plugin| plugin.name == name);
    plugin.map_or("", |plugin| plugin.digest.as_str())
}
