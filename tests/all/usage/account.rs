//! Counted use, by caller, and damage that the file survives.

use super::{answer, columns, home, shown, todays_file, tool_call, used, with_caller};
use bub_tests::{Answer, Server};
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

fn lines(home: &bub_tests::Home) -> Vec<Value> {
    let text = fs::read_to_string(todays_file(home)).expect("it is there");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

#[test]
fn a_guests_call_counts_with_its_name_and_purpose() {
    let home = with_caller("");
    let server = Server::new([used(40, 4)]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    let [line] = lines(&home).try_into().expect("one call");
    assert_eq!((&line["plugin"], &line["purpose"], &line["total"]), (&"caller".into(), &"test".into(), &44.into()));
    assert_eq!(line["session"], "cli:local");
}

#[test]
fn a_guest_that_is_a_model_is_counted_like_any_other() {
    let home = home();
    home.run(["ECHO:hello"]).finish().says("[cli:local]\nhello\n");
    let all = shown(&home, &["--by", "model"]);
    assert_eq!(all["models"][0]["model"], "offline:demo", "{all}");
    assert_eq!(all["total"]["estimated_calls"], 0, "{all}");
}

#[test]
fn every_step_counts_and_an_agent_whose_session_is_not_kept_counts_for_the_one_that_began_it() {
    let home = home();
    let server = Server::new([
        Answer::tool_call("subagent", &json!({ "prompt": "count" }).to_string()),
        used(7, 1),
        Answer::tool_call("subagent", &json!({ "prompt": "count", "session": "other" }).to_string()),
        used(5, 1),
        used(9, 1),
    ]);
    home.run(["go"]).model(&server).finish().says("[cli:local]\nhello\n");
    let all = shown(&home, &["--by", "session"]);
    assert_eq!(all["sessions"].as_array().map(Vec::len), Some(2), "{all}");
    assert_eq!((&all["sessions"][0]["session"], &all["sessions"][0]["calls"]), (&"cli:local".into(), &4.into()));
    assert_eq!((&all["sessions"][1]["session"], columns(&all["sessions"][1])), (&"other".into(), [1, 5, 2, 1, 6]));
}

#[test]
fn numbers_that_cannot_be_are_not_believed_and_guessed() {
    let cases = [
        json!({ "prompt_tokens": -5, "completion_tokens": 1, "total_tokens": 1 }),
        json!({ "prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 10_000_001 }),
        json!({ "prompt_tokens": 5, "completion_tokens": 1, "total_tokens": u64::MAX }),
        json!({ "prompt_tokens": "5", "completion_tokens": "1", "total_tokens": "6" }),
        json!({ "total_tokens": 1e300 }),
        json!({ "total_tokens": [1] }),
        json!({ "prompt_tokens": null }),
        json!({}),
    ];
    let home = home();
    for case in &cases {
        let server = Server::new([answer(case)]);
        home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
        let line = lines(&home).pop().expect("a call");
        assert_eq!(line["estimated"], true, "{case}: {line}");
        // A system prompt and the tools went there, five letters came back.
        assert!((500..20_000).contains(&line["prompt"].as_u64().unwrap_or_default()), "{case}: {line}");
        assert_eq!(line["completion"], 2, "{case}: {line}");
    }
    let all = shown(&home, &[]);
    assert_eq!(all["total"]["estimated_calls"], cases.len(), "{all}");
    let finished = home.bub(["usage"]).finish();
    assert!(finished.stdout.contains("8 calls without reported usage: tokens estimated"), "{finished}");
}

#[test]
fn numbers_that_do_not_fit_together_count_as_the_larger() {
    let home = home();
    let cases = [
        // Reasoning tokens in the total only; a total below its parts; more cached than sent.
        (json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40 }), [1, 10, 0, 5, 40]),
        (json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 0 }), [1, 10, 0, 5, 15]),
        (json!({ "prompt_tokens": 10, "prompt_tokens_details": { "cached_tokens": 99 } }), [1, 10, 10, 0, 10]),
        (json!({ "prompt_tokens": 10, "prompt_tokens_details": { "cached_tokens": -1 } }), [1, 10, 0, 0, 10]),
        (json!({ "total_tokens": 12 }), [1, 0, 0, 0, 12]),
    ];
    for (at, (case, expected)) in cases.iter().enumerate() {
        let server = Server::new([answer(case)]);
        let model = format!("openai:model-{at}");
        home.run(["hi"]).model(&server).env("BUB_MODEL", &model).finish().says("[cli:local]\nhello\n");
        let all = shown(&home, &["--by", "model"]);
        let row = all["models"].as_array().into_iter().flatten().find(|row| row["model"] == *model);
        assert_eq!(columns(row.expect("the model is there")), *expected, "{case}");
    }
}

