//! A law of the policy and of the data flows that the runtime finds, held over made-up calls: what adds a danger never permits
//! more. The laws of the policy alone are in `host/permissions/tests/all/fuzz.rs`.
//!
//! ```sh
//! BUB_FUZZ_SECONDS=600 cargo test -p bub-wasm --test all -- --exact policy::fuzz::look_for_more --ignored --nocapture
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bub_permissions::policy::{ApprovalMode, Flow, PolicyInput, decide};
use bub_runtime::flow::address::{Addresses, meant, written};
use bub_runtime::flow::{Conversation, Reach, Reading, of_request};
use bub_test_support::Chance;
use bub_test_support::fuzz::Budget;
use bub_types::{Effect, Principal};
use serde_json::json;

const PRINCIPALS: [Principal; 3] = [Principal::Owner, Principal::Peer, Principal::Anonymous];
const EFFECTS: [Effect; 4] = [Effect::Read, Effect::Write, Effect::Send, Effect::Run];

/// Seeds that once led to a wrong answer, and some that did not.
const CORPUS: &str = include_str!("../../corpus/policy/seeds");

#[test]
fn no_seed_of_the_corpus_breaks_a_law() {
    for seed in CORPUS.lines().filter(|line| !line.starts_with('#')) {
        hold(seed.trim().parse().expect("a seed is a number"));
    }
}

#[test]
fn no_verdict_is_more_permissive_when_a_danger_is_added() {
    (0..2_000).for_each(hold);
}

#[test]
#[ignore = "runs for `BUB_FUZZ_SECONDS`"]
fn look_for_more() {
    let budget = Budget::from_environment(1);
    let mut seed = budget.first_seed;
    while budget.is_left() {
        (seed..seed + 1_000).for_each(hold);
        seed += 1_000;
    }
    println!("{} cases; next seed {seed}", seed - budget.first_seed);
}

/// The law, for the case that the seed makes.
fn hold(seed: u64) {
    leaves(&mut Chance::new(seed), seed);
}

/// A conversation with fewer words of the owner, fewer pages, or more that was read, permits no more; and whatever is read
/// and leaves in any of these spellings is known.
fn leaves(chance: &mut Chance, seed: u64) {
    const HOSTS: [&str; 4] = ["a.example", "b.example", "127.0.0.1:80", "\u{fc}ber.example"];
    let secret: String = format!("k{}", chance.draw() % 1_000_000_000_000_000);
    let url = format!(
        "http{}://{}/{}",
        ["", "s"][chance.below(2)],
        chance.one_of(&HOSTS),
        ["", "x", "x?y=1"][chance.below(3)]
    );
    let spelled = spelled(chance, &secret);
    let leaving = chance.below(2) == 0;
    let value = if leaving { format!("to {spelled} end") } else { "some words to look for".to_owned() };
    let arguments = match chance.below(4) {
        0 => json!({ "url": url, "note": value }),
        1 => json!({ "url": format!("{url}#{value}") }),
        2 => json!({ "query": value }),
        _ => json!({ "deep": [{ "list": [value, url] }] }),
    };
    let words = ["go on", url.as_str(), secret.as_str(), "some words to look for", "see a.example and b.example/x"];
    let said: Vec<&str> = words.into_iter().filter(|_| chance.below(2) == 0).collect();
    let fewer: Vec<&str> = said.iter().copied().filter(|_| chance.below(2) == 0).collect();
    let page = if chance.below(2) == 0 { format!("[link]({url})") } else { String::new() };
    let file = format!("TOKEN={secret}\nand some words");
    let reach = Reach { hosts: vec!["service.example".to_owned()], is_open: chance.below(2) == 0 };
    let flows = |said: &[&str], page: &str, read: &[&str], is_partial: bool| {
        let mut owner = Addresses::default();
        owner.extend(said.iter().flat_map(|said| meant(said)));
        let mut pages = Addresses::default();
        pages.extend(written(page));
        let read = read.iter().map(|text| Reading { source: "text read by `fs.read`", text }).collect();
        of_request(&Conversation { owner_texts: said.to_vec(), owner, pages, read, is_partial }, &reach, &arguments)
    };
    let declared = *chance.one_of(&EFFECTS);
    for principal in PRINCIPALS {
        let verdict = |flows: &[Flow]| {
            let (mode, taint) = (ApprovalMode::Auto, Some("a page"));
            decide(&PolicyInput {
                principal,
                mode,
                asks_destructive: false,
                taint,
                declared,
                is_listed: true,
                flows,
                rule: None,
            })
            .verdict
        };
        let all = flows(&said, &page, &[], false);
        let least = verdict(&all);
        for (what, dangerous) in [
            ("fewer words of the owner", flows(&fewer, &page, &[], false)),
            ("no page", flows(&said, "", &[], false)),
            ("a file that was read", flows(&said, &page, &[&file], false)),
            ("more than is kept", flows(&said, &page, &[], true)),
        ] {
            assert!(
                verdict(&dangerous) >= least,
                "seed {seed}: {what} permits more: {arguments} {said:?} {dangerous:?}"
            );
        }
    }
    let is_said = said.contains(&secret.as_str());
    if leaving && !is_said {
        let found = flows(&said, &page, &[&file], false);
        assert!(
            found.iter().any(|flow| matches!(flow, Flow::Leak { .. })),
            "seed {seed}: `{secret}` leaves as {arguments}, and {found:?} is all that is seen"
        );
    }
}

/// A spelling of the secret that hides it from a plain look.
fn spelled(chance: &mut Chance, secret: &str) -> String {
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    match chance.below(8) {
        0 => secret.to_owned(),
        1 => secret.to_uppercase(),
        2 => hex(secret),
        3 => STANDARD.encode(format!("{}{secret}", "p".repeat(chance.below(4)))),
        4 => URL_SAFE_NO_PAD.encode(secret),
        5 => secret.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        6 => secret.chars().flat_map(|c| [c, *chance.one_of(&['-', '.', '_', ' ', '/'])]).collect(),
        _ => URL_SAFE_NO_PAD.encode(hex(secret)),
    }
}
