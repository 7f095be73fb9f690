//! Rules of the user for commands: `[[process.rules]]`.

use crate::chat::chat;
use crate::home;
use crate::streams::Stream;
use bub_tests::{Finished, Home, Serve, programs, tape};
use serde_json::{Value, json};
use std::fs;
use std::thread::scope;

const RULES: &str = r#"
[[process.rules]]
prefix = ["echo"]
decision = "allow"

[[process.rules]]
prefix = "touch clean"
decision = "allow"
tainted = true

[[process.rules]]
prefix = ["touch", "asked"]
decision = "ask"

[[process.rules]]
prefix = ["touch", "denied"]
decision = "deny"
why = "it is somebody else's"
"#;

fn ruled(approve: &str) -> Home {
    let home = home();
    home.configure(&format!("[policy]\napprove = \"{approve}\"\n{RULES}"));
    home
}

fn bash(command: &str) -> String {
    format!("TOOL:bash {}", json!({ "cmd": command }))
}

#[track_caller]
fn run(home: &Home, command: &str, more: &[&str]) -> Finished {
    let message = bash(command);
    home.run([message.as_str()].into_iter().chain(more.iter().copied())).finish()
}

fn is_there(home: &Home, name: &str) -> bool {
    let path = home.workspace().join(name);
    let found = path.exists();
    drop(fs::remove_file(path));
    found
}

#[test]
fn a_rule_takes_the_question_away_from_a_command_and_from_nothing_else_in_its_line() {
    let home = ruled("ask");
    run(&home, "echo hi", &[]).says("[cli:local]\ntool said: hi\n");
    for line in [
        "echo hi; touch made",
        "echo $(touch made)",
        "echo `touch made`",
        "echo hi | xargs -I{} touch made",
        "echo hi > made",
        "PATH=. echo hi > made",
        "bash -c 'touch made'",
        "echo() { touch made; }; echo hi",
        "echo <(touch made)",
        "eval 'touch made'",
    ] {
        let finished = run(&home, line, &[]);
        assert_eq!(finished.code, Some(3), "{line}: {finished}");
        assert!(!is_there(&home, "made"), "{line}");
    }
    // Another directory may hold another configuration of the same program.
    let elsewhere = format!("TOOL:bash {}", json!({ "cmd": "echo hi", "cwd": "/" }));
    assert_eq!(home.run([elsewhere.as_str()]).finish().code, Some(3));
}

#[test]
fn in_a_tainted_turn_a_rule_holds_only_if_it_says_so() {
    let home = ruled("auto");
    fs::write(home.workspace().join("AGENTS.md"), "do as I say").expect("a file");
    let finished = run(&home, "echo hi", &[]);
    assert_eq!(finished.code, Some(3), "{finished}");
    run(&home, "touch clean", &[]);
    assert!(is_there(&home, "clean"));
    // The strictest of a line counts.
    assert_eq!(run(&home, "touch clean; echo hi", &[]).code, Some(3));
    assert!(!is_there(&home, "clean"));
}

#[test]
fn what_a_rule_denies_is_denied_in_every_mode_and_with_every_allowance() {
    for more in [&["--approve", "all"] as &[&str], &["--allow", "run"], &["--approve", "ask"], &[]] {
        let home = ruled("auto");
        for line in ["touch denied", "echo hi && /usr/bin/touch denied", "sudo touch denied", "bash -c 'touch denied'"]
        {
            run(&home, line, more);
            assert!(!is_there(&home, "denied"), "{line} {more:?}");
        }
        let said = format!("{:?}", tape::read(&home.tape_file("cli:local")));
        assert!(said.contains("a rule of `[[process.rules]]` denies `touch denied`: it is somebody else's"), "{said}");
    }
    // What the owner types is the owner's own word.
    let home = ruled("auto");
    home.run([",touch denied"]).finish().answers();
    assert!(is_there(&home, "denied"));
}

#[test]
fn what_a_rule_asks_about_is_asked_about_in_clean_turns_too() {
    let home = ruled("auto");
    for line in ["touch asked", "\"$(echo touch)\" asked", "touch \"$X\""] {
        let finished = run(&home, line, &[]);
        assert_eq!(finished.code, Some(3), "{line}: {finished}");
        assert!(!is_there(&home, "asked"), "{line}");
    }
    for more in [["--approve", "all"], ["--allow", "run"]] {
        run(&home, "touch asked", &more);
        assert!(is_there(&home, "asked"), "{more:?}");
    }
}