#[test]
fn a_call_that_is_dropped_early_is_charged_by_a_guess() {
    let home = with_caller("first = true");
    let server = Server::new([Answer::stalled("Once upon")]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nOnce upon\n");
    let [line] = lines(&home).try_into().expect("one call");
    assert_eq!((&line["estimated"], &line["completion"]), (&true.into(), &3.into()), "{line}");
}

#[test]
fn a_picture_is_not_guessed_by_its_bytes() {
    let home = with_caller(&format!("content = \"data:image/png;base64,{}\"", "A".repeat(100_000)));
    let server = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    assert!(server.requests()[0].body.len() > 100_000);
    let [line] = lines(&home).try_into().expect("one call");
    assert!(line["prompt"].as_u64().is_some_and(|prompt| prompt < 100), "{line}");
}

#[test]
fn a_call_that_a_server_refuses_is_not_charged_and_its_fallback_is_counted_by_its_own_name() {
    let home = home();
    let server = Server::new([Answer::refusal("no"), used(6, 2)]);
    let run = home.run(["hi"]).model(&server).env("BUB_FALLBACK_MODELS", r#"["openai:second"]"#);
    run.finish().says("[cli:local]\nhello\n");
    let all = shown(&home, &["--by", "model"]);
    assert_eq!(all["models"].as_array().map(Vec::len), Some(1), "{all}");
    assert_eq!((&all["models"][0]["model"], columns(&all["models"][0])), (&"openai:second".into(), [1, 6, 3, 2, 8]));
}

#[test]
fn a_line_that_was_cut_off_is_passed_over_and_swallows_no_other() {
    let home = home();
    home.configure("[budget]\ntokens_per_day = 25");
    let server = Server::new([used(9, 1), used(10, 2), used(20, 3)]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    let file = todays_file(&home);
    let append = |bytes: &[u8]| {
        let mut file = OpenOptions::new().append(true).open(&file).expect("it is there");
        file.write_all(bytes).expect("it can be written");
    };
    append(b"{\"at\":\"2026-11-21T00:00:00+00:00\",\"mod");
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    assert_eq!(columns(&shown(&home, &[])["total"]), [2, 19, 9, 3, 22]);
    // Invalid lines: not JSON, another shape, impossible numbers, a line without an end.
    append(b"\xff\xfe\n[]\n{\"total\":1}\n");
    append(format!("{}\n", "x".repeat(100_000)).as_bytes());
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    assert_eq!(columns(&shown(&home, &[])["total"]), [3, 39, 19, 6, 45]);
    home.run(["hi"]).model(&server).finish().fails("45 tokens of 25");
}

#[test]
fn processes_that_write_at_the_same_time_lose_nothing() {
    let home = home();
    home.run(["ECHO:hello"]).finish().says("[cli:local]\nhello\n");
    let sessions = ["a", "b", "c", "d"];
    let started: Vec<_> = sessions.iter().map(|id| home.run(["ECHO:hello", "--session-id", id]).start()).collect();
    for run in started {
        run.finish().says("[cli:local]\nhello\n");
    }
    assert_eq!(lines(&home).len(), 5);
    assert_eq!(shown(&home, &[])["sessions"].as_array().map(Vec::len), Some(5));
}

#[test]
fn the_usage_log_is_private_and_survives_a_kill() {
    let home = home();
    let server = Server::new([tool_call("kill -9 $PPID", 30)]);
    let finished = home.run(["hi"]).model(&server).finish();
    assert_eq!(finished.code, None, "{finished}");
    assert_eq!(columns(&shown(&home, &[])["total"]), [1, 30, 0, 0, 30]);
    let mode = |path: &std::path::Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let file = todays_file(&home);
    assert_eq!((mode(&file), mode(file.parent().expect("it has one"))), (0o600, 0o700));
}
