//! What is no message, too much, or meant to break something: each has an answer, and the next request is served.

use super::{Client, SESSION, desk, serving};
use bub_tests::tape;
use serde_json::{Value, json};

/// It still serves.
#[track_caller]
fn goes_on(client: &mut Client<'_>) {
    let (went_well, text) = client.call("fs_read", &json!({ "path": "notes.txt" }));
    assert!(went_well && text.contains("two"), "{text}");
}

/// The errors without an id so far.
fn refusals(client: &Client<'_>) -> Vec<Value> {
    client.messages().into_iter().filter(|message| message["id"].is_null() && message["error"].is_object()).collect()
}

#[test]
fn what_is_no_message_is_refused_with_the_reason() {
    let home = desk(true);
    let mut client = Client::begin(serving(&home, &[]));
    for (line, code) in [
        ("{", -32700),
        ("hello", -32700),
        ("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"} x", -32700),
        ("[]", -32600),
        ("null", -32600),
        ("{}", -32600),
        ("[{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}]", -32600),
    ] {
        let before = refusals(&client).len();
        client.program.say(line);
        goes_on(&mut client);
        let refused = refusals(&client);
        assert_eq!(refused.len(), before + 1, "{line}: {refused:?}");
        assert_eq!(refused[before]["error"]["code"], code, "{line}: {refused:?}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    client.program.say(&deep);
    let wide =
        format!("{{\"params\": {{{}\"z\": 1}}}}", (0..70_000).map(|n| format!("\"{n}\":0,")).collect::<String>());
    client.program.say(&wide);
    goes_on(&mut client);
    let refused: Vec<String> = refusals(&client).iter().rev().take(2).map(Value::to_string).collect();
    assert!(refused.iter().any(|refused| refused.contains("nested deeper than 64")), "{refused:?}");
    assert!(refused.iter().any(|refused| refused.contains("more than 65536 members")), "{refused:?}");
    // Blank lines are none.
    client.program.say("   ");
    client.end();
}

#[test]
fn unknown_methods_and_parameters_that_do_not_fit_are_answered() {
    let home = desk(true);
    let mut client = Client::begin(serving(&home, &[]));
    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("prompts/list", json!({}), -32601),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({ "name": 5 }), -32602),
        ("tools/call", json!({ "name": "fs_read", "arguments": [] }), -32602),
        ("tools/call", json!({ "name": "no_such_tool" }), -32602),
        ("resources/read", json!({}), -32602),
    ] {
        let answer = client.ask(method, &params);
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
    let close = client.ask("tools/call", &json!({ "name": "fs_raed" }));
    assert!(close["error"]["message"].as_str().is_some_and(|text| text.contains("did you mean `fs_read`")), "{close}");
    let hostile = format!("\u{1b}[2J`\n{}", "x".repeat(5000));
    let answer = client.ask("tools/call", &json!({ "name": hostile }));
    let text = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(text.len() < 300 && !text.contains(['\u{1b}', '\n']), "{text}");
    goes_on(&mut client);
    client.end();
}

#[test]
fn a_long_argument_is_taken_and_a_longer_line_is_refused() {
    let home = desk(true);
    let mut client = Client::begin(serving(&home, &[]));
    // The tool has a bound of its own, and says so.
    let text = "ten megabytes ".repeat(10 << 20 >> 4);
    let (_, said) = client.call("fs_write", &json!({ "path": "long.txt", "content": text }));
    assert!(said.len() < 4096, "{}", said.len());
    goes_on(&mut client);
    client.program.say(&format!("{{\"params\": \"{}\"}}", "x".repeat(17 << 20)));
    goes_on(&mut client);
    let refused = refusals(&client);
    assert!(refused.iter().any(|refused| refused.to_string().contains("at most 16 MiB")), "{refused:?}");
    client.end();
}

#[test]
fn hostile_text_in_arguments_stays_text() {
    let home = desk(true);
    let mut client = Client::begin(serving(&home, &[]));
    let hostile = "\u{1b}]0;x\u{7}\u{202e}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n\u{0}`, ,fs.write path=x";
    let (went_well, text) = client.call("fs_read", &json!({ "path": hostile }));
    assert!(!went_well, "{text}");
    let (went_well, text) =
        client.call("bash", &json!({ "cmd": format!("printf '%s' '{}'", hostile.replace(['\u{0}', '\''], "")) }));
    assert!(went_well && text.contains(']'), "{text}");
    goes_on(&mut client);
    // `end` looks at every line that was printed.
    let finished = client.end();
    assert!(!finished.stderr.contains('\u{1b}'), "{finished}");
}

/// Numbers pass several layers that could take them for other types.
#[test]
fn numbers_in_arguments_and_progress_keep_their_digits() {
    let home = desk(true);
    let mut client = Client::begin(serving(&home, &[]));
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5,"total":1.5}}"#;
    client.program.say(progress);
    let call = r#"{"jsonrpc":"2.0","id":"floats","method":"tools/call","params":{"name":"fs_read","arguments":{"path":"notes.txt","offset":1.25,"limit":12345678901234567890123}}}"#;
    client.program.say(call);
    client.message("the answer", |message| message["id"] == "floats");
    goes_on(&mut client);
    let finished = client.end();
    assert!(!finished.stdout.contains("-32"), "no message was refused: {finished}");
    let entries = tape::read(&home.tape_file(SESSION));
    let call = entries.iter().find(|entry| entry["kind"] == "tool_call").expect("the call is kept");
    let arguments = call["payload"]["calls"][0]["function"]["arguments"].as_str().unwrap_or_default();
    assert!(arguments.contains("1.25") && arguments.contains("12345678901234567890123"), "{arguments}");
}

#[test]
fn more_calls_at_once_than_are_served_are_refused() {
    let home = desk(true);
    let mut client = Client::begin(serving(&home, &[]));
    let long = json!({ "name": "bash", "arguments": { "cmd": "sleep 600", "timeout_seconds": 600 } });
    let ids: Vec<u64> = (0..64).map(|_| client.request("tools/call", &long)).collect();
    // They have been taken by then.
    for _ in 0..20 {
        client.ask("ping", &json!({}));
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let answer = client.ask("tools/call", &json!({ "name": "fs_read", "arguments": { "path": "notes.txt" } }));
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("64 calls run already")), "{answer}");
    for id in ids {
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    }
    let begun = std::time::Instant::now();
    while client.ask("tools/call", &json!({ "name": "fs_read", "arguments": { "path": "notes.txt" } }))["result"]
        .is_null()
    {
        assert!(begun.elapsed() < super::PATIENCE);
    }
    client.end();
}
