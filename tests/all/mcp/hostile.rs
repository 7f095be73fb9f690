//! A server with bad habits: each has an outcome that the model can read, and the turn goes on.

use super::{noted, result, script, state, turn, with_server, with_web};
use crate::home;
use std::thread;

/// Habits that show in a call of a tool, and what the model is told of each; over stdio, and over HTTP.
const IN_CALLS: &[(&str, &str, Over)] = &[
    ("good", "echo: hello", Over::Both),
    ("wrong-id", "answers to requests that were not made", Over::Program),
    ("wrong-id", "ended its answer before it was whole", Over::Web),
    ("early-answers", "echo: hello", Over::Both),
    ("twice", "first", Over::Both),
    ("flood", "and no answer", Over::Both),
    ("noise", "echo: hello", Over::Both),
    ("asks", "echo: hello", Over::Both),
    ("asks-without-end", "made 65 requests instead of an answer", Over::Both),
    ("long-line", "more than 4 MiB", Over::Both),
    ("many-values", "more than 200000 values", Over::Both),
    ("deep", "more than 64 levels deep", Over::Both),
    ("not-utf8", "caf\u{fffd}", Over::Program),
    ("refuses", "refused `tools/call`: no [31myyy", Over::Both),
    ("odd-error", "refused `tools/call`:", Over::Both),
    ("failing-tool", "it did not work", Over::Both),
    ("odd-result", "", Over::Both),
    ("odd-content", "[image, image/png, about 3 bytes, not shown]", Over::Both),
    ("asks-for-input", "asks the user for something", Over::Both),
    ("long-result", "xxx", Over::Both),
    ("hangs-in-call", "did not answer `tools/call` within", Over::Both),
    ("hangs", "did not answer `initialize` within", Over::Both),
    ("hangs-after-greeting", "did not answer `tools/list` within", Over::Both),
    ("dies-in-call", "ended with code 3; it wrote: out of luck", Over::Program),
    ("ends-at-once", "ended with code 7; it wrote: no licence", Over::Program),
    ("closes-output", "closed its standard output", Over::Program),
    ("no-reading", "did not answer `tools/call` within", Over::Program),
    ("loud-errors", "echo: hello", Over::Program),
    ("ignores-term", "echo: hello", Over::Program),
    ("old-protocol", "speaks revision `1999-01-01`", Over::Both),
    ("no-object", "speaks revision ``", Over::Both),
    ("endless-list", "more than 32 pages", Over::Both),
    ("no-list", "with something that is no list", Over::Both),
    ("same-page", "echo: hello", Over::Both),
    ("html", "no answer to the request", Over::Web),
    ("empty", "no answer to the request", Over::Web),
    ("cut-stream", "ended its answer before it was whole", Over::Web),
    ("split-data", "echo: hello", Over::Web),
    ("odd-session", "gave a session id that is none", Over::Web),
    ("moved", "redirects, which is not followed", Over::Web),
    ("broken", "failed; a later attempt may succeed (status 500)", Over::Web),
    ("needs-key", "put a key for it into `headers`", Over::Web),
];

#[derive(Clone, Copy, PartialEq)]
enum Over {
    Program,
    Web,
    Both,
}

