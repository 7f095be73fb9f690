//! Attachments on the tape, and how they are shown.

use super::{PNG, data_url, encoded, home_with_picture, media_of, say};
use bub_tests::{Answer, Home, Server, tape};
use serde_json::{Value, json};

/// A turn about a picture, and the tape that it left.
fn tape_with_picture(home: &Home) -> Vec<Value> {
    let server = Server::new([Answer::text("a dot")]);
    say(home, &server, "look", &["dot.png"]).says("[cli:local]\na dot\n");
    tape::read(&home.tape_file("cli:local"))
}

#[test]
fn the_message_keeps_its_parts_and_no_other_entry_has_them() {
    let home = home_with_picture();
    let tape = tape_with_picture(&home);
    let (messages, others): (Vec<&Value>, Vec<&Value>) =
        tape.iter().partition(|entry| entry["kind"] == "message" && entry["payload"]["role"] == "user");
    assert_eq!(messages.len(), 1);
    let picture = json!({"type": "image_url", "image_url": {"url": data_url("image/png", PNG)}});
    assert_eq!(messages[0]["payload"]["content"][1], picture);
    for entry in others {
        let text = entry.to_string();
        assert!(!text.contains(&encoded(PNG)) && !text.contains("base64") && !text.contains("{{media"), "{text}");
    }
    let start = tape.iter().find(|entry| entry["payload"]["name"] == "loop.start").expect("there is one");
    assert!(start["payload"]["data"]["prompt"].as_str().is_some_and(|prompt| prompt.ends_with("look")), "{start}");
}

#[test]
fn the_next_turn_sees_attachments_of_an_earlier_one() {
    let home = home_with_picture();
    tape_with_picture(&home);
    let server = Server::new([Answer::text("as I said")]);
    say(&home, &server, "what was it?", &[]).says("[cli:local]\nas I said\n");
    let expected = json!({"type": "image_url", "image_url": {"url": data_url("image/png", PNG)}});
    assert_eq!(media_of(&server.requests()[0].messages()), [expected]);
}

/// An attachment may be the cause of the failure, and would fail every later turn.
#[test]
fn a_failed_turn_keeps_the_text_and_describes_the_attachments() {
    let home = home_with_picture();
    let server = Server::new([Answer::refusal("this model has no eyes"), Answer::text("fine")]);
    say(&home, &server, "look", &["dot.png"]).fails("no eyes");
    say(&home, &server, "never mind", &[]).says("[cli:local]\nfine\n");
    let messages = server.requests()[1].messages();
    let earlier = messages[1]["content"].as_str().expect("it is a text");
    assert!(earlier.ends_with("look\n[image/png, 67 B]"), "{earlier}");
}

#[test]
fn media_on_a_tape_are_described_without_their_data() {
    let home = home_with_picture();
    tape_with_picture(&home);
    for command in [["tape", "show", "--full"], ["tape", "search", "look"], ["tape", "export", "--format=markdown"]] {
        let finished = home.bub(command).finish();
        assert_eq!(finished.code, Some(0), "{finished}");
        assert!(finished.stdout.contains("[image/png, 67 B]"), "{finished}");
        assert!(!finished.stdout.contains("base64"), "{finished}");
    }
}

/// Three letters stand somewhere in any larger picture.
#[test]
fn a_search_does_not_look_into_the_data() {
    let within = encoded(PNG).get(20..28).expect("it is longer").to_owned();
    for store in ["files", "sqlite:tapes.db"] {
        let home = home_with_picture();
        home.configure(&format!("tape_store = \"{store}\""));
        let server = Server::new([Answer::text("a dot")]);
        say(&home, &server, "look", &["dot.png"]).says("[cli:local]\na dot\n");
        let finished = home.bub(["tape", "search", &within]).finish().says("");
        finished.mentions("nothing was found");
        let finished = home.bub(["tape", "search", "image/png"]).finish();
        assert!(finished.stdout.contains("[image/png, 67 B]"), "{finished}");
    }
}

#[test]
fn the_context_that_is_shown_holds_the_messages_for_the_model() {
    let home = home_with_picture();
    tape_with_picture(&home);
    let finished = home.bub(["tape", "context"]).finish();
    assert!(finished.stdout.contains(&data_url("image/png", PNG)), "{finished}");
}

#[test]
fn a_search_by_the_model_returns_no_media_data() {
    let home = home_with_picture();
    tape_with_picture(&home);
    let search = Answer::tool_call("tape_search", r#"{"query": "look"}"#);
    let server = Server::new([search, Answer::text("found")]);
    say(&home, &server, "find it", &[]).says("[cli:local]\nfound\n");
    let messages = server.requests()[1].messages();
    let result = messages.iter().find(|message| message["role"] == "tool").expect("the call has a result");
    let result = result["content"].as_str().expect("it is a text");
    assert!(result.contains("image_url") && !result.contains(&encoded(PNG)), "{result}");
}
