//! Turns that call tools of a server that is a program.

use super::{config_of, kept, noted, offered, result, results, secret, state, turn, with_server};
use bub_tests::{Answer, Home, Serve, Server};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

#[test]
fn a_model_calls_a_tool_of_a_server_and_reads_its_result() {
    let home = with_server("good", "");
    let (finished, requests) = turn(&home, &[("mcp_it_echo", r#"{"say":"hello"}"#)], &["--allow", "run"]);
    finished.says("[cli:local]\ndone\n");
    let names = offered(&requests[0]);
    for name in ["mcp_it_echo", "mcp_it_look", "mcp_it_wipe", "mcp_it_read_resource", "mcp_it_get_prompt"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let tools = requests[0]["tools"].as_array().unwrap();
    let echo = tools.iter().find(|tool| tool["function"]["name"] == "mcp_it_echo").unwrap();
    assert_eq!(echo["function"]["description"], "[server it] Says what it is told.");
    assert_eq!(echo["function"]["parameters"]["properties"]["say"]["type"], "string");
    assert_eq!(results(&requests), ["echo: hello"]);
    assert_eq!(noted(&home, "starts").len(), 1);
    let events = fs::read_to_string(home.tape_file("cli:local")).unwrap();
    assert!(events.contains("turn.tainted") && events.contains("tool:mcp.it.echo"), "{events}");
    assert!(events.contains("process:it"), "the grant that was used is on the tape: {events}");
}

#[test]
fn tools_resources_and_prompts_are_comma_commands_too() {
    let home = with_server("good", "");
    for (command, said) in [
        (",mcp.it.echo say=hello", "echo: hello"),
        (",mcp.it.read_resource", "test://one - one - The first."),
        (",mcp.it.read_resource uri=test://one", "the text of test://one"),
        (",mcp.it.get_prompt", "greet - Greets.; arguments: who (required)"),
    ] {
        let finished = home.run([command]).finish();
        assert!(finished.stdout.contains(said), "{finished}");
    }
    let (said, _) = result(&home, "mcp_it_get_prompt", r#"{"name":"greet","arguments":{"who":"Ada"}}"#);
    assert_eq!(said, "user: Greet Ada.");
}

#[test]
fn only_a_server_that_has_resources_and_prompts_gets_their_tools() {
    let home = super::home();
    let script = super::script();
    let added = home.bub(["mcp", "add", "bare", "--", "python3", &script, "bare"]).finish();
    assert!(added.code == Some(0) && added.stdout.contains("mcp.bare.echo"), "{added}");
    assert!(!added.stdout.contains("read_resource") && !added.stdout.contains("get_prompt"), "{added}");
    let none = home.bub(["mcp", "add", "none", "--", "python3", &script, "nothing"]).finish();
    assert!(none.code == Some(0) && none.stdout.contains("0 tools"), "{none}");
}

#[test]
fn a_tool_of_unknown_effect_needs_approval_once_text_of_a_server_is_in_the_turn() {
    let calls = [("mcp_it_echo", r#"{"say":"1"}"#), ("mcp_it_echo", r#"{"say":"2"}"#)];
    let home = with_server("good", "");
    let (finished, requests) = turn(&home, &calls, &[]);
    assert_eq!(finished.code, Some(3), "{finished}");
    let said = results(&requests);
    assert_eq!(said[0], "echo: 1");
    assert!(said[1].contains("run") && !said[1].contains("echo: 2"), "{}", said[1]);
    assert_eq!(noted(&home, "calls").len(), 1);
    let (finished, requests) = turn(&with_server("good", ""), &calls, &["--allow", "run"]);
    assert_eq!((finished.code, results(&requests)), (Some(0), vec!["echo: 1".to_owned(), "echo: 2".to_owned()]));
    let home = with_server("good", "[mcp.it.effects]\necho = \"read\"");
    let (finished, requests) = turn(&home, &calls, &[]);
    assert_eq!((finished.code, results(&requests).len()), (Some(0), 2), "{finished}");
    let home = with_server("good", "trust_annotations = true");
    let (finished, requests) = turn(&home, &[("mcp_it_look", "{}"), ("mcp_it_look", "{}")], &[]);
    assert_eq!((finished.code, results(&requests).len()), (Some(0), 2), "{finished}");
}

fn serve<'home>(home: &'home Home, model: &Server) -> Serve<'home> {
    Serve::start(home.bub(["serve", "--listen", "127.0.0.1:0"]).model(model), &home.bub_home())
}

fn say(serve: &Serve<'_>, session: &str) -> Value {
    serve.post("/v1/turns", &json!({ "content": "call it", "session_id": session }))
}

#[test]
fn the_turns_of_a_serve_use_one_server_which_is_started_again_when_it_was_killed() {
    let home = with_server("good", "[mcp.it.effects]\n\"*\" = \"read\"");
    let call = || Answer::tool_call("mcp_it_echo", r#"{"say":"hello"}"#);
    let model = Server::new((0..3).flat_map(|_| [call(), Answer::text("done")]));
    let serve = serve(&home, &model);
    say(&serve, "http:one");
    say(&serve, "http:two");
    let starts = noted(&home, "starts");
    assert_eq!(starts.len(), 1, "both turns use one process");
    let killed = Command::new("kill").args(["-KILL", &starts[0]]).status().unwrap();
    assert!(killed.success());
    say(&serve, "http:one");
    assert_eq!(noted(&home, "starts").len(), 2);
    let read: Vec<Value> = model.requests().iter().map(|request| request.json()).collect();
    assert_eq!(results(&read).last().map(String::as_str), Some("echo: hello"));
    let last = noted(&home, "starts").pop().unwrap();
    serve.end();
    let begun = std::time::Instant::now();
    while fs::metadata(format!("/proc/{last}")).is_ok() && begun.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(fs::metadata(format!("/proc/{last}")).is_err(), "the server ends with the process that started it");
}

#[test]
fn calls_that_run_at_once_share_the_server() {
    let home = with_server("good", "[mcp.it.effects]\n\"*\" = \"read\"");
    let call = |at: usize| {
        let function = json!({ "name": "mcp_it_echo", "arguments": format!("{{\"say\":\"{at}\"}}") });
        json!({ "index": at, "id": format!("call_{at}"), "type": "function", "function": function })
    };
    let calls: Vec<Value> = (0..6).map(call).collect();
    let model = Server::new([Answer::tool_calls(&calls), Answer::text("done")]);
    home.run(["call it"]).model(&model).finish().says("[cli:local]\ndone\n");
    let requests: Vec<Value> = model.requests().iter().map(|request| request.json()).collect();
    let expected: Vec<String> = (0..6).map(|at| format!("echo: {at}")).collect();
    assert_eq!(results(&requests), expected);
    assert_eq!(noted(&home, "starts").len(), 1);
}

#[test]
fn a_secret_in_the_environment_reaches_the_server_and_nothing_else() {
    const KEY: &str = "s3cret-of-the-mcp-test";
    let home = with_server("good", "[mcp.it.env]\nAPI_KEY = \"{{secret:it-key}}\"");
    secret(&home, "it-key", KEY, &[]);
    let (said, finished) = result(&home, "mcp_it_secret", "{}");
    assert!(said.starts_with("*** ***") && said.ends_with("***"), "{said}");
    let encoded = ["czNjcmV0LW9mLXRoZS1tY3AtdGVzdA", "tset-pcm-eht-fo-terc3s"];
    for form in encoded.iter().chain([&KEY]) {
        assert!(!kept(&home).contains(form) && !finished.stderr.contains(form), "{form}");
    }
    let missing = with_server("good", "[mcp.it.env]\nAPI_KEY = \"{{secret:absent}}\"");
    let (said, _) = result(&missing, "mcp_it_secret", "{}");
    assert!(said.contains("`env.API_KEY`") && said.contains("absent"), "{said}");
}

#[test]
fn a_server_runs_in_the_home_directory_and_in_the_workspace_only_if_that_is_trusted() {
    let home = with_server("good", "");
    let (said, _) = result(&home, "mcp_it_where", "{}");
    let user_home = home.workspace().with_file_name("user");
    assert_eq!(said, format!("{}", user_home.display()));
    let home = with_server("good", "directory = \"<workspace>\"");
    let (said, _) = result(&home, "mcp_it_where", "{}");
    assert!(said.contains("the workspace, which is not trusted; `bub-wasm trust` trusts it"), "{said}");
    assert!(noted(&home, "starts").is_empty());
    let trusted = home.bub(["trust"]).finish();
    assert_eq!(trusted.code, Some(0), "{trusted}");
    let (said, _) = result(&home, "mcp_it_where", "{}");
    assert_eq!(said, format!("{}", home.workspace().display()));
}

#[test]
fn the_context_builder_and_the_memory_leave_the_tools_as_they_are() {
    let home = with_server("good", "");
    home.configure("selector = \"context-builder\"");
    for said in ["one", "two", "three"] {
        let (finished, requests) =
            turn(&home, &[("mcp_it_echo", &json!({ "say": said }).to_string())], &["--allow", "run"]);
        assert!(finished.stdout.ends_with("done\n"), "{finished}");
        assert_eq!(results(&requests).last(), Some(&format!("echo: {said}")));
    }
}

#[test]
fn a_server_without_its_grant_is_not_started() {
    let home = with_server("good", "");
    home.configure("[plugins.mcp]\ngrants = [\"http:*\"]");
    let (said, _) = result(&home, "mcp_it_echo", "{}");
    assert!(said.contains("bub-wasm plugin grant mcp process:it"), "{said}");
    assert!(noted(&home, "starts").is_empty());
    let inspected = home.bub(["plugin", "inspect", "mcp"]).finish();
    assert!(inspected.stdout.contains("starts the programs that you have configured as servers"), "{inspected}");
}

#[test]
fn a_changed_list_is_not_used_before_it_is_accepted() {
    let home = with_server("changed", "");
    assert_eq!(result(&home, "mcp_it_echo", r#"{"say":"a"}"#).0, "echo: a");
    fs::write(state(&home).join("changed"), "").unwrap();
    let (finished, requests) = turn(&home, &[("mcp_it_echo", r#"{"say":"b"}"#)], &["--allow", "run"]);
    assert_eq!(results(&requests).last().map(String::as_str), Some("echo: b"), "{finished}");
    assert!(!offered(&requests[0]).contains(&"mcp_it_new"));
    assert!(finished.stderr.contains("new: `new`; gone: `where`"), "{finished}");
    assert!(finished.stderr.contains("bub-wasm mcp check it"), "{finished}");
    let (said, _) = result(&home, "mcp_it_where", "{}");
    assert!(said.contains("no longer has the tool `where`"), "{said}");
    let checked = home.bub(["mcp", "check", "it"]).finish();
    assert_eq!(checked.code, Some(1), "{checked}");
    for line in
        ["- tool `where` is gone", "+ tool `new` is new", "~ tool `echo` is different", "- Says what it is told."]
    {
        assert!(checked.stdout.contains(line), "{line}: {checked}");
    }
    let before = config_of(&home)["mcp"]["it"]["digest"].clone();
    let checked = home.bub(["mcp", "check", "--accept"]).finish();
    assert!(checked.code == Some(0) && checked.stdout.ends_with("these are accepted now\n"), "{checked}");
    assert_ne!(config_of(&home)["mcp"]["it"]["digest"], before);
    assert_eq!(result(&home, "mcp_it_new", r#"{"say":"c"}"#).0, "new: c");
    assert!(!result(&home, "mcp_it_new", "{}").1.stderr.contains("other tools"), "nothing differs any more");
}

#[test]
fn a_server_that_changes_its_tools_in_the_middle_of_a_turn_does_not_change_the_turn() {
    let home = with_server("changed", "[mcp.it.effects]\n\"*\" = \"read\"");
    let changed = state(&home).join("changed");
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let model = Server::ruled(move |_| {
        let number = calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        if number == 1 {
            fs::write(&changed, "").expect("the directory is there");
        }
        match number {
            0..3 => Answer::tool_call("mcp_it_echo", &json!({ "say": number.to_string() }).to_string()),
            3 => Answer::tool_call("mcp_it_where", "{}"),
            _ => Answer::text("done"),
        }
    });
    let finished = home.run(["call it"]).model(&model).finish();
    assert!(finished.stdout.ends_with("done\n"), "{finished}");
    let requests: Vec<Value> = model.requests().iter().map(|request| request.json()).collect();
    let said = results(&requests);
    assert_eq!(said[..3], ["echo: 0", "echo: 1", "echo: 2"]);
    assert!(said[3].contains("no longer has the tool `where`"), "{said:?}");
    assert!(requests.iter().all(|request| offered(request) == offered(&requests[0])), "the tools of a turn stay");
    assert!(finished.stderr.contains("other tools than you have accepted"), "{finished}");
}
