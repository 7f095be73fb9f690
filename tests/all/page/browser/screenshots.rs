//! The pictures of the README and of the book: the real page, with a conversation that is written here.

use super::{Play, packages};
use crate::home;
use bub_tests::{Answer, Request, Serve, Server};
use serde_json::{Value, json};
use std::fs;

const CHANGELOG: &str = "# Changelog\n\n## Unreleased\n\n- Tapes are searched by an index.\n- `serve` has a page.\n\n## 1.3.0\n\n- Forks of sessions.\n";

const RELEASE: &str = "**1.4.0** can go out: the tests pass, and the changelog lacks one entry.\n\n\
| crate | tests | since 1.3.0 |\n| --- | ---: | ---: |\n| `tape` | 412 | +38 |\n| `gateway` | 267 | +12 |\n| `server` | 318 | +94 |\n\n\
Add this line under *Unreleased*:\n\n```markdown\n- Questions before tool calls are answered on the page, too.\n```\n\n\
Then I tag the commit and push it, if you allow it.";

/// Each of the messages below, and its answers: a tool call first where there is one.
fn model() -> Server {
    Server::ruled(|request: &Request| {
        let messages = request.messages();
        let after_tool = messages.iter().any(|message| message["role"] == "tool");
        let all: String = messages
            .iter()
            .filter(|message| message["role"] == "user")
            .map(|message| message["content"].to_string())
            .collect();
        if all.contains("push") {
            let calls = [("bash", json!({ "cmd": "git tag -s v1.4.0 -m 'Release 1.4.0'\ngit push origin v1.4.0" }))];
            return match messages.last().is_some_and(|last| last["role"] == "tool") {
                true => Answer::counted("It is pushed.", 2140),
                false => Answer::tool_call(calls[0].0, &calls[0].1.to_string()),
            };
        }
        if all.contains("mail") {
            let mail = json!({ "path": "outbox/announcement.md", "content": "Version 1.4.0 is out.\n\nIts page shows what the agent knows, does and costs." });
            return Answer::tool_call("fs_write", &mail.to_string());
        }
        if all.contains("Can we release") {
            return match after_tool {
                true => Answer::counted(RELEASE, 1820),
                false => Answer::tool_call("fs_read", r#"{"path": "CHANGELOG.md"}"#),
            };
        }
        match all {
            all if all.contains("reviews") => {
                Answer::counted("Alice reads each change, and Jonas those of the file format.", 710)
            }
            all if all.contains("crates") => {
                Answer::counted("`tape`, `gateway` and `server`; the others have newer dependencies only.", 690)
            }
            _ => Answer::counted("It is noted for Monday.", 640),
        }
    })
}

#[test]
#[ignore = "makes the pictures of the README and of the book: `just screenshots`"]
fn the_pictures_of_readme_and_book_are_made() {
    let packages = packages().expect("Chromium, Node and npm are there");
    let home = home();
    home.configure("[policy]\napprove = \"ask\"\n");
    fs::write(home.workspace().join("CHANGELOG.md"), CHANGELOG).expect("a file");
    home.bub(["trust"]).finish();
    let model = model();
    let run = home.bub(["serve", "--listen", "127.0.0.1:0"]).model(&model).env("BUB_MODEL", "openai:gpt-5");
    let serve = Serve::start(run, &home.bub_home());
    let say = |session: &str, content: &str| -> Value {
        serve.post("/v1/turns", &json!({ "content": content, "session_id": session }))
    };
    for (session, name) in [
        ("http:week", "Plan of the week"),
        ("http:flaky", "The test that fails on Tuesdays"),
        ("http:search", "Index for the search"),
        ("http:onboarding", "Notes for new colleagues"),
    ] {
        say(session, "Remember this for Monday.");
        serve.post(&format!("/v1/sessions/{session}/name"), &json!({ "name": name }));
    }
    for line in ["Which crates changed since 1.3.0?", "Who reviews the tape store?"] {
        say("http:release", line);
    }
    let handoff = json!({ "name": "release", "summary": "1.3.0 is out; 1.4.0 is next." });
    serve.post("/v1/sessions/http%3Arelease/handoff", &handoff);
    say("http:release", "Can we release 1.4.0 today?");
    serve.post("/v1/sessions/http%3Arelease/name", &json!({ "name": "Release 1.4.0" }));
    let images = format!("{}/../../docs/src/images", env!("CARGO_MANIFEST_DIR"));
    fs::create_dir_all(&images).expect("the book is here");
    Play::new(packages, "screenshots", &home, &serve).with("IMAGES", images).passes();
}
