//! The agent loop: ask the model, run the tools it calls, and again, until it calls none.

use std::time::Instant;

use crate::answer::{self, Answer};
use crate::bub::model::exchange::Request;
use crate::bub::tape::entries::{Draft, Query, Start};
use crate::bub::tape::tape::Tape;
use crate::bub::tools::schema::ToolSpec;
use crate::bub::tools::toolbox;
use crate::bub::turn::stages;
use crate::bub::types::types::{ErrorKind, StreamEvent};
use crate::budget::{self, Verdict};
use crate::record::{self, Ending};
use crate::settings::Settings;
use crate::{Error, Prompt, Turn, content, json, overflow, toolset};
use serde_json::{Value, json};

/// The anchor behind which a turn goes on whose messages were longer than the model takes.
const OVERFLOW_ANCHOR: &str = "auto_handoff/context_overflow";

/// The key of the turn's state under which a selector finds what a request may take.
const ROOM: &str = "context_room";

/// Tokens of a provider's refusal that an anchor keeps.
const ERROR: u64 = 150;

/// Answers a prompt. What is said goes out as it comes; what happened goes on the tape, a step at a time.
pub fn run(turn: &Turn, prompt: &Prompt) -> Result<(), Error> {
    if content::is_empty(prompt) {
        let answer = "error: empty prompt";
        turn.emit(&StreamEvent::Text(answer.to_owned()))?;
        return turn.emit(&last_event(answer, 0, None));
    }
    let mut agent = Agent {
        turn,
        tape: turn.tape()?,
        settings: Settings::of(turn)?,
        tools: toolset::offered(turn)?,
        asked: prompt,
        steering: Vec::new(),
        recorded: false,
        refused: 0,
        room: None,
        handed_off: false,
        sent: Vec::new(),
        said: String::new(),
        usage: None,
        told: None,
    };
    match agent.work() {
        Ok(steps) => turn.emit(&last_event(&agent.said, steps, agent.usage.as_deref())),
        Err(error) => {
            agent.keep_steering();
            Err(error)
        }
    }
}

/// The event that ends a stream: all that was said, the steps it took, and what the last model call used.
pub fn last_event(text: &str, steps: u64, usage: Option<&str>) -> StreamEvent {
    let usage = usage.map(json::value);
    StreamEvent::Final(json!({"text": text, "steps": steps, "usage": usage}).to_string())
}

struct Agent<'a> {
    turn: &'a Turn,
    tape: Tape,
    settings: Settings,
    /// Those of the turn: it ends with the plugins that it began with, and what they may do is looked at in each call.
    tools: Vec<ToolSpec>,
    /// What the turn is about; later steps have prompts of their own.
    asked: &'a Prompt,
    /// Messages that were taken from the session's queue and do not stand on the tape yet: nobody else has them.
    steering: Vec<Prompt>,
    /// A user message of this turn stands on the tape.
    recorded: bool,
    /// Requests of this turn that were too long for the provider.
    refused: u32,
    /// What a request may take, where a provider has refused a longer one.
    room: Option<u64>,
    /// The turn has begun a phase of its own because room was short: it does so once.
    handed_off: bool,
    /// The messages of the latest request: what the next phase has to know of is among them.
    sent: Vec<String>,
    said: String,
    usage: Option<String>,
    /// The system prompt that stands last on the tape, and the entry that this loop has written last.
    told: Option<(String, u64)>,
}

