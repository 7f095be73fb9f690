//! The output of `bub-wasm usage` and `,usage`.

use super::{columns, home, shown, todays_file, used};
use bub_tests::{Answer, Home, Server};
use serde_json::Value;
use std::fs;

/// A home in which two sessions have called two models: 110, 22 and 33 tokens.
fn home_with_three_calls() -> Home {
    let home = home();
    let server = Server::new([used(100, 10), used(20, 2), used(30, 3)]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    home.run(["hi", "--session-id", "other"]).model(&server).finish().says("[cli:local]\nhello\n");
    let run = home.run(["hi", "--session-id", "other"]).model(&server);
    run.env("BUB_MODEL", "openai:another").finish().says("[cli:local]\nhello\n");
    home
}

fn names<'a>(rows: &'a Value, key: &str) -> Vec<&'a str> {
    rows.as_array().into_iter().flatten().map(|row| row[key].as_str().unwrap_or_default()).collect()
}

#[test]
fn tokens_are_shown_by_model_session_and_day() {
    let home = home_with_three_calls();
    let all = shown(&home, &[]);
    assert_eq!(columns(&all["total"]), [3, 150, 75, 15, 165], "{all}");
    assert_eq!(names(&all["models"], "model"), ["openai:fake-model", "openai:another"], "{all}");
    assert_eq!(columns(&all["models"][0]), [2, 120, 60, 12, 132], "{all}");
    assert_eq!(columns(&all["models"][1]), [1, 30, 15, 3, 33], "{all}");
    assert_eq!(names(&all["sessions"], "session"), ["cli:local", "other"], "{all}");
    assert_eq!(columns(&all["sessions"][1]), [2, 50, 25, 5, 55], "{all}");
    assert_eq!(all["sessions"][0]["workspace"], home.workspace().to_str().expect("it is UTF-8"), "{all}");
    assert_eq!(names(&all["days"], "day"), [all["last"].as_str().unwrap_or_default()], "{all}");
    assert_eq!(columns(&all["days"][0]), [3, 150, 75, 15, 165], "{all}");
    assert_eq!((&all["budget"]["tokens_per_day"], &all["budget"]["used_today"]), (&Value::Null, &165.into()), "{all}");

    let by_session = shown(&home, &["--by", "session"]);
    assert_eq!(by_session["sessions"], all["sessions"]);
    assert!(by_session["models"].is_null() && by_session["days"].is_null(), "{by_session}");
}

#[test]
fn tables_have_eighty_columns_and_a_long_name_is_above_its_numbers() {
    let home = home_with_three_calls();
    let server = Server::new([used(4_000_000, 0)]);
    let run = home.run(["hi"]).model(&server).env("BUB_MODEL", "openai:a-model-with-a-long-name-2026-11-21");
    run.finish().says("[cli:local]\nhello\n");
    let finished = home.bub(["usage"]).finish();
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{finished}");
    let at = lines.iter().position(|line| *line == "openai:a-model-with-a-long-name-2026-11-21");
    let below = at.and_then(|at| lines.get(at + 1)).expect("the name stands alone");
    let words: Vec<&str> = below.split_whitespace().collect();
    assert_eq!(words, ["1", "4,000,000", "2,000,000", "0", "4,000,000"], "{finished}");
    for title in ["tokens by model, ", "tokens by session, ", "tokens by day, "] {
        assert_eq!(lines.iter().filter(|line| line.starts_with(title)).count(), 1, "{finished}");
    }
    let total = "all                            4   4,000,150   2,000,075          15   4,000,165";
    assert!(lines.contains(&total), "{finished}");

    let by_day = home.bub(["usage", "--by", "day"]).finish();
    assert_eq!(by_day.stdout.lines().count(), 3, "{by_day}");
}

