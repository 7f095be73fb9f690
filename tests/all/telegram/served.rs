//! The bot through `bub-wasm serve`, as a person runs it.

use super::stand_in::{StandIn, TOKEN};
use super::{ada, bob, private, said, with};
use crate::home;
use bub_tests::{Home, Started, programs, tape};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

/// Nothing takes longer than this, however busy the machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A home whose bot is that of the stand-in: Ada is its owner, and may talk to it alone and in the group.
pub(super) fn homed(server: &StandIn) -> Home {
    let home = home();
    let base = server.base();
    home.configure(&format!(
        "[plugins.telegram]\ngrants = [\"hook:channel\", \"http:{base}\", \"secret:telegram_token\"]\n\
         [plugins.telegram.config]\napi_base = \"{base}\"\npoll_seconds = 1\nallow_users = [42]\nallow_chats = [-100]\n\
         [channels.telegram]\nowners = [\"42\"]\ndebounce_seconds = 0.0\n"
    ));
    let file = home.bub_home().join("secrets.toml");
    fs::write(&file, super::bot::secret("telegram_token", TOKEN)).expect("it can be written");
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).expect("it is ours");
    server.chat(42);
    server.chat(-100);
    home
}

pub(super) fn serve(home: &Home) -> Started<'_> {
    let started = home.bub(["serve", "--listen", "127.0.0.1:0"]).start();
    started.prints("serving at ");
    started
}

#[track_caller]
pub(super) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[track_caller]
fn sees(server: &StandIn, chat: i64, expected: &[&str]) {
    until(&format!("{expected:?} in chat {chat}"), || server.seen(chat).len() >= expected.len());
    assert_eq!(server.seen(chat), expected);
}

fn entries(home: &Home, session: &str) -> Vec<Value> {
    tape::read(&home.tape_file(session))
}

#[test]
fn a_conversation_continues_after_a_restart() {
    let server = StandIn::new();
    let home = homed(&server);
    server.tells("message", private("ECHO:hello"));
    let first = serve(&home);
    sees(&server, 42, &["hello"]);
    first.terminate();
    let ended = first.finish();
    assert_eq!(ended.code, Some(0), "{ended}");
    assert!(!ended.stderr.contains(TOKEN) && !ended.stdout.contains(TOKEN));
    server.tells("message", private("ECHO:again"));
    let second = serve(&home);
    sees(&server, 42, &["hello", "again"]);
    second.terminate();
    second.finish();
    // Accepted updates are not requested again.
    let offsets: Vec<_> = server.called("getUpdates").iter().map(|asked| asked["offset"].as_i64()).collect();
    assert!(offsets[0] == Some(0) && offsets[1..].iter().all(|offset| *offset >= Some(1_002)), "{offsets:?}");
    let tape = entries(&home, "telegram:42");
    let users: Vec<&Value> = tape.iter().filter(|entry| entry["payload"]["role"] == "user").collect();
    assert_eq!(users.len(), 2);
    let prompt = users[0]["payload"]["content"].as_str().expect("a text");
    assert!(prompt.starts_with("sender_id=42|channel=$telegram|chat_id=42|message_id=501|username=ada|"), "{prompt}");
    assert!(prompt.ends_with("\nECHO:hello"), "{prompt}");
    assert!(!format!("{tape:?}").contains(TOKEN));
    // Ada is the owner: her messages are not from outside.
    assert!(tape.iter().all(|entry| entry["payload"]["name"] != "turn.tainted"));
}

#[test]
fn a_repeated_update_is_one_turn() {
    let server = StandIn::new();
    let home = homed(&server);
    let id = server.tells("message", private("ECHO:once"));
    server.tells("message", with(private("ECHO:once"), json!({ "message_id": id })));
    server.tells("message", private("ECHO:then"));
    let started = serve(&home);
    sees(&server, 42, &["once", "then"]);
    started.terminate();
    started.finish();
    assert_eq!(server.seen(42), ["once", "then"]);
}

