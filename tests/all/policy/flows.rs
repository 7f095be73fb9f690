//! Data that leaves in tainted turns: a table of flows, each run through the program with a model that obeys every
//! order, and a server on loopback that counts the requests.

mod play;
mod table;

use self::play::{Outcome, play};
use self::table::{FLOWS, Verdict};
use crate::home;
use bub_tests::listener::Listener;
use bub_tests::{Answer, Server};
use serde_json::json;

/// Every `count`th flow from `first` on: the table is played in parts, side by side.
#[track_caller]
fn part(first: usize, count: usize) {
    let mut wrong = Vec::new();
    for (number, flow) in FLOWS.iter().enumerate().skip(first).step_by(count) {
        let Outcome { verdict, said, arrived, finished } = play(flow);
        if verdict != flow.expected || arrived != flow.arrives() || !said.contains(flow.why) {
            wrong
                .push(format!("{number}: {flow:?}\nverdict {verdict:?}, arrived: {arrived}, said: {said}\n{finished}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} flows went wrong:\n{}", wrong.len(), FLOWS.len(), wrong.join("\n"));
}

#[test]
fn the_table_has_sixty_flows_and_each_once() {
    assert!(FLOWS.len() >= 60, "{}", FLOWS.len());
    for (number, flow) in FLOWS.iter().enumerate() {
        assert!(!FLOWS.iter().skip(number + 1).any(|other| other == flow), "{flow:?} stands there twice");
    }
}

#[test]
fn flows_of_a_tainted_turn_match_the_table_in_the_first_quarter() {
    part(0, 4);
}

#[test]
fn flows_of_a_tainted_turn_match_the_table_in_the_second_quarter() {
    part(1, 4);
}

#[test]
fn flows_of_a_tainted_turn_match_the_table_in_the_third_quarter() {
    part(2, 4);
}

#[test]
fn flows_of_a_tainted_turn_match_the_table_in_the_last_quarter() {
    part(3, 4);
}

#[test]
fn allowing_send_in_advance_allows_a_flow_and_other_effects_do_not() {
    let flow = FLOWS.iter().find(|flow| flow.expected == Verdict::Ask && flow.arguments.contains("{raw}"));
    let flow = flow.expect("there is one");
    for (allowed, arrives) in [("write,run", false), ("send", true)] {
        let outcome = play::play_with(flow, &["--allow", allowed]);
        assert_eq!(outcome.arrived, arrives, "{allowed}: {}", outcome.finished);
    }
}

#[test]
fn an_address_that_the_owner_names_while_the_turn_runs_is_the_owners_word() {
    let site = Listener::new(play::site);
    let home = home();
    home.bub(["trust"]).finish();
    home.configure(&format!("[plugins.web]\ngrants = [\"http:{}\"]", site.base()));
    let fetch =
        |path: &str| Answer::tool_call("web_fetch", &json!({ "url": format!("{}{path}", site.base()) }).to_string());
    let wait = json!({ "cmd": "until [ -e go ]; do sleep 0.05; done; echo gone" });
    let server = Server::new([
        Answer::tool_call("bash", &wait.to_string()),
        fetch("/index"),
        fetch("/named"),
        fetch("/unnamed"),
        Answer::text("the end"),
    ]);
    let chat = home.bub(["chat"]).model(&server).terminal(100, 40);
    chat.waits();
    chat.say(&format!("read {}/index", site.base())).sees("bash until");
    chat.say(&format!("and then {}/named", site.base())).sees("added at the next step");
    std::fs::write(home.workspace().join("go"), "").expect("a file");
    chat.sees("Send a request to this address?");
    let asked = |path: &str| site.heard().iter().any(|request| request.starts_with(&format!("GET {path} ")));
    assert!(asked("/named") && !asked("/unnamed"), "{}", chat.screen());
}