/// Runs the habits of one transport, a few at a time, and collects what differs.
fn run(over: Over, call: impl Fn(&str) -> String + Sync) {
    let habits: Vec<_> = IN_CALLS.iter().filter(|(_, _, of)| *of == over || *of == Over::Both).collect();
    let wrong: Vec<String> = thread::scope(|scope| {
        let lanes: Vec<_> = (0..3)
            .map(|lane| {
                let (habits, call) = (&habits, &call);
                scope.spawn(move || {
                    let mut wrong = Vec::new();
                    for (habit, expected, _) in habits.iter().skip(lane).step_by(3) {
                        let said = call(habit);
                        if !said.contains(expected) || said.chars().any(|c| c.is_control() && c != '\n') {
                            wrong.push(format!("`{habit}`: expected `{expected}`, got `{said:.400}`"));
                        }
                    }
                    wrong
                })
            })
            .collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("each call has a result")).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Servers that never answer are not waited for as long as those that a busy machine makes slow.
fn time(habit: &str) -> &'static str {
    let is_waited_for = IN_CALLS.iter().any(|(known, said, _)| *known == habit && said.contains("did not answer"));
    if is_waited_for || habit == "wrong-id" { "timeout_seconds = 4" } else { "timeout_seconds = 60" }
}

const ECHO: &str = r#"{"say":"hello"}"#;

#[test]
fn each_bad_habit_of_a_program_has_an_outcome_and_the_turn_goes_on() {
    run(Over::Program, |habit| result(&with_server(habit, time(habit)), "mcp_it_echo", ECHO).0);
}

#[test]
fn each_bad_habit_of_an_address_has_an_outcome_and_the_turn_goes_on() {
    run(Over::Web, |habit| {
        let (home, _web) = with_web(habit, time(habit));
        result(&home, "mcp_it_echo", ECHO).0
    });
}

#[test]
fn sampling_roots_and_elicitation_are_answered_with_an_error_and_a_ping_with_a_result() {
    let home = with_server("asks", "");
    result(&home, "mcp_it_echo", ECHO);
    let replies = noted(&home, "replies");
    assert_eq!(replies.len(), 5, "{replies:?}");
    for (reply, asked) in replies.iter().zip(["sampling/createMessage", "roots/list", "elicitation/create"]) {
        assert!(reply.contains("-32601") && reply.contains(asked), "{reply}");
    }
    assert!(replies[3].contains("\"result\":{}"), "{}", replies[3]);
    assert!(replies[4].contains("\"message\":\"`]0;x` is not offered"), "{}", replies[4]);
    let (home, _web) = with_web("asks", "");
    result(&home, "mcp_it_echo", ECHO);
    assert_eq!(noted(&home, "replies").len(), 5);
}

#[test]
fn a_server_that_dies_in_each_call_is_started_again_with_a_growing_pause() {
    let home = with_server("dies-in-call", "");
    let calls = vec![("mcp_it_echo", ECHO); 7];
    let begun = std::time::Instant::now();
    let (finished, requests) = turn(&home, &calls, &["--allow", "run"]);
    assert!(finished.stdout.ends_with("done\n"), "{finished}");
    let said = super::results(&requests);
    assert!(said[0].contains("ended with code 3"), "{said:?}");
    // Half a second, one, two; the next pause is too long to be waited for.
    assert_eq!(noted(&home, "calls").len(), 4, "{said:?}");
    assert!(begun.elapsed().as_millis() >= 3_500, "the pauses were kept");
    assert!(said[4].contains("has ended 4 times; it is started again in"), "{said:?}");
}

#[test]
fn names_of_tools_cannot_take_those_of_others() {
    let home = home();
    let script = script();
    let added = home.bub(["mcp", "add", "it", "--", "python3", &script, "shadow"]).finish();
    assert_eq!(added.code, Some(0), "{added}");
    for name in ["mcp.it.fs_read ", "mcp.it.bash ", "mcp.it.read_resource ", "mcp.it.a_b "] {
        assert!(added.stdout.contains(name), "{name}: {added}");
    }
    assert!(added.stdout.contains("left out: `a b`: its name"), "{added}");
    assert!(added.stdout.contains("left out: tool `a_b`: the name `mcp.it.a_b` is taken"), "{added}");
    let long = added.stdout.lines().find(|line| line.contains("mcp.it.xxx")).expect("a long name is cut");
    assert_eq!(long.split_whitespace().next().map(str::len), Some(64), "{long}");
    let (finished, requests) = turn(&home, &[("fs_read", r#"{"path":"absent.txt"}"#)], &[]);
    let said = super::results(&requests).pop().unwrap();
    assert!(said.contains("absent.txt") && !said.contains("fs.read:"), "{finished}: {said}");
}

#[test]
fn text_that_cannot_be_seen_is_not_in_what_is_accepted() {
    let home = home();
    let script = script();
    let added = home.bub(["mcp", "add", "it", "--", "python3", &script, "hidden-text"]).finish();
    assert_eq!(added.code, Some(0), "{added}");
    let is_hidden = |c: char| matches!(c, '\u{202e}' | '\u{200b}' | '\u{1b}' | '\u{e0000}'..='\u{e007f}');
    assert!(!added.stdout.contains(is_hidden), "{added}");
    let (_, requests) = turn(&home, &[], &[]);
    let tools = requests[0]["tools"].as_array().unwrap();
    let echo = tools.iter().find(|tool| tool["function"]["name"] == "mcp_it_echo").unwrap();
    let about = echo["function"]["description"].as_str().unwrap();
    assert!(about.starts_with("[server it] Echo[31m it.xxx") && !about.contains(is_hidden), "{about}");
    assert!(about.chars().count() < 2_100, "it is cut");
}

#[test]
fn tools_that_cannot_be_used_are_left_out_with_the_reason() {
    let home = home();
    let script = script();
    let added = home.bub(["mcp", "add", "it", "--", "python3", &script, "bad-tools"]).finish();
    assert_eq!(added.code, Some(0), "{added}");
    for line in [
        "left out: ``: its name",
        "left out: `listed`: its schema is no object",
        "left out: tool `text`:",
        "left out: tool `far`:",
        "left out: `wide`: its schema is longer than 64 KiB",
        "left out: a second `echo`",
        "left out: `bell`: its name",
    ] {
        assert!(added.stdout.contains(line), "{line}: {added}");
    }
    assert!(added.stdout.contains("mcp.it.echo"), "{added}");
    let added = home.bub(["mcp", "add", "many", "--", "python3", &script, "many-tools"]).finish();
    assert!(added.code == Some(0) && added.stdout.contains("left out: all after the first 128"), "{added}");
    assert!(added.stdout.contains("130 tools"), "{added}");
}

#[test]
fn one_bad_server_does_not_stop_another() {
    let home = with_server("dies-in-call", "");
    let state = state(&home);
    let script = script();
    let words = ["mcp", "add", "other", "--", "python3", &script, "--state", state.to_str().unwrap(), "good"];
    assert_eq!(home.bub(words).finish().code, Some(0));
    let calls = [("mcp_it_echo", ECHO), ("mcp_other_echo", ECHO), ("mcp_it_echo", ECHO), ("mcp_other_echo", ECHO)];
    let (finished, requests) = turn(&home, &calls, &["--allow", "run"]);
    let said = super::results(&requests);
    assert_eq!((said[1].as_str(), said[3].as_str()), ("echo: hello", "echo: hello"), "{finished}");
    assert!(said[2].contains("ended with code 3"), "{said:?}");
}
