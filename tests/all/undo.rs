//! What a turn has changed in its workspace: shown, and put back.

use crate::chat::{chat, trusting};
use crate::home;
use bub_tests::{Answer, Finished, Home, Serve, Server, tape};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

fn bash(command: &str) -> String {
    format!("TOOL:bash {}", json!({ "cmd": command }))
}

/// A turn of the owner in a workspace that is not trusted, and whose `AGENTS.md` taints it.
fn turn(home: &Home, command: &str) -> Finished {
    home.run([bash(command).as_str(), "--allow", "run"]).finish().answers()
}

fn workspace() -> Home {
    let home = home();
    fs::write(home.workspace().join("AGENTS.md"), "be kind\n").expect("a file");
    fs::write(home.workspace().join("notes.txt"), "one\ntwo\n").expect("a file");
    home
}

fn undo(home: &Home, more: &[&str]) -> Finished {
    home.bub(["undo"].into_iter().chain(more.iter().copied())).finish()
}

fn read(home: &Home, name: &str) -> Option<String> {
    fs::read_to_string(home.workspace().join(name)).ok()
}

fn listed(home: &Home) -> Vec<Value> {
    let finished = undo(home, &["--list", "--json"]);
    let list: Value = serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{finished}"));
    list["turns"].as_array().expect("a list").clone()
}

