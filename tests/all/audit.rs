//! Receipts, chains, signed heads and witnesses, through the program.

mod cose;
mod legitimate;
mod outside;
mod served;
mod witness;

use crate::home;
use bub_tests::{Answer, Finished, Home, Serve, Server, tape};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const SESSION: &str = "cli:local";

fn bash(command: &str) -> String {
    format!("TOOL:bash {}", json!({ "cmd": command }))
}

fn audit(home: &Home, arguments: &[&str]) -> Finished {
    home.bub(["audit"].into_iter().chain(arguments.iter().copied())).finish()
}

/// Verified, with nothing to complain of. Returns what was printed.
fn is_whole(home: &Home) -> Value {
    let finished = audit(home, &["verify", "--json"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    serde_json::from_str(&finished.stdout).expect("it is JSON")
}

/// Verified, with something to complain of.
fn is_tampered(home: &Home, with: &str) {
    let finished = audit(home, &["verify"]);
    assert_eq!(finished.code, Some(1), "{finished}");
    assert!(finished.stdout.contains(with), "{with}: {finished}");
}

/// All receipts of a session, in order.
pub(crate) fn receipts(home: &Home, session: &str) -> Vec<Value> {
    let entries = tape::read(&home.sidecar_file(session, "receipts"));
    let all =
        entries.iter().flat_map(|entry| entry["payload"]["data"]["receipts"].as_array().cloned().unwrap_or_default());
    all.collect()
}

pub(crate) fn of_kind(receipts: &[Value], kind: &str) -> Vec<Value> {
    receipts.iter().filter(|receipt| receipt["kind"] == kind).cloned().collect()
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_turn_leaves_receipts_of_what_it_did_outside() {
    let home = home();
    fs::write(home.workspace().join("notes.txt"), "one\n").expect("a file");
    let server = Server::new([
        Answer::tool_call("bash", &json!({ "cmd": "echo two > notes.txt; exit 3" }).to_string()),
        Answer::tool_call("fs_write", r#"{"path": "new.txt", "content": "new\n"}"#),
        Answer::text("done"),
    ]);
    home.run(["go", "--allow", "run,write"]).model(&server).finish().answers();
    let receipts = receipts(&home, SESSION);
    let models = of_kind(&receipts, "model");
    assert_eq!(models.len(), 3, "{receipts:#?}");
    let host = server.base().trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    assert!(models.iter().all(|call| call["host"] == *host && call["ms"].is_u64()), "{models:#?}");
    assert!(models.iter().all(|call| call["tokens"]["total"].is_u64()), "{models:#?}");
    let tools = of_kind(&receipts, "tool");
    let named: Vec<&str> = tools.iter().filter_map(|tool| tool["tool"].as_str()).collect();
    assert_eq!(named, ["bash", "fs.write"], "{tools:#?}");
    assert!(tools.iter().all(|tool| tool["ms"].is_u64() && tool["call"].is_string()), "{tools:#?}");
    let programs = of_kind(&receipts, "program");
    assert_eq!((programs.len(), &programs[0]["program"], &programs[0]["exit"]), (1, &json!("echo"), &json!(3)));
    assert_eq!(programs[0]["command_sha256"], sha256(b"echo two > notes.txt; exit 3"));
    let files = of_kind(&receipts, "file");
    let file = |path: &str| files.iter().find(|file| file["path"] == path).unwrap_or_else(|| panic!("{files:#?}"));
    assert_eq!(file("notes.txt")["before"], sha256(b"one\n"));
    assert_eq!(file("notes.txt")["after"], sha256(b"two\n"));
    assert_eq!((file("new.txt").get("before"), &file("new.txt")["after"]), (None, &json!(sha256(b"new\n"))));
    // Neither the tape nor a model knows of them, and they quote nothing.
    let tape = fs::read_to_string(home.tape_file(SESSION)).expect("a tape");
    assert!(!tape.contains("turn.receipts"));
    let text = fs::read_to_string(home.sidecar_file(SESSION, "receipts")).expect("receipts");
    assert!(!text.contains("exit 3") && !text.contains("two > notes"), "{text}");
    assert_eq!(is_whole(&home)["tampered"], false);
}

#[test]
fn a_client_learns_from_receipts_how_long_calls_took() {
    let home = home();
    let server = Server::new([
        Answer::tool_call("fs_read", r#"{"path": "notes.txt"}"#),
        Answer::text("done"),
        Answer::text("no call"),
    ]);
    let run = home.bub(["serve", "--listen", "127.0.0.1:0"]).model(&server);
    let serve = Serve::start(run, &home.bub_home());
    let ask = |text: &str| {
        serve.post("/v1/turns", &json!({ "session_id": "http:a", "content": text }));
    };
    ask("read");
    let page = serve.get("/v1/sessions/http:a/entries");
    let calls = page["entries"].as_array().expect("entries").iter().find(|entry| entry["kind"] == "tool_call");
    let id = calls.expect("a call")["payload"]["calls"][0]["id"].as_str().expect("an id").to_owned();
    let took = page["durations"][&id].as_u64();
    assert!(took.is_some_and(|took| took < 60_000), "{page:#}");
    let last = page["entries"].as_array().and_then(|entries| entries.last()).expect("entries")["id"].clone();
    ask("hello");
    let page = serve.get(&format!("/v1/sessions/http:a/entries?after={last}"));
    assert!(page.get("durations").is_none(), "{page:#}");
}

#[test]
fn an_approval_and_a_failed_tool_leave_receipts() {
    let home = home();
    fs::write(home.workspace().join("AGENTS.md"), "be kind\n").expect("a file");
    home.run([bash("true").as_str()]).finish();
    home.run([r#"TOOL:fs.read {"path": "absent"}"#]).finish();
    let receipts = receipts(&home, SESSION);
    let approvals = of_kind(&receipts, "approval");
    assert_eq!((approvals.len(), &approvals[0]["tool"], &approvals[0]["effect"]), (1, &json!("bash"), &json!("run")));
    assert!(approvals[0].get("decision").is_none(), "no owner was there to be asked: {approvals:#?}");
    let errors: Vec<Value> = of_kind(&receipts, "tool").iter().map(|tool| tool["error"].clone()).collect();
    assert_eq!(errors[0], "denied", "{receipts:#?}");
    assert!(errors[1].is_string(), "{receipts:#?}");
}

#[test]
fn an_entry_that_was_changed_removed_or_inserted_is_named() {
    let home = home();
    for text in ["one", "two", "three"] {
        home.run([text]).finish().answers();
    }
    let verified = is_whole(&home);
    assert_eq!(verified["tapes"][0]["unchained"], 0, "{verified:#}");
    let tape = home.tape_file(SESSION);
    let before = fs::read_to_string(&tape).expect("a tape");
    let lines: Vec<&str> = before.split_inclusive('\n').collect();
    let at = lines.iter().position(|line| line.contains("two") && line.contains("user")).expect("the message");
    let id = at + 1;
    fs::write(&tape, before.replace("two", "2wo")).expect("it can be written");
    is_tampered(&home, &format!("tampered: entry {id} was changed"));
    let without: String = lines.iter().enumerate().filter(|(place, _)| *place != at).map(|(_, line)| *line).collect();
    fs::write(&tape, without).expect("it can be written");
    is_tampered(&home, &format!("tampered: entry {id} was removed"));
    fs::write(&tape, lines[..at].concat()).expect("it can be written");
    is_tampered(&home, &format!("tampered: entry {id} and what followed was cut off"));
    let mut more = lines.clone();
    more.insert(at, lines[at - 1]);
    fs::write(&tape, more.concat()).expect("it can be written");
    is_tampered(&home, "was inserted");
    fs::write(&tape, &before).expect("it can be written");
    is_whole(&home);
    let receipts = home.sidecar_file(SESSION, "receipts");
    let text = fs::read_to_string(&receipts).expect("receipts");
    fs::write(&receipts, text.replacen("\"ms\": ", "\"ms\": 1", 1)).expect("it can be written");
    is_tampered(&home, "tampered: entry 1 of sidecar `receipts` was changed");
    fs::write(&receipts, text).expect("it can be written");
    fs::remove_file(home.sidecar_file(SESSION, "chain")).expect("a chain");
    is_tampered(&home, "of the chain and what followed was cut off (its head was signed at ");
}

#[test]
fn a_tape_that_is_gone_is_missed() {
    let home = home();
    home.run(["one"]).finish().answers();
    for file in fs::read_dir(home.tapes_dir()).expect("tapes").flatten() {
        if file.path().is_file() {
            fs::remove_file(file.path()).expect("it can be removed");
        }
    }
    is_tampered(&home, "cut off (its head was signed at ");
}

#[test]
fn the_key_is_private_and_is_replaced_by_a_signed_one() {
    let home = home();
    home.run(["one"]).finish().answers();
    let key = home.bub_home().join("audit/key");
    assert_eq!(fs::metadata(&key).expect("a key").permissions().mode() & 0o777, 0o600);
    let first: Value = serde_json::from_str(&audit(&home, &["key", "--json"]).stdout).expect("JSON");
    let rotated: Value = serde_json::from_str(&audit(&home, &["key", "rotate", "--json"]).stdout).expect("JSON");
    assert_eq!(rotated["keys"][0], first["keys"][0]);
    assert_eq!(rotated["keys"][1]["previous"], first["keys"][0]["id"]);
    home.run(["two"]).finish().answers();
    let verified = is_whole(&home);
    assert_eq!(verified["tapes"][0]["signed"]["key"], rotated["keys"][1]["id"]);
    let doctor = home.bub(["doctor"]).finish();
    assert!(doctor.stdout.contains("signs the ends of turns"), "{doctor}");
}

#[test]
fn a_key_that_others_may_read_signs_nothing_and_holds_up_no_turn() {
    let home = home();
    home.run(["one"]).finish().answers();
    let key = home.bub_home().join("audit/key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("its rights can be set");
    let finished = home.run(["two"]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    assert!(finished.stderr.contains("the ends of turns are not signed"), "{finished}");
    assert!(finished.stderr.contains("may be read by others: run `chmod 600` on it"), "{finished}");
    audit(&home, &["sign"]).fails("may be read by others");
    is_whole(&home);
}

#[test]
fn evidence_is_exported_as_lines_and_as_a_signed_statement() {
    let home = home();
    home.run(["one"]).finish().answers();
    let lines = audit(&home, &["export", SESSION]);
    let lines: Vec<Value> = lines.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of =
        |sidecar: Value| lines.iter().filter(|line| line["entry"].is_object() && line["sidecar"] == sidecar).count();
    assert_eq!(of(Value::Null), tape::read(&home.tape_file(SESSION)).len());
    assert!(of(json!("receipts")) > 0 && of(json!("chain")) > 0);
    assert!(
        lines.iter().any(|line| line["head"]["seq"].is_u64())
            && lines.iter().any(|line| line["key"]["public"].is_string())
    );
    let envelope: Value = serde_json::from_str(&audit(&home, &["export", "--format", "in-toto"]).stdout).expect("JSON");
    assert_eq!(envelope["payloadType"], "application/vnd.in-toto+json");
    use base64::Engine;
    let payload = base64::engine::general_purpose::STANDARD.decode(envelope["payload"].as_str().expect("text"));
    let statement: Value = serde_json::from_slice(&payload.expect("base64")).expect("JSON");
    let verified = is_whole(&home);
    let head = verified["tapes"]
        .as_array()
        .expect("tapes")
        .iter()
        .find(|tape| tape["tape"] == statement["subject"][0]["name"]);
    assert_eq!(statement["subject"][0]["digest"]["sha256"], head.expect("the tape")["head"]["hash"]);
}

#[test]
fn what_is_asked_for_wrongly_is_said_in_one_line() {
    let home = home();
    audit(&home, &["verify", "nobody"]).fails("`nobody` is neither a session of this workspace nor a tape");
    home.configure("[audit]\nchain = false");
    home.run(["one"]).finish().answers();
    assert!(!home.sidecar_file(SESSION, "chain").exists() && !home.bub_home().join("audit").exists());
    audit(&home, &["sign"]).fails("entries are not chained; `chain = true` in `[audit]` of config.toml turns that on");
    home.configure("[audit]\nreceipts = false");
    home.run(["two"]).finish().answers();
    assert_eq!(receipts(&home, SESSION).len(), 1, "of the first turn alone");
    home.configure("[audit]\nwitness = \"http://witness.example/heads\"");
    home.run(["three"]).finish().fails("`witness` in `[audit]` of config.toml");
}
