//! The recorded runs of the original, repeated: the same commands print the same, leave the same entries on the tape
//! and send the same requests, but for what differs on purpose.

use crate::home;
use bub_tests::golden::Case;
use std::fs;

#[test]
fn plain() {
    Case::new("plain").is_repeated_in(&home());
}

#[test]
fn plain_two_turns() {
    Case::new("plain_two_turns").is_repeated_in(&home());
}

#[test]
fn tool_call() {
    Case::new("tool_call").is_repeated_in(&home());
}

#[test]
fn tool_call_next_turn() {
    Case::new("tool_call_next_turn").is_repeated_in(&home());
}

#[test]
fn tool_handoff() {
    let case = Case::new("tool_handoff").behind_anchor(3, "phase-1").behind_anchor(4, "phase-1");
    case.is_repeated_in(&home());
}

#[test]
fn overflow() {
    let case = Case::new("overflow").behind_anchor(3, "auto_handoff/context_overflow");
    case.is_repeated_in(&home());
}

#[test]
fn err500() {
    Case::new("err500").is_repeated_in(&home());
}

#[test]
fn max_steps() {
    Case::new("max_steps").is_repeated_in(&home());
}

#[test]
fn options() {
    let server = Case::new("options").is_repeated_in(&home());
    assert_eq!(server.requests()[0].header("x-title"), Some("Bub"), "BUB_CLIENT_ARGS sets headers");
}

#[test]
fn reasoning() {
    Case::new("reasoning").is_repeated_in(&home());
}

#[test]
fn openrouter() {
    Case::new("openrouter").is_repeated_in(&home());
}

/// The tools are offered to the model under its names for them.
#[test]
fn tools_are_offered_under_the_models_names() {
    let home = home();
    let server = Case::new("tool_call").is_repeated_in(&home);
    for request in server.requests() {
        let body = request.json();
        let tools = body["tools"].as_array().expect("the request offers tools");
        let names: Vec<_> = tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap_or_default()).collect();
        for name in ["bash", "fs_write", "tape_handoff", "tape_info"] {
            assert!(names.contains(&name), "`{name}` is not among {names:?}");
        }
        assert!(tools.iter().all(|tool| tool["type"] == "function" && tool["function"]["parameters"].is_object()));
    }
}

#[test]
fn a_tape_that_bub_wrote_is_continued_and_every_line_stays_as_it_was() {
    let case = Case::new("plain_two_turns");
    let home = home();
    let theirs =
        fs::read_dir(case.tapes_dir(1)).expect("the case has tapes").next().expect("one").expect("it can be read");
    fs::create_dir_all(home.tapes_dir()).expect("the home can be written");
    let ours = home.tape_file("cli:local");
    fs::copy(theirs.path(), &ours).expect("the tape can be copied");
    let before = fs::read_to_string(&ours).expect("it can be read");

    let server = bub_tests::Server::new(case.answers().into_iter().skip(1));
    home.run(["ECHO:second answer"]).model(&server).finish().says("[cli:local]\nsecond answer\n");

    let after = fs::read_to_string(&ours).expect("it can be read");
    assert!(after.starts_with(&before), "a line changed:\n{before}\nis now\n{after}");
    let ids: Vec<_> = bub_tests::tape::read(&ours).iter().map(|entry| entry["id"].as_u64()).collect();
    assert_eq!(ids, (1..=ids.len() as u64).map(Some).collect::<Vec<_>>(), "ids go on where they were");
    let workspace = home.workspace();
    case.request_is_repeated(2, &server.requests()[0].json(), &[workspace.to_str().expect("the path is UTF-8")]);
}
