//! Turns inside turns, and results that are too long for a conversation.

mod reach;

use crate::home;
use bub_tests::{Answer, Server, tape};
use serde_json::{Value, json};

fn results(server: &Server, request: usize) -> Vec<String> {
    let messages = server.requests()[request].messages();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
}

fn names(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn an_agent_delegates_to_another_whose_conversation_is_not_kept() {
    let home = home();
    let server = Server::new([
        Answer::tool_call("subagent", &json!({ "prompt": "count to three" }).to_string()),
        Answer::text("one two three"),
        Answer::text("it counted"),
    ]);
    home.run(["let somebody count"]).model(&server).finish().says("[cli:local]\nit counted\n");
    assert_eq!(results(&server, 2), ["one two three"]);
    let inner = server.requests()[1].json();
    let said: Vec<_> = inner["messages"].as_array().expect("messages").iter().skip(1).cloned().collect();
    assert_eq!(said, [json!({ "role": "user", "content": "count to three" })]);
    assert!(!names(&inner).contains(&"subagent".to_owned()), "it begins no further ones unasked");
    assert!(names(&inner).contains(&"bash".to_owned()));
    let tapes = std::fs::read_dir(home.tapes_dir()).expect("there are tapes");
    let tapes =
        tapes.filter(|file| file.as_ref().is_ok_and(|file| file.path().extension().is_some_and(|end| end == "jsonl")));
    // Beside it are its receipts and its chain.
    let tapes =
        tapes.filter(|file| file.as_ref().is_ok_and(|file| !file.path().to_string_lossy().contains("__sidecar__")));
    assert_eq!(tapes.count(), 1, "only the session's own");
}

#[test]
fn an_agent_that_inherits_reads_the_conversation_and_writes_to_it() {
    let home = home();
    let server = Server::new([
        Answer::text("hello"),
        Answer::tool_call("subagent", &json!({ "prompt": "go on", "session": "inherit", "allowed_tools": ["tape_info", "fs.read"], "allowed_skills": ["gh"] }).to_string()),
        Answer::text("inner"),
        Answer::text("outer"),
    ]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    home.run(["let it go on"]).model(&server).finish().says("[cli:local]\nouter\n");
    let inner = server.requests()[2].json();
    assert!(inner["messages"].to_string().contains("hello"), "it sees what was said: {inner}");
    assert_eq!(names(&inner), ["fs_read", "tape_info"]);
    let entries = tape::read(&home.tape_file("cli:local"));
    let start = entries.iter().find(|entry| entry["payload"]["data"]["prompt"] == "go on").expect("it is on the tape");
    assert_eq!(start["payload"]["data"]["allowed_tools"], json!(["fs.read", "tape.info"]));
    assert_eq!(start["payload"]["data"]["allowed_skills"], json!(["gh"]));
}

#[test]
fn an_agent_with_a_named_session_keeps_it_and_can_use_another_model() {
    let home = home();
    let server = Server::new([
        Answer::tool_call(
            "subagent",
            &json!({ "prompt": "p", "session": "other", "model": "openai:sub-model" }).to_string(),
        ),
        Answer::text("named"),
        Answer::text("done"),
    ]);
    home.run(["go"]).model(&server).finish().says("[cli:local]\ndone\n");
    assert_eq!(server.requests()[1].json()["model"], "sub-model");
    assert!(tape::read(&home.tape_file("other")).iter().any(|entry| entry["payload"]["content"] == "named"));
}

#[test]
fn an_agent_can_call_only_its_tools() {
    let home = home();
    let call = |name: &str, arguments: Value| Answer::tool_call(name, &arguments.to_string());
    let server = Server::new([
        call("subagent", json!({ "prompt": "p", "allowed_tools": ["tape.info"] })),
        call("bash", json!({ "cmd": "touch pwned" })),
        Answer::text("could not"),
        call("subagent", json!({ "prompt": "p", "allowed_tools": ["nonsense"] })),
        Answer::text("end"),
    ]);
    home.run(["go"]).model(&server).finish().says("[cli:local]\nend\n");
    assert!(results(&server, 2)[0].contains("there is no tool `bash`"), "{:?}", results(&server, 2));
    assert!(!home.workspace().join("pwned").exists());
    assert!(results(&server, 4)[1].contains("there is no tool `nonsense`"), "{:?}", results(&server, 4));
}

#[test]
fn agents_inside_agents_go_three_deep_and_no_deeper() {
    let home = home();
    let deeper =
        || Answer::tool_call("subagent", &json!({ "prompt": "deeper", "allowed_tools": ["subagent"] }).to_string());
    let mut answers: Vec<Answer> = (0..4).map(|_| deeper()).collect();
    answers.extend((0..4).map(|_| Answer::text("up")));
    let server = Server::new(answers);
    home.run(["go"]).model(&server).finish().says("[cli:local]\nup\n");
    assert!(results(&server, 4)[0].contains("3 deep"), "{:?}", results(&server, 4));
}

#[test]
fn a_long_result_is_put_aside_and_read_back_in_chunks() {
    let home = home();
    let read = |handle: &str, more: &str| format!(",spill.read {handle} {more}");
    let server =
        Server::new([Answer::tool_call("bash", &json!({ "cmd": "seq 1 8000" }).to_string()), Answer::text("ok")]);
    home.run(["count"]).model(&server).finish().says("[cli:local]\nok\n");
    let note = results(&server, 1).remove(0);
    assert!(note.starts_with("[tool output spilled: 38,892 bytes in 3 chunks; handle: "), "{note}");
    let handle = note.split("handle: ").nth(1).and_then(|rest| rest.split(']').next()).expect("it names a handle");
    let finished = home.run([read(handle, "").as_str()]).finish();
    assert!(finished.stdout.contains("\n1\n2\n3\n") && finished.stdout.contains("[chunks 0 to 0 of 3]"), "{finished}");
    let finished = home.run([read(handle, "from_end=true").as_str()]).finish();
    assert!(finished.stdout.contains("\n8000") && finished.stdout.contains("[chunks 2 to 2 of 3]"), "{finished}");
    home.run([read(handle, "cursor=3").as_str()]).finish().fails("there is no chunk 3");
    home.run([read("ffff", "").as_str()]).finish().fails("nothing was put aside as `ffff`");
    let whole: String = (0..3)
        .map(|chunk| {
            let text = home.run([read(handle, &format!("cursor={chunk}")).as_str()]).finish().stdout;
            let chunk = text.strip_prefix("[cli:local]\n").and_then(|text| text.rsplit_once("\n[chunks"));
            chunk.expect("a chunk").0.to_owned()
        })
        .collect();
    let all: Vec<String> = (1..=8000).map(|number: u32| number.to_string()).collect();
    assert_eq!(whole.trim_end(), all.join("\n"));
}