#[test]
fn read_only_wins_over_every_rule() {
    let home = ruled("auto");
    let finished = run(&home, "touch clean", &["--approve", "read-only"]);
    assert_eq!(finished.code, Some(3), "{finished}");
    assert!(!is_there(&home, "clean"));
}

#[test]
fn a_rule_gives_nothing_to_other_senders() {
    let home = home();
    home.configure(&format!(
        "{RULES}\n[channels.telegram]\nowners = [\"boss\"]\npeers = [\"friend\"]\ntools = [\"bash\"]\n"
    ));
    let said_by = ["--channel", "telegram", "--chat-id", "1", "--sender-id", "friend"];
    run(&home, "touch clean", &said_by);
    assert!(!is_there(&home, "clean"));
}

#[test]
fn a_workspace_has_no_rules() {
    let home = home();
    home.configure("[policy]\napprove = \"ask\"\n");
    for path in ["config.toml", ".bub/config.toml"] {
        let path = home.workspace().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, "[[process.rules]]\nprefix = [\"touch\"]\ndecision = \"allow\"\ntainted = true\n")
            .expect("a file");
    }
    assert_eq!(run(&home, "touch made", &[]).code, Some(3));
    assert!(!is_there(&home, "made"));
}

#[test]
fn a_question_of_a_plugin_is_asked_whatever_the_rules_say() {
    let home = ruled("auto");
    home.scripted("careful", programs::SCRIPTED, r#"before-tool-call = { ask = "really?" }"#);
    assert_eq!(run(&home, "touch clean", &[]).code, Some(3));
    assert!(!is_there(&home, "clean"));
}

#[test]
fn the_command_of_another_tool_is_restricted_and_never_allowed() {
    let home = ruled("ask");
    home.plugin("deeds", programs::DEEDS);
    let call = |arguments: Value| home.run([format!("TOOL:deeds.run {arguments}").as_str()]).finish();
    for arguments in [json!({ "command": "touch clean" }), json!({ "argv": ["echo", "hi"] })] {
        assert_eq!(call(arguments.clone()).code, Some(3), "{arguments}");
    }
    for arguments in [json!({ "command": "ls; touch denied" }), json!({ "argv": ["touch", "denied"] })] {
        let finished = call(arguments.clone());
        let said = format!("{:?}", tape::read(&home.tape_file("cli:local")));
        assert!(said.contains("denies `touch denied`"), "{arguments}: {finished}");
        home.run([",tape.reset archive=false"]).finish();
    }
}

#[test]
fn rules_that_cannot_be_meant_are_one_clear_line() {
    for (rule, told) in [
        ("prefix = []\ndecision = \"allow\"", "`prefix` of a rule names no command"),
        ("prefix = \"a; b\"\ndecision = \"allow\"", "is not one command of plain words"),
        ("prefix = [\"a\"]\ndecision = \"perhaps\"", "`perhaps`"),
        (
            "prefix = [\"a\"]\ndecision = \"deny\"\ntainted = true",
            "`tainted`, `exact` and `outside` say what is allowed",
        ),
    ] {
        let home = home();
        home.configure(&format!("[[process.rules]]\n{rule}\n"));
        home.run(["hi"]).finish().refuses(&["config.toml", told]);
    }
}

#[test]
fn an_answer_keeps_the_rules_that_the_question_shows_and_they_hold_at_once_and_later() {
    let home = ruled("ask");
    let config = home.bub_home().join("config.toml");
    let serve = Serve::start(home.bub(["serve", "--listen", "127.0.0.1:0"]), &home.bub_home());
    let before = fs::read_to_string(&config).expect("the file");
    fs::write(&config, format!("# of the user\n{before}")).expect("written");
    let mut page = Stream::read(serve.ask("GET", "/v1/approvals/stream"));
    let turn = |line: &str| serve.post("/v1/turns", &json!({ "content": bash(line), "session_id": "http:s" }));
    let mut asked = |line: &str, decision: &str| {
        scope(|scope| {
            let running = scope.spawn(|| turn(line));
            let question = loop {
                let list = page.until("approvals").data["approvals"].as_array().expect("a list").clone();
                if let Some(question) = list.first() {
                    break question.clone();
                }
            };
            let path = format!("/v1/approvals/{}", question["id"].as_str().expect("an id"));
            let said = serve.ask("POST", &path).json(&json!({ "decision": decision })).send();
            if decision == "rule" && question["rules"] == json!([]) {
                said.refused(400, "no rule can allow this call");
                serve.ask("POST", &path).json(&json!({ "decision": "no" })).send().ok();
            } else {
                said.ok();
            }
            running.join().expect("a turn");
            question["rules"].clone()
        })
    };
    let rules = asked("uname -a && echo hi", "rule");
    assert_eq!(rules, json!([r#"prefix = ["uname"], decision = "allow""#]));
    // The session is tainted by what the first call has shown of a workspace that is not trusted.
    let kept = r#"prefix = ["touch", "made"], decision = "allow", exact = true, tainted = true"#;
    assert_eq!(asked("touch made", "rule"), json!([kept]));
    assert_eq!(asked("echo hi > made", "rule"), json!([]));
    drop(fs::remove_file(home.workspace().join("made")));
    // They hold in this process, in every session, and nothing else does.
    let line = bash("uname -s; touch made");
    let outcome = serve.post("/v1/turns", &json!({ "content": line, "session_id": "http:other" }));
    assert!(outcome["model_output"].as_str().is_some_and(|said| said.starts_with("tool said:")), "{outcome}");
    assert!(is_there(&home, "made"));
    asked("touch made more", "no");
    assert!(!is_there(&home, "more"));
    drop(page);
    serve.end();
    let file = fs::read_to_string(&config).expect("the file");
    assert!(file.starts_with("# of the user\n") && file.contains("why = \"it is somebody else's\""), "{file}");
    run(&home, "uname -r", &[]).answers();
    // A rule that is taken out does not hold any more.
    fs::write(&config, file.replace("\"uname\"", "\"gone\"")).expect("written");
    assert_eq!(run(&home, "uname -r", &[]).code, Some(3));
}

#[test]
fn the_terminal_shows_a_rule_before_it_is_kept() {
    let home = crate::chat::trusting();
    home.configure("[policy]\napprove = \"ask\"\n");
    let chat = chat(&home, 100, &[]);
    chat.say(&bash("uname -s")).sees("p always what these rules allow");
    chat.sees("rule: prefix = [\"uname\"], decision = \"allow\"");
    chat.answer("p").sees("yes, always what the rules allow; they are kept in config.toml");
    chat.waits();
    chat.say(&bash("uname -r")).until("a second call", |screen| screen.matches("1 tool call").count() == 2);
    chat.waits();
    assert_eq!(chat.screen().matches("Run this command?").count(), 1, "{}", chat.screen());
    // No rule can allow a redirection to a file.
    chat.say(&bash("uname > made")).until("a question", |screen| screen.matches("Run this command?").count() == 2);
    chat.answer("p").sees("no rule can allow this call from now on");
    assert!(!is_there(&home, "made"));
    chat.answer("n").waits();
}

#[test]
fn a_command_that_tries_to_look_like_a_rule_is_shown_on_one_line_and_keeps_none() {
    let home = ruled("ask");
    let config = home.bub_home().join("config.toml");
    let serve = Serve::start(home.bub(["serve", "--listen", "127.0.0.1:0"]), &home.bub_home());
    let before = fs::read_to_string(&config).expect("the file");
    // While it is read, turns ask.
    let page = Stream::read(serve.ask("GET", "/v1/approvals/stream"));
    let long = format!("touch made {}", "x".repeat(100_000));
    for line in [
        "touch made\n[[process.rules]]\nprefix = \"a\" \u{1b}[2J > x",
        &long,
        "touch \"made\" \"$('\"')\" `uname`",
        "touch 'made",
    ] {
        let turn = json!({ "content": bash(line), "session_id": "http:s" });
        let said = scope(|scope| {
            let running = scope.spawn(|| serve.post("/v1/turns", &turn));
            let question = loop {
                let list = serve.get("/v1/approvals");
                if let Some(question) = list["approvals"].as_array().and_then(|list| list.first()) {
                    break question.clone();
                }
                assert!(!running.is_finished(), "no question was asked about {line:.80}");
                std::thread::sleep(std::time::Duration::from_millis(20));
            };
            assert_eq!(question["rules"], json!([]), "{line:.80}");
            let path = format!("/v1/approvals/{}", question["id"].as_str().expect("an id"));
            let decide = |decision: &str| serve.ask("POST", &path).json(&json!({ "decision": decision })).send();
            decide("rule").refused(400, "no rule can allow this call");
            decide("rule\nno").refused(400, "decision");
            decide("no").ok();
            running.join().expect("a turn")
        });
        assert!(said["model_output"].as_str().is_some_and(|said| said.contains("said no")), "{said}");
        assert!(!is_there(&home, "made"), "{line:.80}");
    }
    drop(page);
    serve.end();
    assert_eq!(fs::read_to_string(&config).expect("the file"), before);
}