#[test]
fn only_the_requested_days_are_counted() {
    let home = home_with_three_calls();
    let today = todays_file(&home);
    let old = fs::read_to_string(&today).expect("it is there").lines().next().expect("a line").to_owned();
    fs::write(today.with_file_name("2020-02-29.jsonl"), old + "\n").expect("it can be written");
    assert_eq!(columns(&shown(&home, &[])["total"])[0], 3);
    let all = shown(&home, &["--days", "36500"]);
    assert_eq!(columns(&all["total"])[0], 4, "{all}");
    assert_eq!(all["days"][1]["day"], "2020-02-29", "{all}");
    for days in ["0", "36501", "-1"] {
        assert_eq!(home.bub(["usage", "--days", days]).finish().code, Some(2));
    }
}

#[test]
fn a_home_without_model_calls_is_reported() {
    let home = home();
    let finished = home.bub(["usage"]).finish().says("");
    finished.mentions("no model was called from ");
    assert_eq!(columns(&shown(&home, &[])["total"]), [0; 5]);
}

#[test]
fn the_command_reports_the_usage_of_the_session_and_the_day() {
    let home = home_with_three_calls();
    let row = "openai:fake-model: 110 (prompt 100, of it cached 50; completion 10)";
    let rows = "  openai:fake-model: 132 (prompt 120, of it cached 60; completion 12)\n  openai:another: 33 (prompt 30, of it cached 15; completion 3)";
    home.run([",usage"]).finish().says(&format!(
        "[cli:local]\nthis session, in 30 days: 110 tokens in 1 call\n  {row}\nall sessions, today: 165 tokens in 3 calls\n{rows}\n"
    ));
    home.configure("[budget]\ntokens_per_day = 1000");
    home.run([",usage", "--session-id", "new"]).finish().says(&format!(
        "[cli:local]\nthis session, in 30 days: 0 tokens in 0 calls\nall sessions, today: 165 tokens in 3 calls, and a day's budget is 1000\n{rows}\n"
    ));
    home.configure(
        r#"[plugins.builtin]
grants = ["hook:*", "tape:read", "tape:append", "tools:*"]"#,
    );
    home.run([",usage"]).finish().fails("bub-wasm plugin grant builtin usage");
}

#[test]
fn a_session_is_one_of_its_workspace() {
    let home = home_with_three_calls();
    let elsewhere = home.bub_home().with_file_name("elsewhere");
    fs::create_dir(&elsewhere).expect("it can be made");
    let dir = elsewhere.to_str().expect("it is UTF-8");
    let server = Server::new([used(8, 1)]);
    home.bub(["-w", dir, "run", "hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    let all = shown(&home, &["--by", "session"]);
    assert_eq!(names(&all["sessions"], "session"), ["cli:local", "other", "cli:local"], "{all}");
    let finished = home.bub(["usage", "--by", "session"]).finish();
    assert!(finished.stdout.lines().any(|line| line == format!("cli:local in {dir}")), "{finished}");
    let finished = home.bub(["-w", dir, "run", ",usage"]).finish();
    assert!(finished.stdout.contains("this session, in 30 days: 9 tokens in 1 call\n"), "{finished}");
}

#[test]
fn names_are_clipped_and_escaped() {
    let home = home();
    let server = Server::new([Answer::text("hello")]);
    let session = format!("\u{1b}[2J{}", "s".repeat(10_000));
    home.run(["hi", "--session-id", &session]).model(&server).finish().says("[cli:local]\nhello\n");
    let all = shown(&home, &[]);
    assert_eq!(all["sessions"][0]["session"].as_str().map(|id| id.chars().count()), Some(200), "{all}");
    let finished = home.bub(["usage"]).finish();
    assert!(!finished.stdout.contains('\u{1b}'), "{finished}");
    // Found again under the name that is clipped.
    let finished = home.run([",usage", "--session-id", &session]).finish();
    assert!(
        finished.stdout.contains("this session, in 30 days: ") && !finished.stdout.contains("0 calls"),
        "{finished}"
    );
}
