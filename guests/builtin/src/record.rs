//! Entries and events of a step, in Bub's format.

use std::time::Instant;

use crate::answer::Answer;
use crate::{clock, content, json, toolset};
use bub_guest::tape::Draft;
use bub_guest::turn::ToolCall;
use bub_guest::{Error, ErrorKind, Prompt, Result, Turn};
use serde_json::{Value, json};

/// How a step ended.
pub enum Ending<'a> {
    Done,
    Continue,
    HandedOff(&'a Error),
    /// The request is repeated, shortened.
    Shortened(&'a Error),
    Failed(&'a Error),
}

/// The event before the first step.
pub fn start(turn: &Turn, model: &str, prompt: &Prompt) -> Draft {
    let list = |key: &str| turn.get_json(key).map(|list| json::value(&list)).filter(Value::is_array);
    let data = json!({
        "model": model,
        "prompt": content::text(prompt),
        "allowed_skills": list("allowed_skills"),
        "allowed_tools": list("allowed_tools"),
    });
    Draft::event("loop.start", &data)
}

pub fn step_start(step: u64, prompt: &Prompt) -> Draft {
    Draft::event("loop.step.start", &json!({"step": step, "prompt": content::text(prompt)}))
}

/// The event after the last entry of a step that began at `began`.
pub fn step_end(step: u64, began: Instant, ending: Ending) -> Draft {
    let elapsed = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (status, error) = match ending {
        Ending::Done => ("ok", None),
        Ending::Continue => ("continue", None),
        Ending::HandedOff(error) => ("auto_handoff", Some(error)),
        Ending::Shortened(error) => ("shortened", Some(error)),
        Ending::Failed(error) => ("error", Some(error)),
    };
    let mut data = json!({"step": step, "elapsed_ms": elapsed, "status": status});
    if let Some(error) = error {
        data["error"] = error.message.as_str().into();
    }
    data["date"] = clock::now().into();
    Draft::event("loop.step", &data)
}

/// A completed step.
pub struct Step<'a> {
    pub run_id: &'a str,
    pub model: &'a str,
    /// The user messages; the prompt is last.
    pub said: &'a [Prompt],
    pub answer: &'a Answer,
    /// One per call of the answer.
    pub results: &'a [Value],
}

impl Step<'_> {
    /// The user messages, then the answer or the calls and their results, then the usage event. Text that came with
    /// calls is not kept.
    pub fn entries(&self) -> Vec<Draft> {
        let entry = |kind, payload| draft(kind, &payload, self.run_id);
        let mut entries: Vec<Draft> = self.said.iter().map(|said| user(self.run_id, said)).collect();
        if !self.answer.calls.is_empty() {
            let calls: Vec<Value> = self.answer.calls.iter().map(call).collect();
            entries.push(entry("tool_call", json!({"calls": calls})));
            entries.push(entry("tool_result", json!({"results": self.results})));
        } else if !self.answer.text.is_empty() {
            entries.push(entry("message", json!({"role": "assistant", "content": self.answer.text})));
        }
        let mut data = json!({"status": "ok"});
        if let Some(usage) = &self.answer.usage {
            data["usage"] = json::value(usage);
        }
        data["model"] = self.model.into();
        entries.push(entry("event", json!({"name": "run", "data": data})));
        entries
    }
}

pub fn system(run_id: &str, prompt: &str) -> Draft {
    draft("system", &json!({"content": prompt}), run_id)
}

fn user(run_id: &str, prompt: &Prompt) -> Draft {
    draft("message", &user_message(content::of(prompt)), run_id)
}

/// The user messages of a turn that failed.
pub fn unanswered(run_id: &str, prompt: &Prompt) -> Draft {
    draft("message", &user_message(content::words(prompt).into()), run_id)
}

