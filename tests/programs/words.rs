//! Everything that takes JSON from a guest, given what is none. Each refusal is one line of the log.

use crate::bad_json;
use crate::bub::model::chat;
use crate::bub::model::exchange::Request;
use crate::bub::tape::entries::Draft;
use crate::bub::tools::schema::{Effect, ToolSpec};
use crate::bub::tools::toolbox;
use crate::bub::turn::stages;
use crate::bub::turn::turn::Turn;
use crate::bub::types::types::{Error, Prompt, StreamEvent, ToolCall};

/// Says it all.
pub fn say(turn: &Turn) {
    let bad = bad_json;
    let prompt = Prompt::Text("hi".to_owned());
    told("set", turn.set("key", &bad()));
    for (name, event) in [
        ("emit usage", StreamEvent::Usage(bad())),
        ("emit final", StreamEvent::Final(bad())),
        ("emit tool-results", StreamEvent::ToolResults(bad())),
    ] {
        told(name, turn.emit(&event));
    }
    if let Ok(tape) = turn.tape() {
        let draft = |payload: String, meta: String| Draft { kind: "event".to_owned(), payload, meta };
        told("append payload", tape.append(&[draft(bad(), "{}".to_owned())]));
        told("append meta", tape.append(&[draft(r#"{"name": "x", "data": {}}"#.to_owned(), bad())]));
        told("append-if payload", tape.append_if(0, &[draft(bad(), "{}".to_owned())]));
        told("handoff state", tape.handoff("there", Some(&bad())));
    }
    told("messages new", stages::messages(turn, &prompt, "", &[bad()], None));
    let good = r#"{"role": "user", "content": "hi"}"#.to_owned();
    let tool = |parameters| ToolSpec {
        name: "x".to_owned(),
        description: String::new(),
        parameters,
        for_model: true,
        effect: Effect::Read,
        reads_outside: false,
    };
    let request = |message: String, options: Option<String>, tools: Vec<ToolSpec>| Request {
        model: None,
        messages: vec![message],
        tools,
        max_tokens: None,
        purpose: "words".to_owned(),
        options,
    };
    told("complete messages", chat::complete(turn, &request(bad(), None, Vec::new())));
    // After a valid request, which it replaces.
    let mut further = request(good.clone(), None, Vec::new());
    drop(chat::complete(turn, &further));
    further.messages.push(bad());
    told("complete further messages", chat::complete(turn, &further));
    further.messages = vec![bad()];
    told("complete other messages", chat::complete(turn, &further));
    told("complete options", chat::complete(turn, &request(good.clone(), Some(bad()), Vec::new())));
    told("complete tools", chat::complete(turn, &request(good, None, vec![tool(bad())])));
    let call = ToolCall { id: None, name: "hostile.tool".to_owned(), arguments: bad() };
    let result = toolbox::call_tools(turn, &[call]).map(|mut results| results.pop());
    told(
        "call-tools arguments",
        match result {
            Ok(Some(result)) => result,
            Ok(None) => Ok(String::new()),
            Err(error) => Err(error),
        },
    );
}

fn told<T>(place: &str, outcome: Result<T, Error>) {
    crate::told("words", place, outcome);
}
