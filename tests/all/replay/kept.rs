//! What recordings hold, and for how long.

use super::{are_identical, files, recording, replay};
use bub_tests::{Answer, Gate, Serve, Server, programs};
use lz4_flex::frame::FrameDecoder;
use serde_json::json;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// All text of a recording.
fn text(file: &Path) -> String {
    let bytes = fs::read(file).expect("it can be read");
    let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    let mut text = String::from_utf8_lossy(&bytes[..ends[1]]).into_owned();
    FrameDecoder::new(&bytes[ends[1]..]).read_to_string(&mut text).expect("it is text");
    text
}

#[test]
fn no_secret_is_in_a_recording() {
    let key = "w34ther-key-of-the-test";
    let home = recording();
    let secrets = home.bub_home().join("secrets.toml");
    fs::write(&secrets, format!("[weather]\nvalue = \"{key}\"\nhosts = [\"127.0.0.1\"]\n")).expect("a file");
    fs::set_permissions(secrets, fs::Permissions::from_mode(0o600)).expect("it is ours");
    fs::write(home.workspace().join("notes.txt"), format!("the key is {key}\n")).expect("a file");
    let server = Server::new([
        Answer::tool_call("fs_read", r#"{"path":"notes.txt"}"#),
        Answer::tool_call("bash", &serde_json::json!({ "cmd": format!("printf %s {key} | base64") }).to_string()),
        Answer::text(&format!("it is {key}")),
    ]);
    home.run([&format!("my key is {key}")[..], "--allow", "run"]).model(&server).finish();
    let file = files(&home).pop().expect("it is recorded");
    let text = text(&file);
    assert!(!text.contains(key) && !text.contains("dzM0dGhlci1rZXktb2YtdGhlLXRlc3"), "{text}");
    assert!(text.contains("the key is "), "the file that was read is in it");
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    let folder = file.parent().expect("a folder");
    assert_eq!(fs::metadata(folder).expect("a folder").permissions().mode() & 0o777, 0o700);
}

#[test]
fn the_bounds_hold() {
    let home = recording();
    home.run(["ECHO:one"]).finish().says("[cli:local]\none\n");
    let bytes = fs::metadata(&files(&home)[0]).expect("a file").len();
    home.configure(&format!("[recordings]\nmax_bytes = {}", bytes * 5 / 2));
    for message in ["ECHO:two", "ECHO:three", "ECHO:four"] {
        home.run([message]).finish();
    }
    let kept = files(&home);
    assert!((1..=2).contains(&kept.len()), "{kept:?}");
    assert!(text(kept.last().expect("one")).contains("four"), "the newest are kept");
    // As if nine days had gone by.
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(9 * 24 * 3600);
    fs::File::options().write(true).open(&kept[0]).and_then(|file| file.set_modified(past)).expect("it is ours");
    home.run(["ECHO:five"]).finish();
    assert!(!kept[0].exists());
    home.configure("[recordings]\ndays = 0");
    home.run(["ECHO:six"]).finish().fails("`recordings.days` of config.toml");
}

#[test]
fn a_session_that_is_reset_has_no_recordings_left() {
    let home = recording();
    home.run(["ECHO:one"]).finish();
    home.run(["--session", "other", "ECHO:two"]).finish();
    assert_eq!(files(&home).len(), 2);
    home.bub(["tape", "reset", "--yes"]).finish().answers();
    assert_eq!(files(&home).len(), 1);
    home.run(["--session", "other", ",tape.reset"]).finish();
    assert!(files(&home).is_empty());
}

#[test]
fn an_erased_text_is_in_no_recording() {
    let home = recording();
    home.run(["ECHO:the door code is quince"]).finish();
    home.run(["--session", "other", "ECHO:he said that the door code is quince, too"]).finish();
    home.run(["--session", "third", "ECHO:nothing"]).finish();
    home.bub(["tape", "erase", "cli:local", "--text", "quince", "--yes"]).finish().answers();
    let left = files(&home);
    assert!(left.iter().all(|file| !text(file).contains("ECHO:the door code is quince")), "{left:?}");
    assert!(left.iter().any(|file| text(file).contains("nothing")), "others stay");
}

#[test]
fn turns_that_wait_to_be_written_are_erased_and_reset_too_and_others_are_written_at_the_end() {
    let home = recording();
    let gate = Arc::new(Gate::default());
    let held = gate.clone();
    let model = Server::ruled(move |request| match request.last_content().ends_with("slow") {
        true => Answer::gated("so ", &held, "far"),
        false => Answer::text("the door code is quince"),
    });
    let serve = Serve::start(home.bub(["serve", "--listen", "127.0.0.1:0"]).model(&model), &home.bub_home());
    let turn = |session: &str, content: &str| {
        serve.post("/v1/turns", &json!({ "content": content, "session_id": session }));
    };
    std::thread::scope(|scope| {
        // While one runs, those that have ended wait.
        let slow = scope.spawn(|| turn("slow", "slow"));
        model.wait_for(1);
        turn("a", "tell");
        turn("b", "tell");
        turn("b", ",tape.reset");
        home.bub(["tape", "erase", "a", "--text", "quince", "--yes"]).finish().answers();
        // The times of files are coarse: a turn that ends with the erasure is dropped, too.
        std::thread::sleep(Duration::from_millis(100));
        gate.open();
        slow.join().expect("it is answered");
    });
    serve.end();
    let left: Vec<String> = files(&home).iter().map(|file| text(file)).collect();
    assert!(left.iter().all(|text| !text.contains("quince")), "{left:?}");
    assert!(left.iter().any(|text| text.contains("slow")), "{left:?}");
}

#[test]
fn sessions_that_are_not_kept_and_previews_are_not_recorded() {
    let home = recording();
    home.run(["ECHO:one"]).finish();
    home.bub(["tape", "context"]).finish().answers();
    assert_eq!(files(&home).len(), 1);
}

#[test]
fn a_replay_writes_nothing_and_records_nothing() {
    let home = recording();
    home.plugin("upper", programs::PROMPT_UPPER);
    home.run(["ECHO:one"]).finish();
    let tape = fs::read(home.tape_file("cli:local")).expect("there is a tape");
    are_identical(&home, 1);
    assert_eq!(replay(&home, 9).code, Some(0));
    assert_eq!(fs::read(home.tape_file("cli:local")).expect("there is a tape"), tape);
    assert_eq!(files(&home).len(), 1);
}
