//! JSON that is none, and JSON that is nested 10,000 deep, wherever a guest hands some over; and models inside models.

use super::{be, hostile};
use crate::home;
use bub_tests::{Answer, Finished, Home, Server, programs};

const BAD: [&str; 2] = ["deep", "broken"];

fn json(home: &Home, json: &str) {
    home.configure(&format!("[plugins.hostile.config]\njson = \"{json}\""));
}

#[test]
fn invalid_json_is_rejected_by_every_host_call() {
    for bad in BAD {
        let home = hostile("words", "");
        json(&home, bad);
        let finished = home.run(["hi"]).watched().finish().says("[cli:local]\nalive\n");
        let words = finished.saw_hook("words");
        assert_eq!(words.len(), 15, "{bad}: {finished}");
        for word in words {
            assert_eq!(word["refused"], "InvalidInput", "{bad}: {word}\n{finished}");
        }
    }
}

#[test]
fn invalid_json_breaks_the_contract_of_every_stage_that_returns_json() {
    for bad in BAD {
        for hook in ["load-state", "build-prompt", "render-outbound"] {
            let home = hostile(hook, "");
            json(&home, bad);
            super::faults(&home, "hi", hook, "broke the contract: ");
        }
    }
}

/// A turn of the agent's loop with one call of a tool, in which `hostile` is asked that hook alone.
#[track_caller]
fn agent(hook: &str, mode: &str, bad: &str) -> (Finished, Server) {
    let home = home().strict();
    home.plugin("hostile", programs::HOSTILE);
    // A tool is called by its name, and needs no grant.
    let hook = if hook == "call-tool" { String::new() } else { format!("\"hook:{hook}\", ") };
    home.configure(&format!("[plugins.hostile]\nfollow = true\ngrants = [{hook}\"model:*\", \"agent\"]"));
    be(&home, mode);
    json(&home, bad);
    let server = Server::new([Answer::tool_call("hostile_tool", "{}"), Answer::text("done")]);
    let finished = home.run(["go on"]).model(&server).finish().says("[cli:local]\ndone\n");
    (finished, server)
}

#[test]
fn invalid_json_breaks_the_contract_of_every_hook_around_a_model() {
    for bad in BAD {
        let hooks = ["before-llm-call", "before-tool-call", "after-tool-call", "selector"];
        for (hook, mode) in hooks.map(|hook| (hook, hook)).into_iter().chain([("selector", "notes")]) {
            let (finished, _) = agent(hook, mode, bad);
            finished.mentions(&format!("hook `{hook}` of plugin `hostile`: broke the contract: "));
        }
    }
}

#[test]
fn invalid_json_is_not_a_tool_result() {
    for bad in BAD {
        let (finished, server) = agent("call-tool", "call-tool", bad);
        let messages = server.requests()[1].messages();
        let result = messages.iter().find(|message| message["role"] == "tool").expect("the call has a result");
        let text = result["content"].as_str().unwrap_or_default();
        let fault = "hook `call-tool` of plugin `hostile`: broke the contract: the result of `hostile.tool` is ";
        assert!(text.contains(fault), "{text}\n{finished}");
    }
}

#[test]
fn invalid_json_is_not_a_schema_of_parameters() {
    for bad in BAD {
        let home = hostile("parameters", "");
        json(&home, bad);
        let finished = home.run(["hi"]).finish().says("[cli:local]\nhi\n");
        finished.mentions("plugin `hostile` did not load: the parameters of its tool `hostile.tool` are ");
    }
}

#[test]
fn invalid_json_is_not_a_schema_of_a_configuration() {
    for bad in BAD {
        let home = hostile("schema", "");
        json(&home, bad);
        let finished = home.run(["hi"]).finish();
        assert!(!finished.stderr.contains("panicked"), "{finished}");
        assert_eq!(finished.code, Some(0), "{finished}");
    }
}

/// JSON that some parsers accept and others do not: an unpaired surrogate, a duplicate key, an infinite number, a
/// million digits.
const ODD: [&str; 4] = ["surrogate", "twice", "infinite", "digits"];

#[test]
fn json_that_readers_disagree_about_leaves_a_tape_that_can_be_read() {
    for odd in ODD {
        for mode in ["words", "load-state", "build-prompt", "render-outbound"] {
            let home = hostile(mode, "");
            json(&home, odd);
            let finished = home.run(["hi"]).finish();
            assert!(
                matches!(finished.code, Some(0 | 1)) && !finished.stderr.contains("panicked at"),
                "{odd}\n{finished}"
            );
            be(&home, "");
            home.run(["hi"]).finish().says("[cli:local]\nalive\n");
            // A turn of which nothing was to be kept leaves no tape.
            let read = home.bub(["tape", "verify"]).finish();
            assert!(read.code == Some(0) || read.stderr.contains("has no tape"), "{odd}, {mode}\n{read}");
        }
    }
}

#[test]
fn json_that_readers_disagree_about_ends_no_turn_of_an_agent() {
    for odd in ODD {
        for hook in ["call-tool", "before-tool-call", "after-tool-call"] {
            let (finished, server) = agent(hook, hook, odd);
            assert!(!finished.stderr.contains("panicked at"), "{odd}\n{finished}");
            assert_eq!(server.requests().len(), 2, "{odd}, {hook}\n{finished}");
        }
    }
}

#[test]
fn recursive_model_calls_end_at_the_fifth_level() {
    let home = home().strict();
    home.plugin("hostile", programs::HOSTILE);
    let grants = "[\"hook:before-llm-call\", \"model:*\"]";
    home.configure(&format!("[plugins.hostile]\nfollow = true\ngrants = {grants}"));
    be(&home, "model-in-model");
    let server = Server::new(std::iter::repeat_n(Answer::text("said"), 50));
    let finished = home.run(["go on"]).model(&server).watched().finish().says("[cli:local]\nsaid\n");
    let inner = finished.saw_hook("inner");
    let refused: Vec<_> = inner.iter().filter_map(|inner| inner["refused"].as_str()).collect();
    assert_eq!(refused, ["ErrorKind::Denied: calls inside calls may go 5 deep, no deeper"], "{finished}");
    assert!(server.requests().len() <= 6, "{} requests\n{finished}", server.requests().len());
    be(&home, "");
    home.run(["go on"]).model(&server).finish().says("[cli:local]\nsaid\n");
}
