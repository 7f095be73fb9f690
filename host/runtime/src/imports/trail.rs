//! The making of the messages that an agent loop is given, where it is kept.

use super::stages::Request;
use crate::guest::selection::MessageOrigin;
use crate::guest::view::About;
use crate::plugin::PluginSet;
use crate::turn::{Making, SystemPrompt, TrailContext, TrailFacts, TrailMessage, Turn, by_entry};
use bub_blame::Source;
use bub_recordings::Texts;
use bub_tape::{Entry, json};
use bub_types::hook::Hook;
use std::collections::{BTreeMap, BTreeSet, HashMap};
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

/// What the messages of a request are made of.
struct Parts {
    facts: TrailFacts,
    plugins: Arc<PluginSet>,
    about: Arc<About>,
    origins: Vec<From>,
    /// Entries of the tape as sources: what names them is kept, what they hold is in the messages.
    entries: Named,
    /// The selector, and the system prompt that it wrote.
    selector: String,
    system_prompt: Option<String>,
    /// The parts that plugins answered, where the agent loop sends a prompt of its own.
    answered: Option<SystemPrompt>,
    agent: Source,
    messages: Texts,
}

/// What names entries: their ids, and their kind and meta.
struct Named {
    ids: Vec<u64>,
    texts: Texts,
}

impl Named {
    fn new<'a>(entries: impl Iterator<Item = &'a Entry> + Clone) -> Self {
        let texts = entries.clone().flat_map(|entry| [&*entry.kind, &*entry.meta]);
        Self { ids: entries.map(|entry| entry.id).collect(), texts: Texts::new(texts) }
    }

    fn sources(&self) -> HashMap<u64, Source> {
        let mut texts = self.texts.iter();
        let mut next = || texts.next().unwrap_or_default();
        self.ids.iter().map(|id| (*id, by_entry(*id, next(), next()))).collect()
    }
}

/// The messages of a request, and how they were made. `agent` is the plugin that asks for them.
pub async fn context(
    turn: &Arc<Turn>,
    request: Request,
    agent: Option<&Source>,
) -> bub_tape::Result<(Vec<String>, TrailContext)> {
    let origins = origins(&request);
    let entries = named(&request, &origins).await?;
    let about = request.view.about.clone();
    let own = about.system.parts.iter().any(|written| written.plugin.is_none());
    let (selector, system_prompt) = (request.selected.by.clone(), request.selected.selection.system_prompt.clone());
    let messages = request.into_messages(turn);
    let parts = Parts {
        facts: turn.trail_facts(),
        plugins: turn.scope.plugins.clone(),
        about,
        origins,
        entries,
        selector,
        system_prompt,
        answered: turn.answered_system_prompt().filter(|_| own),
        agent: agent.cloned().unwrap_or_default(),
        messages: Texts::shared(messages.iter().map(String::as_str)),
    };
    Ok((messages, TrailContext::new(move || parts.make())))
}

impl Parts {
    fn make(self) -> Vec<TrailMessage> {
        let selector = match self.digest(&self.selector) {
            "" => Source::host(),
            digest => Source::plugin(&self.selector, digest, Hook::Selector.name()),
        };
        let mut content = self.joined();
        if let Some(text) = &self.system_prompt {
            content.step(selector.clone(), text.as_str());
        }
        let entries = self.entries.sources();
        let made = self.origins.iter().zip(self.messages.iter()).map(|(origin, message)| {
            let text: Arc<str> = message.into();
            let plain = |source| TrailMessage { making: Making::new(source, text.clone()), content: None, entry: None };
            match origin {
                From::System => TrailMessage { content: Some(content.clone()), ..plain(Source::host()) },
                From::Selector => plain(selector.clone()),
                From::Entry(id) => {
                    let source = entries.get(id).cloned().unwrap_or_else(|| Source::entry(*id));
                    let known = self.known(*id, message);
                    let mut making = known.unwrap_or_else(|| Making::new(source.clone(), text.clone()));
                    making.step(source, text);
                    TrailMessage { making, content: None, entry: Some(*id) }
                }
                From::New(at) => {
                    let mut making = self.about.new_messages.get(*at).map(|said| self.said(said)).unwrap_or_default();
                    making.step(selector.clone(), text);
                    TrailMessage { making, content: None, entry: None }
                }
            }
        });
        made.collect()
    }

