//! Sessions by their names: the list of `sessions`, resuming in a chat, and hostile names in either.

use crate::home;
use bub_tests::Home;
use serde_json::{Value, json};
use std::fs;

/// A home whose owner vouches for the workspace.
fn trusting() -> Home {
    let home = home();
    assert_eq!(home.bub(["trust"]).finish().code, Some(0));
    home
}

#[track_caller]
fn said(home: &Home, session: &str, message: &str) {
    let finished = home.run([message, "--session", session]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
}

#[track_caller]
fn listed(home: &Home, more: &[&str]) -> Vec<Value> {
    let finished = home.bub(["sessions", "--json"].into_iter().chain(more.iter().copied())).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    let listed: Value = serde_json::from_str(&finished.stdout).expect("it is JSON");
    listed["sessions"].as_array().expect("a list").clone()
}

#[test]
fn sessions_are_listed_by_first_words_age_tokens_workspace_and_channel() {
    let home = home();
    home.bub(["sessions"]).finish().mentions("this workspace has no sessions; `bub-wasm chat` begins one");
    said(&home, "cli:garden", "ECHO:plant the roses\nand water them");
    said(&home, "cli:garden", "ECHO:and the tulips");
    home.run(["ECHO:hello", "--channel", "telegram", "--chat-id", "7"]).finish();
    let rows = listed(&home, &[]);
    let ids: Vec<&Value> = rows.iter().map(|row| &row["session"]).collect();
    assert_eq!(ids, ["telegram:7", "cli:garden"], "the newest first");
    let garden = &rows[1];
    let workspace = home.workspace().canonicalize().expect("it is there");
    assert_eq!(garden["workspace"], json!(workspace), "{garden}");
    assert_eq!(garden["first_words"], "ECHO:plant the roses\nand water them", "{garden}");
    assert_eq!((&garden["name"], &garden["here"], &garden["channel"]), (&Value::Null, &json!(true), &json!("cli")));
    // Both turns are counted.
    let entries = bub_tests::tape::read(&home.tape_file("cli:garden"));
    let used: u64 = entries.iter().filter_map(|entry| entry["payload"]["data"]["usage"]["total_tokens"].as_u64()).sum();
    assert!(used > 0 && garden["tokens"] == used, "{garden}");
    let shown = home.bub(["sessions"]).finish();
    assert!(shown.stdout.starts_with("SESSION "), "{shown}");
    let line = shown.stdout.lines().find(|line| line.starts_with("cli:garden")).expect("a row");
    assert!(
        line.contains("ECHO:plant the roses and wa…") && line.contains("just now") && line.ends_with("  cli"),
        "{shown}"
    );
    assert!(shown.stdout.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert_eq!(listed(&home, &["--channel", "cli"]).len(), 1);
    assert_eq!(listed(&home, &["--limit", "1"])[0]["session"], "telegram:7");
}

#[test]
fn another_workspace_has_separate_sessions() {
    let home = home();
    said(&home, "cli:garden", "ECHO:here");
    let other = home.bub_home().join("elsewhere");
    fs::create_dir_all(&other).expect("a directory");
    let dir = other.to_string_lossy().into_owned();
    home.bub(["--workspace", &dir, "run", "ECHO:there", "--session", "cli:garden"]).finish();
    assert_eq!(listed(&home, &[]).len(), 1);
    let all = listed(&home, &["--all"]);
    assert_eq!((all.len(), &all[0]["here"], &all[0]["first_words"]), (2, &json!(false), &json!("ECHO:there")));
    let shown = home.bub(["sessions", "--all"]).finish();
    assert!(shown.stdout.contains("elsewhere"), "{shown}");
    assert_eq!(listed(&home, &["--workspace", &dir]).len(), 1);
}

#[test]
fn a_session_is_named_by_a_command_and_from_outside_and_found_by_its_name() {
    let home = trusting();
    said(&home, "cli:a1", "ECHO:one");
    said(&home, "cli:b2", "ECHO:two");
    for (command, answer) in [
        (",session.name", "This session has no name"),
        (",session.name the rose garden", "This session is called the rose garden now."),
        (",session.name", "This session is called the rose garden."),
    ] {
        let finished = home.run([command, "--session", "cli:a1"]).finish();
        assert!(finished.stdout.contains(answer), "{finished}");
    }
    home.bub(["sessions", "rename", "cli:b2", "taxes"]).finish().says("session `cli:b2` is called `taxes` now\n");
    home.bub(["sessions", "rename", "taxes", "taxes 2026"])
        .finish()
        .says("session `cli:b2` is called `taxes 2026` now\n");
    let names: Vec<Value> = listed(&home, &[]).into_iter().map(|row| row["name"].clone()).collect();
    assert_eq!(names, ["taxes 2026", "the rose garden"]);
    // The name is no part of the conversation.
    let tape = bub_tests::tape::read(&home.tape_file("cli:b2"));
    let event = tape.iter().find(|entry| entry["payload"]["name"] == "session.name").expect("an event");
    assert_eq!((&event["kind"], &event["meta"]["context"]), (&json!("event"), &json!(false)));
    let chat = home.bub(["chat", "--resume", "the rose garden"]).terminal(80, 30);
    chat.waits();
    chat.sees("session cli:a1").contains("ECHO:one").then_some(()).expect("how it ended");
    chat.say(",quit").ends();
    home.bub(["sessions", "rename", "cli:b2", ""]).finish().says("session `cli:b2` has no name any more\n");
    assert_eq!(listed(&home, &[])[0]["name"], Value::Null);
}

#[test]
fn an_invalid_session_or_name_is_reported_in_one_line() {
    let home = home();
    said(&home, "cli:a1", "ECHO:one");
    let long = "x".repeat(101);
    for (words, naming) in [
        (&["sessions", "rename", "cli:a2", "x"][..], &["no session `cli:a2`", "did you mean `cli:a1`"][..]),
        (&["sessions", "rename", "nothing at all", "x"], &["no session `nothing at all`", "`bub-wasm sessions`"]),
        (&["sessions", "rename", "cli:a1", "a\nb"], &["one line"]),
        (&["sessions", "rename", "cli:a1", &long], &["at most 100 characters"]),
        (&["chat", "--resume", "cli:zzzzzzzz"], &["no session `cli:zzzzzzzz`"]),
    ] {
        home.bub(words.iter().copied()).finish().refuses(naming);
    }
    said(&home, "cli:b2", "ECHO:two");
    for session in ["cli:a1", "cli:b2"] {
        home.bub(["sessions", "rename", session, "twin"]).finish();
    }
    home.bub(["chat", "--resume", "twin"]).finish().refuses(&[
        "2 sessions have the name `twin`",
        "`cli:a1`",
        "`cli:b2`",
    ]);
}

#[test]
fn run_and_chat_share_a_session() {
    let home = trusting();
    said(&home, "project", "ECHO:from run");
    let chat = home.bub(["chat", "--session", "project"]).terminal(80, 30);
    chat.waits();
    chat.say("ECHO:from chat").sees("\nfrom chat");
    chat.waits();
    chat.say(",quit").ends();
    said(&home, "project", "ECHO:and run again");
    let tape = format!("{:?}", bub_tests::tape::read(&home.tape_file("project")));
    assert!(["from run", "from chat", "and run again"].iter().all(|said| tape.contains(said)), "{tape}");
    assert_eq!(listed(&home, &[]).len(), 1);
}

#[test]
fn a_person_chooses_a_session_by_its_number() {
    let home = trusting();
    for (session, message) in
        [("cli:one", "ECHO:the first"), ("cli:two", "ECHO:the second"), ("cli:three", "ECHO:the third")]
    {
        said(&home, session, message);
    }
    home.run(["ECHO:somebody else's", "--channel", "telegram", "--chat-id", "7"]).finish();
    let chat = home.bub(["chat", "--resume"]).terminal(80, 30);
    let screen = chat.sees("Which one?");
    assert!(screen.contains("  1  ECHO:the third · cli:three · just now"), "{screen}");
    assert!(screen.contains("  3  ECHO:the first · cli:one") && !screen.contains("telegram"), "{screen}");
    chat.say("9").sees("`9` is none of 1 to 3");
    chat.say("2").sees("session cli:two");
    let screen = chat.waits();
    assert!(screen.contains("› ECHO:the second") && !screen.contains("---Date"), "as it was typed: {screen}");
    chat.say(",quit").ends();
    // You can leave the list.
    let chat = home.bub(["chat", "--resume"]).terminal(80, 30);
    chat.sees("Which one?");
    chat.say("q").ends();
    let chat = home.bub(["chat", "--resume"]).terminal(80, 30);
    chat.sees("Which one?");
    chat.press(["Enter"]).sees("session cli:two");
}

#[test]
fn control_characters_in_messages_and_names_are_escaped() {
    let home = home();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}gnp.exe\u{2066} pay\u{200d}pal";
    said(&home, "cli:\u{1b}[31m\u{202e}x", &format!("ECHO:{evil}"));
    said(&home, "cli:long", &format!("ECHO:{}", "w".repeat(10_000)));
    said(&home, "cli:界界界界界界界界界界界界界界界", &format!("ECHO:{}", "ж界\u{202e}".repeat(2000)));
    said(&home, "cli:family", "ECHO:👨\u{200d}👩\u{200d}👧 می\u{200c}خواهم");
    // A plugin, or another program, may write any name at all.
    let file = home.tape_file("cli:long");
    let mut tape = fs::read_to_string(&file).expect("a tape");
    let last = tape.lines().count() + 1;
    let name = format!("{evil}{}", "z\u{301}".repeat(5000));
    let payload = json!({ "name": "session.name", "data": { "name": name } });
    tape.push_str(&format!(
        "{}\n",
        bub_tests::tape::python_json(
            &json!({ "id": last, "kind": "event", "payload": payload, "meta": {}, "date": "2026-11-21T10:00:00.000000+00:00" })
        )
    ));
    fs::write(&file, tape).expect("it can be written");
    for words in [&["sessions"][..], &["sessions", "--all"], &["sessions", "--json"], &["tape", "list"]] {
        let finished = home.bub(words.iter().copied()).finish();
        assert_eq!(finished.code, Some(0), "{finished}");
        let obeyed =
            |c: char| c != '\n' && c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        assert!(!finished.stdout.contains(obeyed), "{words:?}: {finished}");
        assert!(!finished.stdout.contains("pay\u{200d}"), "{words:?}: {finished}");
        if words.len() < 2 {
            assert!(
                finished.stdout.lines().all(|line| bub_terminal::text::width(line) <= bub_terminal::text::WIDTH + 4),
                "{words:?}: {finished}"
            );
            assert!(finished.stdout.contains("ECHO:👨\u{200d}👩\u{200d}👧 می\u{200c}خواهم"), "{finished}");
        }
    }
    assert_eq!(listed(&home, &[]).len(), 4);
    home.bub(["chat", "--resume", evil]).finish().refuses(&["no session"]);
}

#[test]
fn a_session_with_a_running_turn_shows_the_process() {
    let home = trusting();
    said(&home, "busy", "ECHO:hello");
    let running = home.run([r#"TOOL:bash {"cmd": "touch began; sleep 1000"}"#, "--session", "busy"]).start();
    let began = home.workspace().join("began");
    let started = std::time::Instant::now();
    while !began.exists() {
        assert!(started.elapsed() < std::time::Duration::from_secs(60), "the tool never runs");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let pid = listed(&home, &[])[0]["held_by"].as_u64().expect("a process");
    let shown = home.bub(["sessions"]).finish();
    assert!(shown.stdout.contains(&format!("process {pid} runs a turn of it")), "{shown}");
    let chat = home.bub(["chat", "--resume", "busy"]).terminal(100, 30);
    chat.sees(&format!("process {pid} runs a turn of session `busy`: what you say waits for its end"));
    running.interrupt();
    running.finish();
    chat.waits();
    chat.say("ECHO:after it").sees("\nafter it");
    assert_eq!(listed(&home, &[])[0]["held_by"], Value::Null);
}

#[test]
fn a_tape_of_another_program_records_its_session_from_the_first_turn_on() {
    let home = home();
    said(&home, "telegram:42", "ECHO:hello");
    let file = home.tape_file("telegram:42");
    let before = fs::read_to_string(&file).expect("a tape");
    let without: String = before
        .lines()
        .map(|line| {
            let mut entry: Value = serde_json::from_str(line).expect("an entry");
            entry["meta"].as_object_mut().expect("a meta").remove("session");
            format!("{}\n", bub_tests::tape::python_json(&entry))
        })
        .collect();
    assert_ne!(before.matches("\"session\"").count(), without.matches("\"session\"").count());
    fs::write(&file, without).expect("it can be written");
    fs::remove_dir_all(home.bub_home().join("sessions")).expect("the terminal's sessions");
    let rows = listed(&home, &[]);
    assert_eq!((&rows[0]["session"], &rows[0]["first_words"]), (&Value::Null, &json!("ECHO:hello")));
    home.run(["ECHO:again", "--channel", "telegram", "--chat-id", "42"]).finish();
    assert_eq!(listed(&home, &[])[0]["session"], "telegram:42");
    // Once is enough.
    home.run(["ECHO:and again", "--channel", "telegram", "--chat-id", "42"]).finish();
    let marks = |entry: &&Value| entry["kind"] == "event" && entry["payload"]["name"] == "session";
    assert_eq!(bub_tests::tape::read(&file).iter().filter(marks).count(), 1);
}

#[test]
fn an_emptied_session_and_a_copied_one_are_listed_as_such() {
    let home = home();
    said(&home, "cli:old", "ECHO:hello");
    home.bub(["tape", "fork", "--session", "cli:old", "--to", "cli:new"]).finish();
    let new = listed(&home, &[]).into_iter().find(|row| row["session"] != "cli:old").expect("the copy");
    assert_eq!(new["session"], Value::Null, "the mark of the copied tape is another's");
    said(&home, "cli:new", "ECHO:on");
    assert!(listed(&home, &[]).iter().any(|row| row["session"] == "cli:new"));
    home.run([",tape.reset archive=true", "--session", "cli:old"]).finish();
    let first = &bub_tests::tape::read(&home.tape_file("cli:old"))[0];
    assert_eq!(
        (&first["payload"]["name"], &first["meta"]["session"]["id"]),
        (&json!("session/start"), &json!("cli:old"))
    );
}

#[test]
fn thousands_of_sessions_are_listed_without_reading_their_tapes() {
    let home = home();
    said(&home, "cli:mine", "ECHO:hello");
    let tape = fs::read(home.tape_file("cli:mine")).expect("a tape");
    for number in 0..3000 {
        let file = home.tape_file(&format!("cli:{number}"));
        // Opening one of the older ones as a file fails.
        match number < 19 {
            true => fs::write(&file, &tape).expect("it can be written"),
            false => fs::create_dir(&file).expect("a directory"),
        }
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600 + number);
        fs::File::open(&file).and_then(|file| file.set_modified(old)).expect("its date");
    }
    let shown = home.bub(["sessions"]).finish();
    let rows = shown.stdout.matches("ECHO:hello").count();
    assert!(rows == 20 && shown.stderr.contains("and 2981 older"), "{shown}");
    assert_eq!(listed(&home, &["-n", "3"]).len(), 3);
}