#[test]
fn an_answer_waits_for_a_busy_telegram_and_holds_up_no_other_chat() {
    let server = StandIn::new();
    let home = homed(&server);
    server.upset("sendMessage", 0, 429, "Too Many Requests: retry after 2", json!({ "retry_after": 2 }));
    server.tells("message", private("ECHO:late"));
    let started = serve(&home);
    until("a first try", || server.called("sendMessage").len() == 1);
    server.tells("message", said(ada(), "Bub"));
    until("an answer in the group", || server.seen(-100).len() == 1);
    sees(&server, 42, &["late"]);
    started.terminate();
    started.finish();
}

#[test]
fn a_user_who_blocked_the_bot_does_not_delay_others() {
    let server = StandIn::new();
    let home = homed(&server);
    server.block(42);
    server.tells("message", private("ECHO:into the void"));
    let started = serve(&home);
    started.wait_for("bot was blocked by the user");
    server.tells("message", said(bob(), "Bub"));
    until("an answer in the group", || server.seen(-100).len() == 1);
    started.terminate();
    started.finish();
    assert_eq!(server.called("sendMessage").len(), 2, "it was tried once");
    let tape = entries(&home, "telegram:-100");
    assert!(tape.iter().any(|entry| entry["payload"]["name"] == "turn.tainted"), "Bob is not the owner");
}

#[test]
fn an_answer_is_shown_while_it_is_written() {
    let server = StandIn::new();
    let home = homed(&server);
    let events = r#"["The beginning of an answer ", { pause = 4000 }, "**goes on** ", { pause = 4000 }, "and ends"]"#;
    home.scripted("slow", programs::SCRIPTED_STREAM, &format!("run-model-stream = {events}"));
    server.tells("message", private("tell me"));
    let started = serve(&home);
    until("a first part", || server.seen(42).first().is_some_and(|seen| seen == "The beginning of an answer …"));
    until("all of it", || {
        server.seen(42).first().is_some_and(|seen| seen == "The beginning of an answer goes on and ends")
    });
    started.terminate();
    started.finish();
    let messages = server.messages(42);
    assert!(messages.len() == 1 && messages[0].edits >= 1, "{messages:?}");
}

#[test]
fn merged_messages_of_several_senders_have_no_owner_privileges() {
    let server = StandIn::new();
    let home = homed(&server);
    home.configure("[channels.telegram]\ndebounce_seconds = 1.0");
    server.tells("message", said(bob(), "Bub, obey me"));
    server.tells("message", said(ada(), "Bub, good morning"));
    let started = serve(&home);
    until("an answer", || !server.seen(-100).is_empty());
    started.terminate();
    started.finish();
    let tape = entries(&home, "telegram:-100");
    let users: Vec<&str> = tape
        .iter()
        .filter(|entry| entry["payload"]["role"] == "user")
        .filter_map(|entry| entry["payload"]["content"].as_str())
        .collect();
    assert!(
        users.len() == 1 && users[0].ends_with("\nBob: Bub, obey me\nAda Lovelace: Bub, good morning"),
        "{users:?}"
    );
    assert!(!users[0].contains("sender_id"), "{users:?}");
    assert!(tape.iter().any(|entry| entry["payload"]["name"] == "turn.tainted"), "the owner did not say all of it");
}

#[test]
fn a_photo_reaches_the_model_and_stays_in_the_conversation() {
    let server = StandIn::new();
    let home = homed(&server);
    let photo = json!([{ "file_id": server.file("p", super::PNG), "file_size": super::PNG.len() }]);
    server
        .tells("message", with(private("ECHO:seen"), json!({ "photo": photo, "text": null, "caption": "ECHO:seen" })));
    let started = serve(&home);
    sees(&server, 42, &["seen"]);
    started.terminate();
    started.finish();
    let tape = entries(&home, "telegram:42");
    let said = tape.iter().find(|entry| entry["payload"]["role"] == "user").expect("it was said");
    assert_eq!(said["payload"]["content"][1]["type"], "image_url");
    let url = said["payload"]["content"][1]["image_url"]["url"].as_str().expect("an address");
    assert!(url.starts_with("data:image/png;base64,iVBOR"), "{url}");
}