impl Agent<'_> {
    /// All steps; how many there were.
    fn work(&mut self) -> Result<u64, Error> {
        self.remember_room()?;
        self.write(record::start(self.turn, &self.settings.model, self.asked))?;
        let mut prompt = self.asked.clone();
        let mut step = 0;
        loop {
            step += 1;
            let began = Instant::now();
            self.write(record::step_start(step, &prompt))?;
            match self.step(step, &prompt) {
                Ok(true) => {
                    self.write(record::step_end(step, began, Ending::Continue))?;
                    self.allow_another(step)?;
                    match self.next_prompt(&prompt)? {
                        Some(next) => prompt = next,
                        None => return Ok(step),
                    }
                }
                Ok(false) => {
                    self.write(record::step_end(step, began, Ending::Done))?;
                    return Ok(step);
                }
                // The step has begun the next phase itself, before the provider was asked.
                Err(error) if is_budget(&error) => {
                    self.write(record::step_end(step, began, Ending::HandedOff(&error)))?;
                    self.allow_another(step)?;
                    prompt = self.asked.clone();
                }
                Err(error) if error.kind == ErrorKind::ContextLength && self.refused < overflow::MAX_REFUSED => {
                    self.refused += 1;
                    let sent = overflow::weigh(&self.settings.model, &self.sent, &self.tools);
                    self.keep_to(overflow::room(&error, sent))?;
                    // The turn hands off once: behind its anchor only what it says itself can still be too long.
                    let ending = if self.refused == 1 {
                        self.hand_off(&error)?;
                        Ending::HandedOff(&error)
                    } else {
                        Ending::Shortened(&error)
                    };
                    self.write(record::step_end(step, began, ending))?;
                    self.allow_another(step)?;
                    prompt = self.asked.clone();
                }
                Err(error) => {
                    // The step's own error is the one to report, also where it cannot be written down.
                    let _ = self.write(record::step_end(step, began, Ending::Failed(&error)));
                    return Err(error);
                }
            }
        }
    }

    /// One model call and the tools it asks for. `true`: there is reason for another step.
    fn step(&mut self, step: u64, prompt: &Prompt) -> Result<bool, Error> {
        self.take_steering()?;
        let system = stages::system_prompt(self.turn, prompt)?;
        let said = self.said_by(step, prompt);
        let model = self.settings.model.as_str();
        let new: Vec<String> =
            said.iter().map(|prompt| json::text(&record::user_message(content::of(prompt)))).collect();
        let mut messages = stages::messages(self.turn, prompt, &system, &new, Some(model))?;
        let mut has_tools = true;
        // Behind the handoff of this turn the request is shorter already, so it is cut only where that was not enough.
        if let Some(room) = self.room.filter(|_| self.refused != 1) {
            (messages, has_tools) = overflow::shorten(model, messages, &self.tools, room);
        }
        match budget::judge(&self.tape, model, self.settings.max_tokens, &messages, &self.tools)? {
            Verdict::HandOff(weight) if !self.handed_off => {
                self.handed_off = true;
                let state = budget::state(&weight, &messages, &content::text(self.asked));
                self.tape.handoff(budget::BUDGET_ANCHOR, Some(&state.to_string()))?;
                return Err(budget::exceeded(&weight));
            }
            Verdict::Tell(weight, notice) => {
                budget::tell(&self.tape, &weight)?;
                messages.push(json!({ "role": "system", "content": notice }).to_string());
            }
            // Where even the new phase is too long, the provider says so.
            Verdict::HandOff(_) | Verdict::Fits => {}
        }
        let run_id = self.turn.new_run_id();
        let request = Request {
            model: Some(model.to_owned()),
            messages,
            tools: if has_tools { std::mem::take(&mut self.tools) } else { Vec::new() },
            max_tokens: self.settings.max_tokens,
            purpose: "turn".to_owned(),
            options: self
                .settings
                .reasoning_effort
                .as_ref()
                .map(|effort| json!({ "reasoning_effort": effort }).to_string()),
        };
        let answer = answer::ask(self.turn, &request, &mut self.said);
        self.sent = request.messages;
        if has_tools {
            self.tools = request.tools;
        }
        let answer = answer?;
        let results = self.call(&answer)?;

        let mut entries =
            record::Step { run_id: &run_id, model, said: &said, answer: &answer, results: &results }.entries();
        if !system.is_empty() && self.is_new(&system)? {
            entries.insert(0, record::system(&run_id, &system));
        }
        let last = self.tape.append(&entries)?;
        self.told = (!system.is_empty()).then_some((system, last));
        self.recorded = true;
        self.steering.clear();
        self.usage = answer.usage.or(self.usage.take());

        if answer.calls.is_empty() {
            // What is said during the last step stays in the queue and is a turn of its own.
            return Ok(self.settings.max_steps != Some(step) && self.take_steering()?);
        }
        // Only now: should the listener have left, the tape knows all the same what the tools did.
        self.turn.emit(&StreamEvent::ToolResults(json::text(&Value::Array(results))))?;
        Ok(true)
    }

    /// What the step is about, in the order in which it was said: the message that the turn is about came before all that was
    /// said while it ran, and the prompt of a later step comes behind that.
    fn said_by(&self, step: u64, prompt: &Prompt) -> Vec<Prompt> {
        let steering = self.steering.iter();
        match step == 1 || !self.recorded {
            true => [prompt].into_iter().chain(steering).cloned().collect(),
            false => steering.chain([prompt]).cloned().collect(),
        }
    }

    /// The results as JSON, in the order of the calls.
    fn call(&self, answer: &Answer) -> Result<Vec<Value>, Error> {
        if answer.calls.is_empty() {
            return Ok(Vec::new());
        }
        let results = toolbox::call_tools(self.turn, &answer.calls)?;
        Ok(results.iter().map(record::result).collect())
    }

    /// Is anybody waiting to be heard?
    fn take_steering(&mut self) -> Result<bool, Error> {
        self.steering.extend(stages::steering(self.turn)?);
        Ok(!self.steering.is_empty())
    }

    /// The prompt of the next step; none ends the loop. When somebody wants it ended but a person has said
    /// something meanwhile, that is what the next step is about.
    fn next_prompt(&mut self, prompt: &Prompt) -> Result<Option<Prompt>, Error> {
        let next = stages::continue_prompt(self.turn, prompt)?;
        Ok(next.map(Prompt::Text).or_else(|| self.steering.pop()))
    }

    fn allow_another(&self, step: u64) -> Result<(), Error> {
        match self.settings.max_steps {
            Some(limit) if step >= limit => {
                let message = format!("max_steps reached: {limit} (`BUB_MAX_STEPS` sets the limit)");
                Err(Error::new(ErrorKind::Unknown, message))
            }
            _ => Ok(()),
        }
    }

    /// What an earlier turn of this phase has learned of the model's room.
    fn remember_room(&mut self) -> Result<(), Error> {
        let anchor = self.tape.last_anchor(None, None)?;
        match anchor.and_then(|anchor| overflow::known(&anchor.payload, &self.settings.model)) {
            Some(room) => self.keep_to(room),
            None => Ok(()),
        }
    }

    /// From here on requests take no more than that; the selector is told so.
    fn keep_to(&mut self, room: u64) -> Result<(), Error> {
        self.room = Some(room);
        self.turn.set(ROOM, &room.to_string())
    }

    /// Goes on behind a new anchor, where there is room again.
    fn hand_off(&self, error: &Error) -> Result<(), Error> {
        let error = bub_estimate::to_tokens(&error.message, ERROR);
        let mut state = json!({"reason": "context_length_exceeded", "error": error});
        // What is asked now is asked again behind the anchor.
        let asked = content::text(self.asked);
        let room = self.room.unwrap_or(u64::MAX);
        budget::add_summary(&mut state, &self.sent, &asked, room);
        if let Some(room) = self.room {
            overflow::learned(&mut state, &self.settings.model, room);
        }
        self.tape.handoff(OVERFLOW_ANCHOR, Some(&state.to_string()))?;
        Ok(())
    }

    /// Whether another system prompt stands last on the tape, or none. Looked at in every step: a tool may have reset the
    /// tape, and others may write to it. Where its newest entry is this loop's own, nobody has.
    fn is_new(&self, system: &str) -> Result<bool, Error> {
        if let Some((told, last)) = &self.told
            && self.tape.tail(None, 1)?.first().is_some_and(|newest| newest.id == *last)
        {
            return Ok(told != system);
        }
        Ok(self.last_system()?.as_deref() != Some(system))
    }

    fn last_system(&self) -> Result<Option<String>, Error> {
        let newest = Query {
            start: Start::First,
            kinds: vec!["system".to_owned()],
            name: None,
            text: None,
            since: None,
            until: None,
            newest_first: true,
            limit: Some(1),
        };
        let entry = self.tape.query(&newest)?.next(1)?.pop();
        Ok(entry.and_then(|entry| json::value(&entry.payload).get("content")?.as_str().map(str::to_owned)))
    }

    /// Puts what was taken from the queue on the tape when the turn fails. The host adds the turn's own message
    /// only where it finds none, so that goes with it. The turn has failed already: an error here adds nothing.
    fn keep_steering(&self) {
        if self.steering.is_empty() {
            return;
        }
        let asked = Some(self.asked).filter(|_| !self.recorded);
        let run_id = self.turn.new_run_id();
        let entries: Vec<Draft> =
            asked.into_iter().chain(&self.steering).map(|said| record::unanswered(&run_id, said)).collect();
        let _ = self.tape.append(&entries);
    }

    fn write(&mut self, entry: Draft) -> Result<(), Error> {
        let written = self.tape.append(&[entry])?;
        self.told = self.told.take().filter(|(_, last)| last + 1 == written).map(|(told, _)| (told, written));
        Ok(())
    }
}

/// Whether that is the error of a step that has handed off before the provider was asked.
fn is_budget(error: &Error) -> bool {
    error.kind == ErrorKind::ContextLength && error.details.as_ref().is_some_and(|details| details.contains("estimate"))
}