    /// The system prompt: the parts that plugins answered, and what the agent loop made of them.
    fn joined(&self) -> Making {
        let system = &self.about.system;
        let mut making = Making::default();
        for written in self.answered.as_ref().unwrap_or(system).parts.iter() {
            if !making.pieces.is_empty() {
                making.pieces.push((Source::host(), BETWEEN_PARTS.into()));
            }
            let source = match &written.plugin {
                Some(plugin) => Source::plugin(plugin, self.digest(plugin), Hook::SystemPrompt.name()),
                None => self.agent.clone(),
            };
            making.pieces.push((source.named(&written.part.name), written.part.text.as_str().into()));
        }
        making.step(self.agent.clone(), &*system.text);
        making
    }

    /// A message that is not on the tape yet: the user's, one that arrived meanwhile, or the prompt of a later step.
    fn said(&self, text: &str) -> Making {
        let agent = self.agent.clone();
        let prompt = self.facts.prompt_making();
        let content = |message: &str| json::get(message, "content").and_then(json::string).unwrap_or_default();
        let is_prompt = prompt.latest().is_some_and(|latest| content(latest).trim() == content(text).trim());
        let mut making = match self.facts.has_steered(&content(text)) {
            _ if is_prompt => prompt,
            true => Making::new(self.facts.sender(), text),
            false => Making::new(agent.clone(), text),
        };
        making.step(agent, text);
        making
    }

    /// The making of a message that this turn wrote itself: its prompt, or the result of a tool.
    fn known(&self, id: u64, message: &str) -> Option<Making> {
        if id <= self.facts.began {
            return None;
        }
        let text = |key| json::get(message, key).and_then(json::string);
        match text("role")?.as_str() {
            "user" => {
                let prompt = self.facts.prompt_making();
                let content = prompt.latest().and_then(|latest| json::get(latest, "content")).and_then(json::string);
                (content == text("content")).then_some(prompt)
            }
            "tool" => {
                let result = self.facts.result_making(&text("tool_call_id")?)?;
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
    fn digest(&self, name: &str) -> &str {
        let plugin = self.plugins.iter().find(|plugin| plugin.name == name);
        plugin.map_or("", |plugin| plugin.digest.as_str())
    }
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
    let system = request.has_system().then_some(From::System);
    let after = earlier..earlier + selection.after.len();
    system.into_iter().chain((0..earlier).map(of)).chain((0..count).map(From::New)).chain(after.map(of)).collect()
}

/// The entries that the messages stand for.
async fn named(request: &Request, origins: &[From]) -> bub_tape::Result<Named> {
    let ids = origins.iter().filter_map(|origin| if let From::Entry(id) = origin { Some(*id) } else { None });
    let wanted: BTreeSet<u64> = {
        let seen = request.selected.trace.as_ref().map(|trace| trace.seen.lock());
        let known: Option<Vec<&Entry>> = ids.clone().map(|id| seen.as_ref()?.get(&id)).collect();
        // The selector was shown all of them, as it mostly was.
        if let Some(known) = known {
            return Ok(Named::new(known.iter().copied()));
        }
        ids.collect()
    };
    let entries = entries(request, wanted).await?;
    Ok(Named::new(entries.values()))
}

/// Those entries, by their ids.
async fn entries(request: &Request, mut wanted: BTreeSet<u64>) -> bub_tape::Result<BTreeMap<u64, Entry>> {
    let view = &request.view;
    let mut found: BTreeMap<u64, Entry> = {
        let seen = request.selected.trace.as_ref().map(|trace| trace.seen.lock());
        let seen = seen.as_deref();
        wanted.iter().filter_map(|id| Some((*id, seen?.get(id)?.clone()))).collect()
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
