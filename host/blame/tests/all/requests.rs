//! Requests as the host makes them.

use crate::{blamed, source_of};
use bub_blame::{
    CallTrail, Finer, HOST, History, Part, PartKind, RequestTrail, Source, SourceKind, Stage, Step, blame, changes,
};
use serde_json::json;

fn trail() -> RequestTrail {
    RequestTrail::new("cli:local", "turn-1")
}

#[test]
fn the_parts_of_a_system_prompt_have_their_plugins_and_what_joins_them_has_the_host() {
    let mut trail = trail();
    let agent = trail.source(Source::plugin("builtin", "1", "system-prompt").named("agent"));
    let notes = trail.source(Source::plugin("memory", "2", "system-prompt").named("notes"));
    let selector = trail.source(Source::plugin("context-builder", "3", "selector"));
    let pieces = [(agent, "You are an agent."), (HOST, "\n\n"), (notes, "The owner likes tea.")];
    let pieces = pieces.map(|(source, text)| Step::new(source, text)).to_vec();
    let text = "You are an agent.\n\nThe owner likes green tea.";
    let history = History { pieces, steps: vec![Step::new(selector, text)] };
    let message = json!({ "role": "system", "content": text }).to_string();
    let mut part = Part::new(PartKind::Message, message.as_str(), HOST);
    part.finer.push(Finer { path: "content".to_owned(), history });
    trail.parts.push(part);
    trail.body = format!("{{\"messages\":[{message}]}}").into();
    let blame = blamed(&trail);
    assert_eq!(source_of(&blame, "You are an agent."), agent);
    assert_eq!(source_of(&blame, "The owner likes "), notes);
    assert_eq!(blame.texts_of(selector).collect::<Vec<_>>(), ["green "]);
    assert_eq!(source_of(&blame, "\\n\\n"), HOST);
    assert_eq!(source_of(&blame, "system"), HOST);
}

