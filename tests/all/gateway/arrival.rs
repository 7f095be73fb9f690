//! The handling of incoming messages.

use super::{echo, heard, posting, serving, start};
use bub_tests::{Answer, Server, programs};
use serde_json::json;

#[test]
fn a_message_of_a_channel_is_a_turn_and_its_answer_is_delivered() {
    let home =
        posting("arrivals = [{ id = \"1\", chat = \"7\", content = \"hello\" }]\nflags = [\"polls\"]\nwait = 60000");
    let model = echo();
    let serve = start(&home, serving(&home, &model));
    serve.program().wait_for(r#""send":"you said: hello""#);
    assert_eq!(heard(&home, "poster:7"), ["hello"]);
}

#[test]
fn a_message_that_comes_twice_is_one_turn() {
    let home =
        posting("arrivals = [{ id = \"1\", chat = \"7\", content = \"hello\" }]\nflags = [\"webhook\"]\ntimes = 2");
    let model = echo();
    let serve = start(&home, serving(&home, &model));
    for _ in 0..3 {
        let said = serve.strange("POST", "/channels/poster").body("anything").send();
        assert_eq!((said.status, said.body.as_str()), (200, "taken"));
    }
    serve.program().wait_for(r#""send":"you said: hello""#);
    serve.end();
    assert_eq!(heard(&home, "poster:7"), ["hello"]);
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn messages_that_follow_each_other_closely_are_one_turn() {
    let home = posting(
        r#"arrivals = [
            { id = "1", chat = "7", content = "one" },
            { id = "2", chat = "7", content = "two", active = false },
            { id = "3", chat = "8", content = "alone" },
            { id = "4", chat = "7", content = "three" },
        ]
        flags = ["polls", "needs-debounce"]
        wait = 60000"#,
    );
    home.configure("[channels.poster]\ndebounce_seconds = 0.2\nmax_wait_seconds = 0.2");
    let model = echo();
    let serve = start(&home, serving(&home, &model));
    serve.program().wait_for(r#""send":"you said: three""#);
    serve.program().wait_for(r#""send":"you said: alone""#);
    serve.end();
    assert_eq!(model.requests().len(), 2, "one turn a chat");
    let asked: Vec<String> = model.requests().iter().map(|request| request.last_content()).collect();
    assert!(asked.iter().any(|asked| asked.ends_with("one\ntwo\nthree")), "{asked:?}");
}

#[test]
fn an_inactive_message_waits_for_an_active_one() {
    let home = posting(
        r#"arrivals = [
            { id = "1", chat = "7", content = "between people", active = false },
            { id = "2", chat = "8", content = "bub, hello" },
            { id = "3", chat = "8", content = "and this", active = false },
        ]
        flags = ["polls", "needs-debounce"]
        wait = 60000"#,
    );
    home.configure("[channels.poster]\ndebounce_seconds = 0.1\nmax_wait_seconds = 0.1");
    let model = echo();
    let serve = start(&home, serving(&home, &model));
    serve.program().wait_for(r#""send":"you said: and this""#);
    serve.end();
    assert!(!home.tape_file("poster:7").exists(), "no message there is meant for the agent");
}

#[test]
fn an_inactive_message_is_accepted_during_the_channels_active_window() {
    for (window, expected) in
        [("0.2", &["bub, hello", "bub, hello"][..]), ("60", &["bub, hello", "aside", "bub, hello"])]
    {
        let home = posting(
            r#"arrivals = [
                { chat = "7", content = "aside", active = false },
                { chat = "7", content = "bub, hello" },
            ]
            flags = ["webhook"]"#,
        );
        home.configure(&format!("[channels.poster]\nactive_time_window = {window}"));
        let model = echo();
        let serve = start(&home, serving(&home, &model));
        for so_far in [1, expected.len()] {
            assert_eq!(serve.strange("POST", "/channels/poster").body("anything").send().status, 200);
            model.wait_for(so_far);
            // Longer than the shorter of the two windows.
            std::thread::sleep(std::time::Duration::from_millis(400));
        }
        serve.end();
        assert_eq!(heard(&home, "poster:7"), expected, "within {window} s");
    }
}

#[test]
fn a_plugin_decides_how_a_message_is_handled() {
    for decision in ["steer", "follow-up"] {
        let home = posting("flags = [\"webhook\"]");
        home.scripted("porter", programs::SCRIPTED, &format!("admit-message = \"{decision}\""));
        // The first step calls a tool, so that there is a second one to be steered.
        let model = Server::ruled(|request| match request.messages().last().map(|last| last["role"].clone()) {
            Some(role) if role == "user" && request.last_content().ends_with("first") => {
                std::thread::sleep(std::time::Duration::from_millis(600));
                Answer::tool_call("tape_info", "{}")
            }
            _ => Answer::text("done"),
        });
        let serve = start(&home, serving(&home, &model));
        let first = std::thread::scope(|scope| {
            let first = scope.spawn(|| serve.post("/v1/turns", &json!({ "content": "first", "session_id": "s" })));
            model.wait_for(1);
            let second = serve.post("/v1/turns", &json!({ "content": "second", "session_id": "s" }));
            assert_eq!(second["model_output"], "done", "{decision}: {second}");
            first.join().expect("it is answered")
        });
        assert_eq!(first["model_output"], "done", "{decision}");
        serve.end();
        let mut heard = heard(&home, "s");
        // The prompt of the loop between two steps.
        heard.retain(|said| !said.starts_with("Continue the task"));
        assert_eq!(heard, ["first", "second"], "{decision}");
        // A steering message joins the running turn; a following message has its own turn.
        assert_eq!(model.requests().len(), if decision == "steer" { 2 } else { 3 }, "{decision}");
    }
}

#[test]
fn a_message_that_a_plugin_drops_has_no_turn() {
    let home = posting("flags = [\"webhook\"]");
    home.scripted("porter", programs::SCRIPTED, "admit-message = \"drop\"");
    let model = echo();
    let serve = start(&home, serving(&home, &model));
    let said = serve.post("/v1/turns", &json!({ "content": "first", "session_id": "s" }));
    assert_eq!((&said["model_output"], &said["outbounds"]), (&json!(""), &json!([])));
    serve.end();
    assert!(model.requests().is_empty() && !home.tape_file("s").exists());
}

#[test]
fn one_slow_session_holds_no_other() {
    let home = posting("flags = [\"webhook\"]");
    let model = Server::ruled(|request| {
        if request.last_content().ends_with("slow") {
            return Answer::Silence;
        }
        Answer::text("quick")
    });
    let serve = start(&home, serving(&home, &model));
    let _slow = serve.ask("POST", "/v1/turns").json(&json!({ "content": "slow", "session_id": "a" })).open();
    model.wait_for(1);
    let quick = serve.post("/v1/turns", &json!({ "content": "quick", "session_id": "b" }));
    assert_eq!(quick["model_output"], "quick");
}

#[test]
fn a_session_has_one_turn_at_a_time_and_loses_none() {
    let home = posting("flags = [\"webhook\"]");
    let model = echo();
    let serve = start(&home, serving(&home, &model));
    std::thread::scope(|scope| {
        for turn in 0..20 {
            let serve = &serve;
            scope.spawn(move || {
                let said = serve.post("/v1/turns", &json!({ "content": format!("m{turn}"), "session_id": "s" }));
                assert_eq!(said["model_output"], format!("you said: m{turn}"));
            });
        }
    });
    serve.end();
    let mut heard = heard(&home, "s");
    assert_eq!(heard.len(), 20);
    heard.sort();
    heard.dedup();
    assert_eq!(heard.len(), 20, "each once");
    // A question and its answer stand together.
    let tape = bub_tests::tape::read(&home.tape_file("s"));
    let roles: Vec<&str> = tape
        .iter()
        .filter(|entry| entry["kind"] == "message")
        .filter_map(|entry| entry["payload"]["role"].as_str())
        .collect();
    assert!(roles.chunks(2).all(|two| two == ["user", "assistant"]), "{roles:?}");
}

#[test]
fn bubs_variables_configure_debouncing_unless_the_channel_does() {
    let home = posting(
        r#"arrivals = [
            { id = "1", chat = "7", content = "hello" },
            { id = "2", chat = "8", content = "for the agent" },
            { id = "3", chat = "8", content = "between people", active = false },
        ]
        flags = ["polls", "needs-debounce"]
        wait = 60000"#,
    );
    let model = echo();
    let run = || serving(&home, &model).env("BUB_DEBOUNCE_SECONDS", "0").env("BUB_MAX_WAIT_SECONDS", "0");
    // Without an active window, only messages that are meant for the agent have a turn.
    let serve = start(&home, run().env("BUB_ACTIVE_TIME_WINDOW", "0"));
    serve.program().wait_for(r#""send":"you said: hello""#);
    serve.program().wait_for(r#""send":"you said: for the agent""#);
    serve.end();
    assert!(model.requests().iter().all(|request| !request.body.contains("between people")));
    let home = posting(
        "arrivals = [{ id = \"1\", chat = \"7\", content = \"hello\" }]\nflags = [\"polls\", \"needs-debounce\"]",
    );
    home.configure("[channels.poster]\ndebounce_seconds = 0");
    let serve = start(&home, serving(&home, &model).env("BUB_DEBOUNCE_SECONDS", "86400"));
    serve.program().wait_for(r#""send":"you said: hello""#);
    serve.end();
}

#[test]
fn a_channel_that_bubs_variable_leaves_out_is_not_served() {
    let home = posting("arrivals = [{ id = \"1\", content = \"hello\" }]");
    let model = echo();
    let serve = start(&home, serving(&home, &model).env("BUB_ENABLED_CHANNELS", "all,!poster"));
    serve.strange("POST", "/channels/poster").body("anything").send().refused(404, "no channel");
    serve.end();
    assert!(model.requests().is_empty());
}

#[test]
fn a_channel_that_is_not_enabled_is_not_served() {
    let home = posting("arrivals = [{ id = \"1\", content = \"hello\" }]");
    home.configure("[serve]\nenabled_channels = [\"all\", \"!poster\"]");
    let model = echo();
    let serve = start(&home, serving(&home, &model));
    serve.strange("POST", "/channels/poster").body("anything").send().refused(404, "no channel");
    serve.end();
    assert!(model.requests().is_empty());
}
