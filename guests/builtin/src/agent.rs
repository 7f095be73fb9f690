//! The agent loop: call the model, run the tools that it requests, and repeat until it requests none.

use std::time::Instant;

use crate::answer::{self, Answer};
use crate::budget::{self, Verdict};
use crate::record::{self, Ending};
use crate::settings::Settings;
use crate::{AGENT, APPEND, TAPE, TOOLS, content, json, overflow, toolset};
use bub_guest::model::Request;
use bub_guest::tape::{Draft, Query};
use bub_guest::tool::ToolSpec;
use bub_guest::turn::{StreamEvent, ToolCall};
use bub_guest::{Error, ErrorKind, Prompt, Result, Tape, Turn};
use serde_json::{Value, json};

/// The anchor of an automatic handoff after a request exceeded the model's context.
const OVERFLOW_ANCHOR: &str = "auto_handoff/context_overflow";

/// The key of the turn's state that tells a selector the input budget.
const ROOM: &str = "context_room";

/// Maximum tokens of a provider's error in an anchor.
const ERROR: u64 = 150;

/// Answers a prompt. Output is streamed; entries are appended to the tape after each step.
pub fn run(turn: &Turn, prompt: &Prompt) -> Result<()> {
    if content::is_empty(prompt) {
        let answer = "error: empty prompt";
        turn.emit(&StreamEvent::Text(answer.to_owned()))?;
        return turn.emit(&last_event(answer, 0, None));
    }
    let settings = Settings::of(turn)?;
    let mut agent = Agent {
        turn,
        tape: turn.tape(TAPE)?,
        tools: toolset::begin(turn, &settings)?.offered,
        settings,
        asked: prompt,
        steering: Vec::new(),
        recorded: false,
        refused: 0,
        input_budget: None,
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

/// The event that ends a stream: the whole text, the number of steps, and the usage of the last model call.
pub fn last_event(text: &str, steps: u64, usage: Option<&str>) -> StreamEvent {
    let usage = usage.map(json::value);
    StreamEvent::Final(json!({"text": text, "steps": steps, "usage": usage}).to_string())
}

struct Agent<'a> {
    turn: &'a Turn,
    tape: Tape,
    settings: Settings,
    /// The tools of the turn, which keeps the plugins that it began with. Grants are checked at each call.
    tools: Vec<ToolSpec>,
    /// The prompt of the turn; later steps have prompts of their own.
    asked: &'a Prompt,
    /// Messages that were taken from the session's queue and are not on the tape yet.
    steering: Vec<Prompt>,
    /// Whether a user message of this turn is on the tape.
    recorded: bool,
    /// Number of requests in this turn that exceeded the context.
    refused: u32,
    /// The input budget, if a provider has refused a longer request.
    input_budget: Option<u64>,
    /// Whether the turn has handed off because of its budget, which it does at most once.
    handed_off: bool,
    /// The messages of the latest request, from which a handoff's summary is made.
    sent: Vec<String>,
    said: String,
    usage: Option<String>,
    /// The last system prompt on the tape, and the id of the last entry that this loop has written.
    told: Option<(String, u64)>,
}

impl Agent<'_> {
    /// Runs all steps; returns their number.
    fn work(&mut self) -> Result<u64> {
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
                // The step handed off before the provider was called.
                Err(error) if is_budget(&error) => {
                    self.write(record::step_end(step, began, Ending::HandedOff(&error)))?;
                    self.allow_another(step)?;
                    prompt = self.asked.clone();
                }
                Err(error) if error.kind == ErrorKind::ContextLength && self.refused < overflow::MAX_REFUSED => {
                    self.refused += 1;
                    let sent = overflow::weigh(&self.settings.model, &self.sent, &self.tools);
                    self.keep_to(overflow::input_budget(&error, sent))?;
                    // The turn hands off once: after its anchor only the turn's own entries can be too long.
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
                    // Report the step's own error, even if it cannot be recorded.
                    let _ = self.write(record::step_end(step, began, Ending::Failed(&error)));
                    return Err(error);
                }
            }
        }
    }

    /// Runs a model call and the tools that it requests. `true`: another step is needed.
    fn step(&mut self, step: u64, prompt: &Prompt) -> Result<bool> {
        self.take_steering()?;
        let system = AGENT.system_prompt(self.turn, prompt)?;
        let said = self.said_by(step, prompt);
        let model = self.settings.model.as_str();
        let new: Vec<String> =
            said.iter().map(|prompt| json::text(&record::user_message(content::of(prompt)))).collect();
        let mut messages = AGENT.messages(self.turn, prompt, &system, &new, Some(model))?;
        let mut has_tools = true;
        // After the turn's handoff the request is short already, so it is only cut if that did not suffice.
        if let Some(input_budget) = self.input_budget.filter(|_| self.refused != 1) {
            (messages, has_tools) = overflow::shorten(model, messages, &self.tools, input_budget);
        }
        match budget::check(&self.tape, model, self.settings.max_tokens, &messages, &self.tools)? {
            Verdict::HandOff(weight) if !self.handed_off => {
                self.handed_off = true;
                let state = budget::state(&weight, &messages, &content::text(self.asked));
                self.tape.writer(APPEND).handoff(budget::BUDGET_ANCHOR, &state)?;
                return Err(budget::exceeded(&weight));
            }
            Verdict::Tell(weight, notice) => {
                budget::tell(&self.tape, &weight)?;
                messages.push(json!({ "role": "system", "content": notice }).to_string());
            }
            // If even the new phase is too long, the provider reports it.
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
        let last = self.tape.writer(APPEND).append(&entries)?;
        self.told = (!system.is_empty()).then_some((system, last));
        self.recorded = true;
        self.steering.clear();
        self.usage = answer.usage.or(self.usage.take());

        if answer.calls.is_empty() {
            // Messages that arrive during the last step stay in the queue, for a turn of their own.
            return Ok(self.settings.max_steps != Some(step) && self.take_steering()?);
        }
        // Only now: the tape has the tools' results even if the listener has left.
        self.turn.emit(&StreamEvent::ToolResults(json::text(&Value::Array(results))))?;
        Ok(true)
    }

    /// The user messages of a step, in order: the turn's prompt, messages that arrived meanwhile, and the prompt of a
    /// later step.
    fn said_by(&self, step: u64, prompt: &Prompt) -> Vec<Prompt> {
        let steering = self.steering.iter();
        match step == 1 || !self.recorded {
            true => [prompt].into_iter().chain(steering).cloned().collect(),
            false => steering.chain([prompt]).cloned().collect(),
        }
    }

    /// The results as JSON, in the order of the calls.
    fn call(&self, answer: &Answer) -> Result<Vec<Value>> {
        if answer.calls.is_empty() {
            return Ok(Vec::new());
        }
        let calls: Vec<ToolCall> = answer.calls.iter().map(toolset::meant).collect();
        let results = TOOLS.call(self.turn, &calls)?;
        Ok(results.iter().map(record::result).collect())
    }

    /// Takes messages from the session's queue; returns whether there were any.
    fn take_steering(&mut self) -> Result<bool> {
        self.steering.extend(AGENT.steering(self.turn)?);
        Ok(!self.steering.is_empty())
    }

    /// The prompt of the next step; `None` ends the loop. If a plugin ends it but a user message has arrived, that
    /// message is the prompt.
    fn next_prompt(&mut self, prompt: &Prompt) -> Result<Option<Prompt>> {
        let next = AGENT.continue_prompt(self.turn, prompt)?;
        Ok(next.map(Prompt::Text).or_else(|| self.steering.pop()))
    }

    fn allow_another(&self, step: u64) -> Result<()> {
        match self.settings.max_steps {
            Some(limit) if step >= limit => {
                let message = format!("max_steps reached: {limit} (`BUB_MAX_STEPS` sets the limit)");
                Err(Error::new(ErrorKind::Unknown, message))
            }
            _ => Ok(()),
        }
    }

    /// Restores the budget that an earlier turn of this phase has learned.
    fn remember_room(&mut self) -> Result<()> {
        let anchor = self.tape.last_anchor(None, None)?;
        match anchor.and_then(|anchor| overflow::known(&anchor.payload, &self.settings.model)) {
            Some(input_budget) => self.keep_to(input_budget),
            None => Ok(()),
        }
    }

    /// Limits further requests to that budget, and tells the selector.
    fn keep_to(&mut self, input_budget: u64) -> Result<()> {
        self.input_budget = Some(input_budget);
        self.turn.set(ROOM, &input_budget)
    }

    /// Hands off: starts a new phase with a new anchor.
    fn hand_off(&self, error: &Error) -> Result<()> {
        let error = bub_estimate::to_tokens(&error.message, ERROR);
        let mut state = json!({"reason": "context_length_exceeded", "error": error});
        // The prompt is repeated after the anchor.
        let asked = content::text(self.asked);
        let input_budget = self.input_budget.unwrap_or(u64::MAX);
        budget::add_summary(&mut state, &self.sent, &asked, input_budget);
        if let Some(input_budget) = self.input_budget {
            overflow::learned(&mut state, &self.settings.model, input_budget);
        }
        self.tape.writer(APPEND).handoff(OVERFLOW_ANCHOR, &state)?;
        Ok(())
    }

    /// Whether the last system prompt on the tape differs, or there is none. Checked in every step: a tool may have
    /// reset the tape, and others may write to it. If the newest entry is this loop's own, nothing has changed.
    fn is_new(&self, system: &str) -> Result<bool> {
        if let Some((told, last)) = &self.told
            && self.tape.tail(None, 1)?.first().is_some_and(|newest| newest.id == *last)
        {
            return Ok(told != system);
        }
        Ok(self.last_system()?.as_deref() != Some(system))
    }

    fn last_system(&self) -> Result<Option<String>> {
        let newest = Query { kinds: vec!["system".to_owned()], newest_first: true, limit: Some(1), ..Query::default() };
        let entry = self.tape.query(&newest)?.next(1)?.pop();
        Ok(entry.and_then(|entry| entry.json().get("content")?.as_str().map(str::to_owned)))
    }

    /// Writes messages that were taken from the queue to the tape after a failure. The host adds the turn's prompt only
    /// if it finds no message, so the prompt is written too. Errors are ignored: the turn has failed already.
    fn keep_steering(&self) {
        if self.steering.is_empty() {
            return;
        }
        let asked = Some(self.asked).filter(|_| !self.recorded);
        let run_id = self.turn.new_run_id();
        let entries: Vec<Draft> =
            asked.into_iter().chain(&self.steering).map(|said| record::unanswered(&run_id, said)).collect();
        let _ = self.tape.writer(APPEND).append(&entries);
    }

    fn write(&mut self, entry: Draft) -> Result<()> {
        let written = self.tape.writer(APPEND).append(&[entry])?;
        self.told = self.told.take().filter(|(_, last)| last + 1 == written).map(|(told, _)| (told, written));
        Ok(())
    }
}

/// Whether it is the error of a step that handed off before calling the provider.
fn is_budget(error: &Error) -> bool {
    error.kind == ErrorKind::ContextLength && error.details.as_ref().is_some_and(|details| details.contains("estimate"))
}
