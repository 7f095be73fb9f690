//! Chains of plugins that rewrite each other.

use super::{is_by, of_file, source_of};
use crate::home;
use bub_tests::{Answer, Home, Server, programs};
use serde_json::{Value, json};
use std::fs;

/// Three plugins, the latest of which is asked first, and a file for the trails.
fn with(answers: [&str; 3]) -> (Home, String) {
    let home = home();
    for (name, answers) in ["a", "b", "c"].iter().zip(answers) {
        home.scripted(name, programs::SCRIPTED, answers);
    }
    let file = home.workspace().join("trails").to_string_lossy().into_owned();
    (home, file)
}

#[test]
fn each_word_of_a_request_that_three_plugins_rewrote_has_the_plugin_that_wrote_it() {
    let (home, file) = with([
        r#"before-llm-call = { swap = [["azure", "blue"], ["house", "home"]], max-tokens = 77 }"#,
        r#"before-llm-call = { swap = [["green", "azure"], ["old", "ancient"]] }"#,
        r#"before-llm-call = { swap = [["red", "green"]], without = "bash" }"#,
    ]);
    let server = Server::new([Answer::text("yes")]);
    home.run(["paint the old red house, please", "--trails", &file]).model(&server).finish().answers();
    let all = of_file(&home, &file);
    assert_eq!(all.len(), 1);
    let blame = &all[0];
    let sent: Value = serde_json::from_str(blame["body"].as_str().expect("a body")).expect("it is JSON");
    assert_eq!(sent, server.requests()[0].json(), "it is the body that the server got");
    // `red` became `green` by c, `azure` by b, `blue` by a.
    is_by(blame, "blue", "a", "before-llm-call");
    is_by(blame, "ancient", "b", "before-llm-call");
    is_by(blame, "home, please".trim_end_matches(", please"), "a", "before-llm-call");
    for kept in ["paint the ", ", please"] {
        assert_eq!(source_of(blame, kept)["kind"], "sender", "`{kept}`");
    }
    is_by(blame, "77", "a", "before-llm-call");
    assert!(!blame["body"].as_str().expect("a body").contains(r#""name":"bash""#));
}

#[test]
fn changes_of_arguments_and_results_of_tools_name_their_plugins_in_the_request_behind_them() {
    let (home, file) = with([
        r#"after-tool-call = { replace = "put there by plugin a" }"#,
        "",
        r#"before-tool-call = { rewrite = { path = "other.txt" } }"#,
    ]);
    fs::write(home.workspace().join("other.txt"), "text of the file").expect("a file");
    let read = Answer::tool_call("fs_read", r#"{"path": "asked.txt"}"#);
    let server = Server::new([read, Answer::text("done")]);
    home.run(["read it", "--trails", &file]).model(&server).finish().answers();
    let all = of_file(&home, &file);
    assert_eq!(all.len(), 2);
    assert_eq!(all[0]["calls"], json!([]));
    let [call] = &all[1]["calls"].as_array().expect("calls")[..] else { panic!("{:#}", all[1]["calls"]) };
    assert_eq!(call["tool"], "fs.read");
    let by =
        |change: &Value| all[1]["sources"][change["source"].as_u64().expect("a source") as usize]["plugin"].clone();
    let changed = &call["arguments"][0];
    assert_eq!(by(changed), "c");
    for (side, text) in [("before", "asked"), ("after", "other")] {
        assert!(changed[side].as_str().is_some_and(|said| said.contains(text)), "{changed}");
    }
    assert_eq!(by(&call["result"][0]), "a");
    is_by(&all[1], "put there by plugin a", "a", "after-tool-call");
}

#[test]
fn a_result_of_a_tool_is_the_tools_and_its_entry_is_named() {
    let (home, file) = with(["", "", ""]);
    fs::write(home.workspace().join("a.txt"), "what the file says").expect("a file");
    let read = Answer::tool_call("fs_read", r#"{"path": "a.txt"}"#);
    let server = Server::new([read, Answer::text("done")]);
    home.run(["read it", "--trails", &file]).model(&server).finish().answers();
    let all = of_file(&home, &file);
    is_by(&all[1], "what the file says", "workspace", "tools");
    assert_eq!(source_of(&all[1], "what the file says")["name"], "fs.read");
    assert_eq!(source_of(&all[1], "read it")["kind"], "sender");
    let tool = all[1]["parts"].as_array().expect("parts").iter().find(|part| part["name"] == "tool");
    assert!(tool.is_some_and(|part| part["entry"].is_u64()), "{:#}", all[1]["parts"]);
}

#[test]
fn a_request_of_a_turn_inside_a_turn_and_one_of_another_protocol_have_sources_too() {
    let (home, file) = with(["", "", ""]);
    let inner = Answer::tool_call("subagent", r#"{"prompt": "what the inner turn is asked"}"#);
    let server = Server::new([inner, Answer::text("inner answer"), Answer::text("done")]);
    home.run(["ask another", "--trails", &file]).model(&server).finish().answers();
    let all = of_file(&home, &file);
    assert_eq!(all.len(), 3);
    let asked = all.iter().find(|blame| blame["session"] != "cli:local").expect("one of the inner turn");
    assert!(asked["body"].as_str().is_some_and(|body| body.contains("what the inner turn is asked")));
}