#[test]
fn a_document_that_was_written_in_another_spelling_keeps_its_sources() {
    let mut trail = trail();
    let entry = trail.source(Source::entry(3));
    let plugin = trail.source(Source::plugin("p", "1", "before-llm-call"));
    trail.parts.push(Part::new(
        PartKind::Message,
        r#"{"role": "user", "content": "caf\u00e9 \ud83d\ude00 now"}"#,
        entry,
    ));
    let after = r#"{"content":"café 😀 then","role":"user"}"#;
    trail.stages.push(Stage::new(plugin).with_messages([after]));
    trail.body = format!("{{\"messages\":[{}]}}", r#"{"content":"caf\u00e9 \ud83d\ude00 then","role":"user"}"#).into();
    let blame = blamed(&trail);
    assert_eq!(source_of(&blame, r"caf\u00e9 \ud83d\ude00 "), entry);
    assert_eq!(blame.texts_of(plugin).collect::<Vec<_>>(), ["then"]);
    assert_eq!(source_of(&blame, "user"), entry);
}

#[test]
fn a_new_message_between_others_has_the_stage_that_wrote_it_and_the_others_their_entries() {
    let mut trail = trail();
    let [one, other] = [4, 6].map(|id| trail.source(Source::entry(id)));
    let plugin = trail.source(Source::plugin("p", "1", "before-llm-call"));
    let [first, second] = ["first words of all", "what comes second here"]
        .map(|text| json!({ "role": "user", "content": text }).to_string());
    for (text, source, id) in [(&first, one, 4), (&second, other, 6)] {
        trail.parts.push(Part { entry: Some(id), ..Part::new(PartKind::Message, text.as_str(), source) });
    }
    let new = json!({ "role": "user", "content": "something else entirely" }).to_string();
    let messages = [&first, &new, &second];
    trail.stages.push(Stage::new(plugin).with_messages(messages.map(String::as_str)));
    trail.body = format!("{{\"messages\":[{}]}}", messages.map(String::as_str).join(",")).into();
    let blame = blamed(&trail);
    assert_eq!(source_of(&blame, "first words of all"), one);
    assert_eq!(source_of(&blame, "what comes second here"), other);
    assert_eq!(source_of(&blame, "something else entirely"), plugin);
    let entries: Vec<Option<u64>> = blame.parts.iter().map(|part| part.entry).collect();
    assert_eq!(entries, [Some(4), None, Some(6)]);
}

#[test]
fn a_body_of_another_protocol_has_the_sources_of_the_texts_that_moved() {
    let mut trail = trail();
    let system = trail.source(Source::plugin("builtin", "1", "system-prompt"));
    let budget = trail.source(Source::plugin("builtin", "1", "run-model"));
    let user = trail.source(Source::new(SourceKind::Sender));
    let tool = trail.source(Source::plugin("weather", "2", "tools"));
    let texts = [
        (json!({ "role": "system", "content": "You are an agent of few words." }), system),
        (json!({ "role": "user", "content": "how is the weather in Paris?" }), user),
        (json!({ "role": "system", "content": "The budget is nearly used up." }), budget),
    ];
    trail.parts =
        texts.iter().map(|(message, source)| Part::new(PartKind::Message, message.to_string(), *source)).collect();
    let spec = json!({ "type": "function", "function": { "name": "weather", "description": "The weather of a city.",
        "parameters": { "type": "object" } } });
    trail.parts.push(Part::new(PartKind::Tool, spec.to_string(), tool));
    let system_text = "You are an agent of few words.\n\nThe budget is nearly used up.";
    trail.body = json!({
        "model": "claude", "max_tokens": 100,
        "tools": [{ "name": "weather", "description": "The weather of a city.", "input_schema": { "type": "object" } }],
        "system": [{ "type": "text", "text": system_text }],
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": "how is the weather in Paris?" }] }],
    })
    .to_string()
    .into();
    let blame = blamed(&trail);
    assert_eq!(source_of(&blame, "You are an agent of few words."), system);
    assert_eq!(source_of(&blame, "The budget is nearly used up."), budget);
    assert_eq!(source_of(&blame, "how is the weather in Paris?"), user);
    assert_eq!(source_of(&blame, "The weather of a city."), tool);
    assert_eq!(source_of(&blame, "input_schema"), HOST);
}

#[test]
fn arguments_of_a_call_that_another_protocol_has_as_an_object_keep_their_source() {
    let mut trail = trail();
    let call = trail.source(Source::entry(5));
    let arguments = json!({ "cmd": "ls \"a b\"", "cwd": "x" }).to_string();
    let message = json!({ "role": "assistant", "content": "", "tool_calls": [
        { "id": "call_1", "type": "function", "function": { "name": "bash", "arguments": arguments } },
    ] });
    trail.parts.push(Part::new(PartKind::Message, message.to_string(), call));
    trail.body = json!({ "messages": [{ "role": "assistant", "content": [
        { "type": "tool_use", "id": "call_1", "name": "bash", "input": { "cmd": "ls \"a b\"", "cwd": "x" } },
    ] }] })
    .to_string()
    .into();
    let blame = blamed(&trail);
    for text in ["cmd", "ls \\\"a b\\\"", "cwd", "bash"] {
        assert_eq!(source_of(&blame, text), call, "`{text}`");
    }
}

#[test]
fn options_and_tools_that_a_stage_changed_name_it() {
    let mut trail = trail();
    let config = trail.source(Source::new(SourceKind::Configuration));
    let agent = trail.source(Source::plugin("builtin", "1", "run-model"));
    let plugin = trail.source(Source::plugin("p", "1", "before-llm-call"));
    trail.parts.push(Part::new(PartKind::Settings, r#"{"model":"openai:gpt-4o","max_tokens":4096}"#, config));
    let settings = |text: &str| Some(text.into());
    let by_agent = r#"{"model":"openai:gpt-4o","max_tokens":4096,"reasoning_effort":"high"}"#;
    let by_plugin = r#"{"model":"openai:gpt-4o","max_tokens":64,"reasoning_effort":"high"}"#;
    trail.stages.push(Stage { settings: settings(by_agent), ..Stage::new(agent) });
    trail.stages.push(Stage { settings: settings(by_plugin), ..Stage::new(plugin) });
    let body =
        r#"{"model":"gpt-4o","max_completion_tokens":64,"max_tokens":64,"reasoning_effort":"high","stream":true}"#;
    trail.body = body.into();
    let blame = blamed(&trail);
    assert_eq!(source_of(&blame, "gpt-4o"), config);
    assert_eq!(source_of(&blame, "high"), agent);
    assert_eq!(source_of(&blame, "reasoning_effort"), agent);
    assert_eq!(blame.texts_of(plugin).collect::<Vec<_>>(), ["64"]);
    assert_eq!(source_of(&blame, "true"), HOST);
}

#[test]
fn a_changed_tool_call_shows_what_was_there_and_what_is() {
    let mut trail = trail();
    let entry = trail.source(Source::entry(3));
    let plugin = trail.source(Source::plugin("p", "1", "before-tool-call"));
    let tool = trail.source(Source::plugin("fs", "2", "tools"));
    let mut arguments = History::new(entry, r#"{"path":"a.txt"}"#);
    arguments.steps.push(Step::new(plugin, r#"{"path":"b.txt"}"#));
    let same = History::new(tool, "\"text\"");
    trail.calls.push(CallTrail {
        tool: "fs.read".to_owned(),
        id: None,
        arguments: arguments.clone(),
        result: same.clone(),
    });
    trail.calls.push(CallTrail { tool: "fs.read".to_owned(), id: None, arguments: same.clone(), result: same });
    let blame = blamed(&trail);
    assert_eq!(blame.calls.len(), 1);
    let [change] = &blame.calls[0].arguments[..] else { panic!("{:?}", blame.calls) };
    assert_eq!((change.source, change.before.as_str(), change.after.as_str()), (plugin, "a", "b"));
    assert_eq!(changes(&arguments), std::slice::from_ref(change));
}

#[test]
fn a_trail_that_was_kept_is_read_again_and_one_of_a_later_version_is_named() {
    let mut trail = trail();
    trail.parts.push(Part::new(PartKind::Settings, "{}", HOST));
    let text = serde_json::to_string(&trail).expect("it is JSON");
    assert_eq!(RequestTrail::parse(&text).as_ref(), Ok(&trail));
    let later = text.replace("\"format\":1", "\"format\":2");
    let error = RequestTrail::parse(&later).expect_err("it is of a later version");
    assert_eq!(error, "its format is 2, and this program reads 1; use a newer one");
    trail.parts.push(Part::new(PartKind::Settings, "{}", 7));
    assert_eq!(blame(&trail).map(drop), Err("it names source 7 of 1".to_owned()));
    for cut in 0..text.len() {
        assert!(RequestTrail::parse(&text[..cut]).is_err());
    }
}