#[test]
fn what_programs_and_tools_of_a_turn_change_is_shown_and_put_back() {
    let home = workspace();
    let write = r#"TOOL:fs.write {"path": "new.txt", "content": "new\n"}"#;
    let script =
        format!("{} ;; {write}", bash("sed -i s/two/2/ notes.txt; rm AGENTS.md; mkdir -p a/b; echo x > a/b/c"));
    home.run([script.as_str(), "--allow", "run,write"]).finish().answers();
    let shown = undo(&home, &["--diff"]);
    assert_eq!(shown.code, Some(0), "{shown}");
    for line in [
        "deleted AGENTS.md",
        "-be kind",
        "created a",
        "created a/b/c",
        "created new.txt",
        "+new",
        "changed notes.txt",
        "-two",
        "+2",
    ] {
        assert!(shown.stdout.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    // Without a terminal nobody can be asked.
    let refused = undo(&home, &[]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(
        refused.stderr.contains("no terminal to ask whether 6 files are to be put back: give `--yes`"),
        "{refused}"
    );
    assert_eq!(read(&home, "new.txt").as_deref(), Some("new\n"));
    let undone = undo(&home, &["--yes"]);
    assert_eq!(undone.code, Some(0), "{undone}");
    assert!(undone.stdout.contains("2 files put back, 4 files removed"), "{undone}");
    assert_eq!(read(&home, "notes.txt").as_deref(), Some("one\ntwo\n"));
    assert_eq!(read(&home, "AGENTS.md").as_deref(), Some("be kind\n"));
    assert!(!home.workspace().join("a").exists() && read(&home, "new.txt").is_none());
    // The tape says so, outside of the conversation.
    let entries = tape::read(&home.tape_file("cli:local"));
    let event = entries.iter().find(|entry| entry["payload"]["name"] == "turn.undone").expect("an event");
    assert_eq!((&event["payload"]["data"]["turn"], &event["payload"]["data"]["count"]), (&json!(1), &json!(6)));
    assert_eq!(event["meta"]["context"], false);
    undo(&home, &["--yes"]).fails("no turn has changed files of this workspace that could be put back");
    // An undo can be undone.
    assert_eq!(undo(&home, &["2", "--yes"]).code, Some(0));
    assert_eq!((read(&home, "notes.txt").as_deref(), read(&home, "a/b/c").as_deref()), (Some("one\n2\n"), Some("x\n")));
}

#[test]
fn a_file_that_has_changed_again_is_named_and_kept_unless_it_is_forced() {
    let home = workspace();
    turn(&home, "echo 1 > notes.txt; echo 1 > AGENTS.md");
    fs::write(home.workspace().join("notes.txt"), "of the user").expect("a file");
    let finished = undo(&home, &["--yes"]);
    assert_eq!(finished.code, Some(1), "{finished}");
    assert!(finished.stdout.contains("left: `notes.txt`: it has changed again since"), "{finished}");
    assert_eq!(read(&home, "notes.txt").as_deref(), Some("of the user"));
    assert_eq!(read(&home, "AGENTS.md").as_deref(), Some("be kind\n"));
    assert_eq!(undo(&home, &["1", "--yes", "--force"]).code, Some(0));
    assert_eq!(read(&home, "notes.txt").as_deref(), Some("one\ntwo\n"));
}

#[test]
fn a_turn_that_reads_leaves_nothing_behind() {
    let home = workspace();
    home.run([r#"TOOL:fs.read {"path": "notes.txt"}"#]).finish().answers();
    assert!(!home.bub_home().join("undo").exists());
    undo(&home, &[]).fails("no turn has changed files of this workspace");
    turn(&home, "cat notes.txt");
    assert!(listed(&home).is_empty());
}

#[test]
fn a_turn_inside_a_turn_is_a_part_of_it() {
    let home = home();
    let write = |path: &str| Answer::tool_call("fs_write", &json!({ "path": path, "content": "x" }).to_string());
    let server = Server::new([
        write("outer"),
        Answer::tool_call("subagent", &json!({ "prompt": "write" }).to_string()),
        write("inner"),
        Answer::text("written"),
        Answer::text("done"),
    ]);
    home.run(["go on"]).model(&server).finish().answers();
    assert!(read(&home, "inner").is_some() && read(&home, "outer").is_some());
    assert_eq!(listed(&home).len(), 1);
    assert_eq!(undo(&home, &["--yes"]).code, Some(0));
    assert!(read(&home, "inner").is_none() && read(&home, "outer").is_none());
}

#[test]
fn what_a_cancelled_turn_has_changed_can_be_undone() {
    let home = workspace();
    let message = bash("echo 1 > notes.txt; touch begun; sleep 60; echo 2 > notes.txt");
    let started = home.run([message.as_str(), "--allow", "run"]).start();
    until(|| home.workspace().join("begun").exists());
    started.interrupt();
    started.finish();
    assert_eq!(undo(&home, &["--yes"]).code, Some(0));
    assert_eq!((read(&home, "notes.txt").as_deref(), read(&home, "begun")), (Some("one\ntwo\n"), None));
}

#[test]
fn what_a_killed_process_has_changed_can_be_undone() {
    let home = workspace();
    let message = bash("echo 1 > notes.txt; touch begun; sleep 1");
    let started = home.run([message.as_str(), "--allow", "run"]).start();
    until(|| home.workspace().join("begun").exists());
    started.kill();
    let turns = listed(&home);
    assert_eq!((turns.len(), &turns[0]["interrupted"]), (1, &json!(true)), "{turns:?}");
    assert_eq!(undo(&home, &["--yes"]).code, Some(0));
    assert_eq!((read(&home, "notes.txt").as_deref(), read(&home, "begun")), (Some("one\ntwo\n"), None));
}

#[test]
fn two_processes_in_one_workspace_have_a_record_each() {
    let home = workspace();
    let message = bash("touch first; until [ -e second ]; do sleep 0.1; done");
    let first = home.run([message.as_str(), "--allow", "run", "--session", "cli:one"]).start();
    until(|| home.workspace().join("first").exists());
    home.run([bash("touch second").as_str(), "--allow", "run", "--session", "cli:two"]).finish().answers();
    first.finish().answers();
    let turns = listed(&home);
    let sessions: Vec<&str> = turns.iter().filter_map(|turn| turn["session"].as_str()).collect();
    assert_eq!(sessions, ["cli:two", "cli:one"], "{turns:?}");
    assert_eq!(undo(&home, &["2", "--yes"]).code, Some(0));
    assert!(home.workspace().join("first").exists() && !home.workspace().join("second").exists());
    undo(&home, &["1", "--yes"]);
    assert!(!home.workspace().join("first").exists());
}

#[test]
fn hostile_names_and_contents_reach_no_terminal() {
    let home = workspace();
    turn(
        &home,
        "printf '\\033[2Jx\\033]0;y\\007\\n' > \"$(printf 'a\\033[2Jb')\"; printf '\\0' > binary; printf x > \"$(printf 'c\\nd')\"",
    );
    for more in [["--diff"], ["--list"], ["--yes"]] {
        let finished = undo(&home, &more);
        assert!(!finished.stdout.contains('\u{1b}') && !finished.stdout.contains('\u{7}'), "{finished}");
        assert!(!finished.stdout.lines().any(|line| line == "d"), "{finished}");
        let is_named = finished.stdout.lines().any(|line| line == "binary");
        assert_eq!(is_named, more != ["--list"], "{finished}");
    }
    let files = fs::read_dir(home.workspace()).expect("it").count();
    assert_eq!(files, 2);
}

#[test]
fn it_can_be_switched_off_and_wrong_limits_are_refused() {
    let home = workspace();
    home.configure("[undo]\nenabled = false\n");
    turn(&home, "echo 1 > notes.txt");
    assert!(!home.bub_home().join("undo").exists());
    undo(&home, &[]).fails("nothing is kept to be undone, since `enabled` of `[undo]` is `false`");
    home.configure("[undo]\nenabled = true\nmax_bytes = 0\n");
    home.run(["hi"]).finish().refuses(&["`undo.max_bytes`"]);
}

#[test]
fn a_workspace_with_too_many_files_is_changed_and_the_log_says_that_it_cannot_be_undone() {
    let home = workspace();
    home.configure("[undo]\nmax_files = 1\n");
    let finished = turn(&home, "echo 1 > notes.txt");
    assert!(finished.stderr.contains("what this turn changes cannot be undone"), "{finished}");
    assert_eq!(read(&home, "notes.txt").as_deref(), Some("1\n"));
}

#[test]
fn a_chat_shows_the_difference_and_asks_before_it_puts_files_back() {
    let home = trusting();
    fs::write(home.workspace().join("notes.txt"), "one\n").expect("a file");
    let chat = chat(&home, 100, &[]);
    chat.say(&bash("echo 2 > notes.txt")).until("a turn", |screen| screen.contains("1 tool call"));
    chat.waits();
    chat.say(",diff").sees("+2");
    chat.waits();
    chat.say(",undo").sees("Put 1 file back? [y/N]");
    chat.answer("n").sees("nothing is changed");
    assert_eq!(read(&home, "notes.txt").as_deref(), Some("2\n"));
    chat.waits();
    chat.say(",undo").until("a second question", |screen| screen.matches("Put 1 file back? [y/N]").count() == 2);
    chat.answer("y").sees("1 file put back");
    assert_eq!(read(&home, "notes.txt").as_deref(), Some("one\n"));
    chat.waits();
}

#[track_caller]
fn until(is_true: impl Fn() -> bool) {
    for _ in 0..1200 {
        if is_true() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it does not come to that");
}

#[test]
fn comma_commands_show_and_put_back_what_the_turns_of_their_session_have_changed() {
    let home = workspace();
    turn(&home, "echo x > made.txt; sed -i s/two/2/ notes.txt");
    let shown = home.run([",diff"]).finish().answers();
    for line in ["created made.txt", "+x", "changed notes.txt", "-two", "+2"] {
        assert!(shown.stdout.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    assert_eq!(read(&home, "made.txt").as_deref(), Some("x\n"));
    home.run([",undo", "--session", "cli:other"]).finish().fails("no turn of this session has changed files");
    home.run([",undo 1", "--session", "cli:other"]).finish().fails("turn 1 is of another session: `bub-wasm undo 1`");
    home.run([",undo 99"]).finish().fails("there is no turn `99` to undo");
    let said = home.run([",undo"]).finish().answers();
    assert!(
        said.stdout.contains("1 file put back, 1 file removed")
            && said.stdout.contains("`bub-wasm undo 2` takes that back"),
        "{said}"
    );
    assert!(read(&home, "made.txt").is_none());
    assert_eq!(read(&home, "notes.txt").as_deref(), Some("one\ntwo\n"));
    home.run([",undo"]).finish().fails("no turn of this session has changed files");
    let entries = tape::read(&home.tape_file("cli:local"));
    let named = |name: &str| entries.iter().filter(|entry| entry["payload"]["name"] == name).count();
    assert_eq!(named("turn.undone"), 1);
    // An undo of an undo is one, too.
    home.run([",undo 2"]).finish().answers();
    assert_eq!(read(&home, "made.txt").as_deref(), Some("x\n"));
    home.configure("[undo]\nenabled = false");
    home.run([",diff"]).finish().fails("`enabled` of `[undo]` in config.toml is `false`");
}

#[test]
fn the_page_and_other_clients_undo_by_a_message() {
    let home = workspace();
    assert_eq!(home.bub(["trust"]).finish().code, Some(0));
    let serve = Serve::start(home.bub(["serve", "--listen", "127.0.0.1:0"]), &home.bub_home());
    let say = |session: &str, text: &str| {
        let outcome = serve.post("/v1/turns", &json!({ "content": text, "session_id": session }));
        outcome["model_output"].as_str().unwrap_or_else(|| panic!("{outcome}")).to_owned()
    };
    say("http:s", &bash("echo x > made.txt"));
    say("http:t", &bash("echo y > other.txt"));
    let shown = say("http:s", ",diff");
    assert!(shown.ends_with("created made.txt\n@@ -1,0 +1,1 @@\n+x"), "{shown}");
    assert!(say("http:s", ",undo").contains("0 files put back, 1 file removed"));
    assert!(read(&home, "made.txt").is_none());
    assert_eq!(read(&home, "other.txt").as_deref(), Some("y\n"));
    serve.end();
}
