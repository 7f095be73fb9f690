//! `bub:context/view`: what a selector can read, and how its selection is applied.

mod served;

use crate::guest::bindings::selector::{Part, Selected};
use crate::guest::selection::{MessageOrigin, Selection, check_request};
use crate::guest::view::View;
use crate::plugin::{check_json, contract, parse_json};
use bub_tape::{Entry, Renderer, json};
use std::sync::atomic::Ordering;
use wasmtime::Result;

/// How far behind its beginning a turn's own first message is looked for, in entries.
const OWN: usize = 32;

impl View {
    /// Renders what a guest selected, and checks it. The host renders entries itself: the bytes of the tape reach the model
    /// untouched, and each message has its origin.
    pub async fn accept(&self, selected: Selected) -> Result<Selection> {
        self.turn.charge_memory(selected.notes.len())?;
        let is_everything = self.is_everything(&selected);
        let notes = parse_json(&selected.notes).map_err(|reason| contract(format!("its notes are {reason}")))?;
        let mut selection = Selection {
            system_prompt: selected.system_prompt,
            notes: notes.as_object().filter(|notes| !notes.is_empty()).cloned(),
            new_messages: self.trace.replaced.lock().clone(),
            ..Selection::default()
        };
        selection.before = self.render("before", selected.before, &mut selection).await?;
        selection.history = self.render("history", selected.history, &mut selection).await?;
        selection.after = self.render("after", selected.after, &mut selection).await?;
        if !is_everything && let Err(reason) = self.check(&selection).await.map_err(wasmtime::Error::new)? {
            return Err(contract(reason));
        }
        Ok(selection)
    }

    /// Whether the selection is the window as it stands: what is wrong with it is wrong with the tape.
    fn is_everything(&self, selected: &Selected) -> bool {
        let seen = self.trace.seen.lock();
        let is_shortened = self.trace.replaced.lock().is_some();
        let mut in_order = selected.history.iter().zip(seen.keys());
        self.trace.saw_all.load(Ordering::Relaxed)
            && !is_shortened
            && selected.before.is_empty()
            && selected.after.is_empty()
            && selected.history.len() == seen.len()
            && in_order.all(|(part, id)| matches!(part, Part::Entry(selected) if selected == id))
    }

    /// Whether a model would take it. An error in the tape itself is not the selector's fault.
    async fn check(&self, selection: &Selection) -> bub_tape::Result<std::result::Result<(), String>> {
        let own = self.tape.read(self.turn.began(), OWN).await?;
        let own = own.iter().find(|entry| entry.id <= self.last && is_said(entry));
        let checked = check_request(selection, &self.about.new_messages, own);
        match checked {
            Err(reason) if check_request(&self.all().await?, &self.about.new_messages, own).is_ok() => Ok(Err(reason)),
            _ => Ok(Ok(())),
        }
    }

    async fn render(&self, list: &'static str, parts: Vec<Part>, selection: &mut Selection) -> Result<Vec<String>> {
        let mut renderer = Renderer::new();
        for (at, part) in parts.into_iter().enumerate() {
            let origin = match part {
                Part::Entry(id) => MessageOrigin::Entry(id),
                Part::Message(_) => MessageOrigin::Own { list, at },
            };
            match part {
                Part::Entry(id) => {
                    selection.entries.insert(id);
                    let seen = || self.trace.seen.lock();
                    let known = seen().get(&id).map(|entry| match self.turn.piece(entry) {
                        Some(piece) => renderer.add(&piece),
                        None => renderer.push(entry),
                    });
                    if known.is_none() {
                        let entry = self.beyond(id).await?;
                        self.turn.reads(&self.tape, std::slice::from_ref(&entry));
                        renderer.push(&entry);
                    }
                }
                Part::Message(message) => {
                    let which = || origin.to_string();
                    check_json(&message).map_err(|reason| contract(format!("{} is {reason}", which())))?;
                    renderer.push_message(&message).map_err(|error| contract(format!("{}: {error}", which())))?;
                    selection.own.push(message);
                }
            }
            let missing = selection.known + renderer.count() - selection.origins.len();
            selection.origins.extend(std::iter::repeat_n(origin, missing));
        }
        selection.known += renderer.count();
        Ok(renderer.finish())
    }
}

fn is_said(entry: &Entry) -> bool {
    entry.is("message") && json::get(&entry.payload, "role") == Some(r#""user""#)
}