pub fn user_message(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

/// The result of a tool call: the tool's answer, or the error as an object that the model can read.
pub fn result(result: &Result<String>) -> Value {
    let error = match result {
        Ok(answer) => return json::value(answer),
        Err(error) => error,
    };
    let mut value = json!({"kind": kind_name(error.kind), "message": error.message});
    if let Some(details) = &error.details {
        value["details"] = json::value(details);
    }
    value
}

/// A call as in chat messages, with the model's name for the tool.
fn call(call: &ToolCall) -> Value {
    let function = json!({"arguments": call.arguments, "name": toolset::model_name(&call.name)});
    json!({"id": call.id, "function": function, "type": "function"})
}

/// Records a command: its line without the comma, and its output.
pub fn command(line: &str, name: &str, status: &str, began: Instant, output: &str) -> Draft {
    let elapsed = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let data = json!({
        "raw": line, "name": name, "status": status, "elapsed_ms": elapsed, "output": output, "date": clock::now(),
    });
    Draft::event("command", &data)
}

/// An entry of a model call.
fn draft(kind: &str, payload: &Value, run_id: &str) -> Draft {
    Draft { meta: json!({ "run_id": run_id }).to_string(), ..Draft::new(kind, payload) }
}

/// The name of a kind of error on tapes.
pub fn kind_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidInput => "invalid_input",
        ErrorKind::Config => "config",
        ErrorKind::Provider => "provider",
        ErrorKind::ContextLength => "context_length",
        ErrorKind::Tool => "tool",
        ErrorKind::Temporary => "temporary",
        ErrorKind::NotFound => "not_found",
        ErrorKind::Denied => "denied",
        ErrorKind::Conflict => "conflict",
        ErrorKind::Cancelled => "cancelled",
        ErrorKind::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(answer: &Answer, results: &[Value]) -> Vec<(String, String)> {
        let said = [Prompt::Text("P".to_owned())];
        let step = Step { run_id: "run-1", model: "openai:fake-model", said: &said, answer, results };
        let entries = step.entries();
        assert!(entries.iter().all(|entry| entry.meta == r#"{"run_id":"run-1"}"#));
        entries.into_iter().map(|entry| (entry.kind, entry.payload)).collect()
    }

    fn lines(entries: &[(&str, &str)]) -> Vec<(String, String)> {
        entries.iter().map(|(kind, payload)| ((*kind).to_owned(), (*payload).to_owned())).collect()
    }

    #[test]
    fn a_text_answer_is_a_message_and_its_cost() {
        let usage = Some(r#"{"completion_tokens":5,"total_tokens":978}"#.to_owned());
        let answer = Answer { text: "Hello".to_owned(), calls: Vec::new(), usage };
        let expected = [
            ("message", r#"{"role":"user","content":"P"}"#),
            ("message", r#"{"role":"assistant","content":"Hello"}"#),
            (
                "event",
                r#"{"name":"run","data":{"status":"ok","usage":{"completion_tokens":5,"total_tokens":978},"model":"openai:fake-model"}}"#,
            ),
        ];
        assert_eq!(step(&answer, &[]), lines(&expected));
    }

    #[test]
    fn text_beside_tool_calls_is_not_kept() {
        let call = ToolCall { id: Some("call_0".to_owned()), name: "tape.info".to_owned(), arguments: "{}".to_owned() };
        let answer = Answer { text: "Let me see.".to_owned(), calls: vec![call], usage: None };
        let expected = [
            ("message", r#"{"role":"user","content":"P"}"#),
            (
                "tool_call",
                r#"{"calls":[{"id":"call_0","function":{"arguments":"{}","name":"tape_info"},"type":"function"}]}"#,
            ),
            ("tool_result", r#"{"results":["done"]}"#),
            ("event", r#"{"name":"run","data":{"status":"ok","model":"openai:fake-model"}}"#),
        ];
        assert_eq!(step(&answer, &["done".into()]), lines(&expected));
    }

    #[test]
    fn a_result_keeps_its_digits_and_an_error_is_an_object() {
        let numbers = "[1e-07,12345678901234567890123,1.10]";
        assert_eq!(result(&Ok(numbers.to_owned())).to_string(), numbers);
        let error = Error::invalid("no `path`").with_details(&json!({ "at": 1 }));
        assert_eq!(
            result(&Err(error)).to_string(),
            r#"{"kind":"invalid_input","message":"no `path`","details":{"at":1}}"#
        );
    }
}
