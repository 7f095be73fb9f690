//! Many tools: the request of a turn contains a few, and a search finds the others. The tools are those of
//! `tests/mcp/catalogue.py`, 50 for each of ten services.

use crate::home;
use bub_tests::{Answer, Finished, Home, Server};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::OnceLock;
use tiktoken_rs::o200k_base_singleton;

fn script() -> String {
    format!("{}/../../tests/mcp/catalogue.py", env!("CARGO_MANIFEST_DIR"))
}

fn asked(option: &str) -> String {
    let output = Command::new("python3").args([&script(), option]).output().expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text")
}

/// The tables of the configuration, and the accepted lists by the name of their file.
type Accepted = (BTreeMap<String, String>, BTreeMap<String, String>);

/// All services, as `mcp add` accepts them.
fn accepted() -> &'static Accepted {
    static ACCEPTED: OnceLock<Accepted> = OnceLock::new();
    ACCEPTED.get_or_init(|| {
        let home = home();
        for service in asked("--services").lines() {
            let added = home.bub(["mcp", "add", service, "--", "python3", &script(), service]).finish();
            assert_eq!(added.code, Some(0), "{added}");
        }
        let text = fs::read_to_string(home.bub_home().join("config.toml")).expect("it is there");
        let config: toml::Table = text.parse().expect("it is TOML");
        let tables = config["mcp"].as_table().expect("a table").iter();
        let tables =
            tables.map(|(name, table)| (name.clone(), format!("[mcp.{name}]\n{}", table.as_table().expect("a table"))));
        let list =
            |name: &String| fs::read_to_string(home.bub_home().join(format!("mcp/{name}.json"))).expect("a list");
        let tables: BTreeMap<_, _> = tables.collect();
        let lists = tables.keys().map(|name| (name.clone(), list(name))).collect();
        (tables, lists)
    })
}

/// A home with the tools of that many services. `more` is further TOML at the top.
fn with_services(count: usize, more: &str) -> Home {
    let home = home();
    let (tables, lists) = accepted();
    let tables: Vec<&str> = tables.values().take(count).map(String::as_str).collect();
    home.configure(&format!("{more}\n{}", tables.join("\n")));
    fs::create_dir_all(home.bub_home().join("mcp")).expect("the home can be written");
    for (name, list) in lists.iter().take(count) {
        fs::write(home.bub_home().join(format!("mcp/{name}.json")), list).expect("the home can be written");
    }
    home
}

/// A turn with these answers of the model, and the requests that it got.
fn turn(home: &Home, answers: Vec<Answer>, arguments: &[&str]) -> (Finished, Vec<Value>) {
    let server = Server::new(answers);
    let finished = home.run(["do it"].into_iter().chain(arguments.iter().copied())).model(&server).finish();
    (finished, server.requests().iter().map(|request| request.json()).collect())
}

fn offered(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().expect("a name").to_owned()).collect()
}

/// The results of all calls, as the model reads them.
fn results(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().expect("messages").iter();
    let results = messages.filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
}

fn system(request: &Value) -> &str {
    request["messages"][0]["content"].as_str().unwrap_or_default()
}

fn search(words: &str) -> Answer {
    Answer::tool_call("tool_search", &json!({ "words": words }).to_string())
}

fn call(name: &str, arguments: &Value) -> Answer {
    Answer::tool_call("tool_call", &json!({ "name": name, "arguments": arguments }).to_string())
}

fn done() -> Answer {
    Answer::text("done")
}

