//! `budget.tokens_per_day`.

use super::{home, shown, todays_file, tool_call, used, with_caller};
use bub_tests::{Home, Server, programs};
use std::fs;

const SPENT: &str = "today's budget is spent: 110 tokens of 100; to go on before midnight, raise `tokens_per_day` in `[budget]` of config.toml";

/// A home that may use 100 tokens a day and has used 110: the last answer may go over.
fn home_that_has_spent() -> Home {
    let home = home();
    home.configure("[budget]\ntokens_per_day = 100");
    let server = Server::new([used(100, 10)]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    home
}

fn finding(home: &Home) -> (String, String) {
    let finished = home.bub(["doctor"]).finish();
    let line = finished.stdout.lines().find(|line| line.contains(" budget: ")).unwrap_or_default().to_owned();
    let (state, text) = line.split_once("budget: ").unwrap_or_default();
    (state.trim().to_owned(), text.to_owned())
}

#[test]
fn once_the_days_budget_is_spent_no_model_is_called() {
    let home = home_that_has_spent();
    let server = Server::new([used(1, 1)]);
    let finished = home.run(["hi", "--session-id", "other"]).model(&server).finish();
    assert_eq!(finished.stderr.trim_end().lines().count(), 1, "{finished}");
    finished.fails(SPENT);
    assert!(server.requests().is_empty());
    let shown = home.bub(["usage", "--by", "day"]).finish();
    assert!(shown.stdout.ends_with("\ntoday: 110 tokens of 100 (budget.tokens_per_day)\n"), "{shown}");

    home.configure("[budget]\ntokens_per_day = 111");
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
}

#[test]
fn a_guest_is_refused_as_well_and_reads_why() {
    let home = with_caller("");
    home.configure("[budget]\ntokens_per_day = 100");
    let server = Server::new([used(100, 10)]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    let finished = home.run(["hi"]).model(&server).finish();
    assert!(finished.stdout.contains(&format!("Denied: {SPENT}")), "{finished}");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn turns_without_a_model_call_still_work() {
    let home = home_that_has_spent();
    home.run([",fs.write a.txt hello"]).finish();
    home.run([",fs.read a.txt"]).finish().says("[cli:local]\nhello\n");
    home.scripted("cache", programs::SCRIPTED, r#"before-llm-call = { answer = "from a cache" }"#);
    let server = Server::new([]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nfrom a cache\n");
    assert_eq!(shown(&home, &[])["total"]["calls"], 1, "an answer without a model costs nothing");
}

#[test]
fn two_processes_spend_out_of_one_budget() {
    let home = home();
    home.configure("[budget]\ntokens_per_day = 100");
    let first = Server::new([tool_call("touch asked; while [ ! -e go ]; do sleep 0.01; done", 10), used(1, 1)]);
    let waiting = home.run(["hi", "--session-id", "a", "--allow", "run"]).model(&first).start();
    let asked = home.workspace().join("asked");
    let begun = std::time::Instant::now();
    while !asked.exists() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "the tool does not run");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // It has used 10, so that another process may go on.
    let second = Server::new([used(90, 10)]);
    home.run(["hi", "--session-id", "b"]).model(&second).finish().says("[cli:local]\nhello\n");
    fs::write(home.workspace().join("go"), "").expect("it can be written");
    waiting.finish().fails("110 tokens of 100");
    assert_eq!(first.requests().len(), 1);
}

#[test]
fn yesterdays_tokens_are_not_todays() {
    let home = home_that_has_spent();
    let today = todays_file(&home);
    fs::rename(&today, today.with_file_name("2020-02-29.jsonl")).expect("it is there");
    let server = Server::new([used(1, 1)]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
}

#[test]
fn an_account_that_cannot_be_read_is_no_permission_to_spend() {
    let home = home_that_has_spent();
    let today = todays_file(&home);
    fs::remove_file(&today).expect("it is there");
    fs::create_dir(&today).expect("it can be made");
    let server = Server::new([used(1, 1)]);
    home.run(["hi"]).model(&server).finish().fails("what was spent today cannot be read in `");
    assert!(server.requests().is_empty());
    assert_eq!(finding(&home).0, "wrong");
    home.bub(["usage"]).finish().fails("what models have used cannot be read in `");
}

#[test]
fn usage_that_cannot_be_logged_counts_until_the_process_ends() {
    let home = home();
    home.configure("[budget]\ntokens_per_day = 100");
    // A directory that is not there and cannot be made.
    std::os::unix::fs::symlink("/nowhere/at/all", home.bub_home().join("usage")).expect("it can be made");
    let server = Server::new([tool_call("true", 110), used(1, 1)]);
    let finished = home.run(["hi", "--allow", "run"]).model(&server).finish();
    finished.fails("110 tokens of 100").mentions("what model `openai:fake-model` used is not written down in `");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn doctor_reports_the_remaining_budget() {
    assert_eq!(finding(&home()), (String::new(), String::new()));
    let home = home_that_has_spent();
    let (state, text) = finding(&home);
    assert!(state == "note" && text.starts_with("today's budget is used up: 110 tokens of 100"), "{state} {text}");
    home.configure("[budget]\ntokens_per_day = 1000");
    assert_eq!(finding(&home), ("ok".to_owned(), "110 of 1000 tokens are used today".to_owned()));
}

#[test]
fn a_budget_of_nothing_and_other_keys_are_refused() {
    for (line, word) in
        [("tokens_per_day = 0", "budget.tokens_per_day"), ("tokens_per_day = -1", "-1"), ("tokens = 1", "`tokens`")]
    {
        let home = home();
        home.configure(&format!("[budget]\n{line}"));
        home.run(["ECHO:hi"]).finish().refuses(&[word]);
    }
}