#[test]
fn tools_that_take_a_small_share_of_the_context_are_all_in_the_request() {
    for count in [0, 1] {
        let (finished, requests) = turn(&with_services(count, ""), vec![done()], &[]);
        assert_eq!(finished.code, Some(0), "{finished}");
        let names = offered(&requests[0]);
        assert_eq!(names.iter().filter(|name| name.starts_with("mcp_")).count(), count * 50, "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("tool_")), "{names:?}");
        assert!(!system(&requests[0]).contains("tool_search"));
    }
}

#[test]
fn above_the_share_the_model_gets_the_tools_of_the_program_and_a_search() {
    let (_, all) = turn(&with_services(0, ""), vec![done()], &[]);
    let (finished, requests) = turn(&with_services(10, ""), vec![done()], &[]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let mut names = offered(&requests[0]);
    names.retain(|name| name != "tool_search" && name != "tool_call");
    assert_eq!(names.len() + 2, offered(&requests[0]).len());
    assert_eq!(names, offered(&all[0]), "all tools of the program itself");
    let line = "500 more tools are found by tool_search: mcp.billing (50), mcp.calendar (50)";
    assert!(system(&requests[0]).contains(line), "{}", system(&requests[0]));
}

#[test]
fn a_tool_that_was_found_is_called_by_its_own_rules_and_offered_from_the_next_turn_on() {
    let home = with_services(10, "");
    let refund = "mcp_billing_create_refund";
    let calls = || vec![search("give a customer money back"), call(refund, &json!({ "payment": "p1" })), done()];
    let (finished, requests) = turn(&home, calls(), &["--allow", "run"]);
    finished.says("[cli:local]\ndone\n");
    let last = requests.last().expect("a request");
    let results = results(last);
    assert!(results[0].starts_with("The best ") && results[0].contains(&format!("{refund}: ")), "{}", results[0]);
    assert!(results[0].contains(r#""payment""#), "its schema: {}", results[0]);
    assert_eq!(results[1], r#"billing: {"arguments": {"payment": "p1"}, "name": "create_refund"}"#);
    for request in &requests {
        assert_eq!(request["tools"], requests[0]["tools"], "the same in each request of a turn");
        assert_eq!(system(request), system(&requests[0]));
    }
    let tape = fs::read_to_string(home.tape_file("cli:local")).expect("a tape");
    assert!(tape.contains("tools.found") && tape.contains("tool:mcp.billing.create_refund"), "{tape}");
    assert!(tape.contains("process:billing"), "the grant of the tool itself was used: {tape}");

    let (_, next) = turn(&home, vec![Answer::tool_call(refund, r#"{"payment":"p2"}"#), done()], &["--allow", "run"]);
    let names = offered(&next[0]);
    assert!(names.contains(&refund.to_owned()), "{names:?}");
    assert_eq!(names[..offered(&requests[0]).len()], offered(&requests[0]), "what was there before comes first");
    assert!(self::results(&next[1]).last().is_some_and(|result| result.contains("p2")));
    // Another session has not searched.
    let (_, other) = turn(&home, vec![done()], &["--session-id", "cli:other"]);
    assert!(!offered(&other[0]).contains(&refund.to_owned()));
}

#[test]
fn a_call_through_the_search_needs_the_same_approval_as_a_direct_one() {
    let home = with_services(10, "");
    let read = call("mcp_mail_list_message", &json!({}));
    let send = call("mcp_mail_create_message", &json!({ "to": "eve" }));
    // The first result is a stranger's text, which taints the turn.
    let (finished, requests) = turn(&home, vec![read, send, done()], &[]);
    assert_eq!(finished.code, Some(3), "{finished}");
    let results = results(requests.last().expect("a request"));
    assert!(results[0].starts_with("mail: "), "{}", results[0]);
    let refused = results.get(1).map(String::as_str).unwrap_or_default();
    assert!(refused.contains("`mcp_mail_create_message` would run, which needs the owner's word"), "{refused}");
}

#[test]
fn calls_that_name_no_tool_are_errors_that_the_model_can_mend() {
    let home = with_services(10, "");
    let answers = vec![
        search("  "),
        search("zzzz qqqq"),
        call("no_such_tool", &json!({})),
        call("tool_call", &json!({})),
        Answer::tool_call("tool_call", r#"{"arguments": {}}"#),
        Answer::tool_call("tool_call", "not JSON"),
        call("mcp_billing_get_refund", &json!({ "id": 7 })),
        search(&"\u{202e}\u{1b}[2J</available_tools>".repeat(500)),
        done(),
    ];
    let (finished, requests) = turn(&home, answers, &["--allow", "run"]);
    assert!(finished.stdout.ends_with("done\n") && !finished.stdout.contains('\u{1b}'), "{finished}");
    let results = results(requests.last().expect("a request"));
    for (result, said) in results.iter().zip([
        "`words` is empty",
        "None of the ",
        "no_such_tool",
        "is not the name of a tool",
        "name",
        "JSON",
        "string",
        "",
    ]) {
        assert!(result.contains(said), "{said}: {result}");
    }
}

#[test]
fn a_report_of_the_next_request_counts_the_tools_that_are_offered() {
    let weight = |home: &Home| -> u64 {
        let sides = ["tape", "context", "--selector", "builtin", "--against", "context-builder", "--json"];
        let report = home.bub(sides).finish();
        let report: Value = serde_json::from_str(&report.stdout).unwrap_or_else(|_| panic!("{report}"));
        report["sides"][0]["tokens"]["tools"].as_u64().unwrap_or_else(|| panic!("{report:#}"))
    };
    let none = weight(&with_services(0, ""));
    let many = weight(&with_services(10, ""));
    assert!(none > 500 && many > none && many < none + 1000, "{many} beside {none}");
    assert!(weight(&with_services(10, "tool_budget = 100")) > 20_000);
}

#[test]
fn the_share_and_the_tools_that_are_never_deferred_are_configured() {
    let home = with_services(1, "tool_budget = 0\ntools_always = [\"bash\", \"mcp.billing.list_*\"]");
    let (_, requests) = turn(&home, vec![done()], &[]);
    let names = offered(&requests[0]);
    assert_eq!(names.iter().filter(|name| name.starts_with("mcp_billing_list_")).count(), 10, "{names:?}");
    assert_eq!(names.len(), 13, "{names:?}");
    let (_, all) = turn(&with_services(10, "tool_budget = 100"), vec![done()], &[]);
    assert!(offered(&all[0]).len() > 500);
    let (_, small) = turn(&with_services(1, "[windows]\nfake-model = 16000"), vec![done()], &[]);
    assert!(offered(&small[0]).contains(&"tool_search".to_owned()), "a tenth of a small context");
    for (wrong, said) in
        [("tool_budget = 101", "from 0 to 100, not `101`"), ("tools_always = 7", "expected a sequence")]
    {
        let home = crate::home();
        home.configure(wrong);
        home.run(["hi"]).finish().refuses(&[said]);
    }
    crate::home().run(["hi"]).env("BUB_TOOL_BUDGET", "300").finish().refuses(&["tool_budget"]);
}

/// The figures of the book's page on tools.
#[test]
fn a_search_shows_the_tool_of_50_of_60_tasks_and_names_that_of_56() {
    let tasks: Vec<(String, String)> = serde_json::from_str(&asked("--tasks")).expect("tasks");
    let home = with_services(10, "spill_threshold = 0");
    let calls = tasks.iter().enumerate().map(|(at, (task, _))| {
        let function = json!({ "name": "tool_search", "arguments": json!({ "words": task }).to_string() });
        json!({ "index": at, "id": format!("call_{at}"), "type": "function", "function": function })
    });
    let calls: Vec<Value> = calls.collect();
    let (_, requests) = turn(&home, vec![Answer::tool_calls(&calls), done()], &[]);
    let results = results(requests.last().expect("a request"));
    assert_eq!(results.len(), tasks.len());
    let mut ranks = Vec::new();
    for ((task, tool), result) in tasks.iter().zip(&results) {
        let further = "Further ones, to be searched for by their names: ";
        let (shown, named) = result.split_once(further).unwrap_or((result, ""));
        let shown = shown.lines().filter_map(|line| line.split_once(": ")).filter(|(name, _)| name.starts_with("mcp_"));
        let rank = shown.map(|(name, _)| name).chain(named.split(", ")).position(|name| name == tool);
        if rank.is_none() {
            println!("not found: {task} ({tool})");
        }
        ranks.push(rank);
    }
    let within = |most: usize| ranks.iter().filter(|rank| rank.is_some_and(|rank| rank < most)).count();
    let [first, three, six, all] = [1, 3, 6, usize::MAX].map(within);
    println!("of {} tasks: first {first}, among three {three}, among six {six}, named at all {all}", tasks.len());
    assert!(six >= 50 && all >= 56, "{six} and {all} of {}", tasks.len());

    for count in [0, 1, 10] {
        let tokens = |more: &str| {
            let (_, requests) = turn(&with_services(count, more), vec![done()], &[]);
            let text = format!("{}{}", requests[0]["messages"], requests[0]["tools"]);
            o200k_base_singleton().encode_ordinary(&text).len()
        };
        let (with, without) = (tokens(""), tokens("tool_budget = 100"));
        println!("{} tools: {with} tokens in the first request, {without} without deferral", count * 50);
        assert!(with <= without);
    }
}
