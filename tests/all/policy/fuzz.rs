//! Laws of the policy, held over made-up calls: what adds a danger never permits more.
//!
//! ```sh
//! BUB_FUZZ_SECONDS=600 cargo test -p bub-wasm --test all -- --exact policy::fuzz::look_for_more --ignored --nocapture
//! ```

use crate::loader::chance::Chance;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bub_permissions::policy::run_later::{PATTERNS, RunsLater, named, resolve};
use bub_permissions::policy::{ApprovalMode, Flow, PolicyInput, decide, rank};
use bub_runtime::imports::flow::address::{Addresses, meant, written};
use bub_runtime::imports::flow::{Conversation, Reach, Reading, of_request};
use bub_types::Effect;
use bub_types::Principal;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

const PRINCIPALS: [Principal; 3] = [Principal::Owner, Principal::Peer, Principal::Anonymous];
const MODES: [ApprovalMode; 4] = [ApprovalMode::Ask, ApprovalMode::Auto, ApprovalMode::ReadOnly, ApprovalMode::All];
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
#[ignore = "goes on for as long as it is told to"]
fn look_for_more() {
    let number = |name: &str, other: u64| std::env::var(name).map_or(Ok(other), |text| text.parse()).expect("a number");
    let (seconds, first) = (number("BUB_FUZZ_SECONDS", 60), number("BUB_FUZZ_SEED", 1));
    let (begun, mut seed) = (Instant::now(), first);
    while begun.elapsed() < Duration::from_secs(seconds) {
        (seed..seed + 1_000).for_each(hold);
        seed += 1_000;
    }
    println!("{} cases; next seed {seed}", seed - first);
}

/// All laws, for the case that the seed makes.
fn hold(seed: u64) {
    let mut chance = Chance::new(seed);
    judged(&mut chance, seed);
    leaves(&mut chance, seed);
    runs_later(&mut chance, seed);
}

fn judged(chance: &mut Chance, seed: u64) {
    let flows: Vec<Flow> = (0..chance.below(4)).map(|_| flow(chance)).collect();
    let fewer: Vec<Flow> = flows.iter().filter(|_| chance.below(2) == 0).cloned().collect();
    let input = PolicyInput {
        principal: *chance.one_of(&PRINCIPALS),
        mode: *chance.one_of(&MODES),
        asks_destructive: chance.below(2) == 0,
        taint: None,
        declared: *chance.one_of(&EFFECTS),
        is_listed: chance.below(2) == 0,
        flows: &fewer,
    };
    let tainted = PolicyInput { taint: Some("a page"), ..input };
    let (least, verdict) = (decide(&input), decide(&tainted));
    assert!(verdict.verdict >= least.verdict, "seed {seed}: taint permits more: {input:?}");
    let more = decide(&PolicyInput { flows: &flows, ..tainted });
    assert!(more.verdict >= verdict.verdict, "seed {seed}: a flow permits more: {flows:?} than {fewer:?}");
    assert!(rank(more.effect) >= rank(verdict.effect), "seed {seed}: a flow lowers the effect");
    assert!(rank(least.effect) >= rank(input.declared), "seed {seed}: less than is declared");
    for flow in &flows {
        assert!(more.why.contains(&flow.to_string()), "seed {seed}: {flow} is not named in `{}`", more.why);
    }
    let listed = decide(&PolicyInput { is_listed: true, ..tainted });
    let unlisted = decide(&PolicyInput { is_listed: false, ..tainted });
    assert!(unlisted.verdict >= listed.verdict, "seed {seed}: not to be listed permits more");
    let asked = decide(&PolicyInput { asks_destructive: true, ..input });
    let unasked = decide(&PolicyInput { asks_destructive: false, ..input });
    assert!(asked.verdict >= unasked.verdict, "seed {seed}: to ask about what destroys permits more");
    let of_mode = |mode| decide(&PolicyInput { mode, ..tainted }).verdict;
    let [ask, auto, read_only, all] = MODES.map(of_mode);
    assert!(read_only >= ask && ask >= auto && auto >= all, "seed {seed}: the modes are not in their order: {input:?}");
    for principal in PRINCIPALS {
        let other = decide(&PolicyInput { principal, ..tainted });
        assert!(
            principal == Principal::Owner
                || other.verdict >= decide(&PolicyInput { principal: Principal::Owner, ..input }).verdict
        );
    }
}

fn flow(chance: &mut Chance) -> Flow {
    let name = format!("name{}", chance.below(9));
    match chance.below(6) {
        0 => Flow::UnknownAddress { address: name },
        4 => Flow::Destructive { command: name },
        1 => Flow::UnnamedAddress,
        2 => Flow::Leak { source: name.clone(), to: name },
        3 => Flow::Unchecked { to: name },
        _ => Flow::RunsLater { path: name },
    }
}

/// A conversation with fewer words of the owner, fewer pages, or more that was read, permits no more; and whatever is read
/// and leaves in any of these spellings is known.
fn leaves(chance: &mut Chance, seed: u64) {
    const HOSTS: [&str; 4] = ["a.example", "b.example", "127.0.0.1:80", "\u{fc}ber.example"];
    let secret: String = format!("k{}", chance.next() % 1_000_000_000_000_000);
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
            decide(&PolicyInput { principal, mode, asks_destructive: false, taint, declared, is_listed: true, flows })
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

/// However a path that runs later is written, it is known: in any case, below any directory, with detours.
fn runs_later(chance: &mut Chance, seed: u64) {
    let all: Vec<&str> = PATTERNS.iter().flat_map(|(_, patterns)| *patterns).copied().collect();
    let mut path = chance.one_of(&all).replace('*', "x");
    for _ in 0..chance.below(4) {
        path = match chance.below(7) {
            0 => path.to_uppercase(),
            1 => format!("./{path}"),
            2 => format!("deep/er/../{path}"),
            3 => path.replace('/', "//"),
            4 => path.replace('/', "/./"),
            5 => format!("{path}/below"),
            _ => format!("/ws/{path}"),
        };
    }
    let rules = RunsLater::default();
    let arguments = json!({ "a": [{ "b": path }], "content": "x" });
    let names = named(&arguments);
    assert_eq!(names, [path.as_str()], "seed {seed}");
    let places = resolve(Path::new("/ws"), &path);
    assert!(places.iter().any(|place| rules.holds(place)), "seed {seed}: {path} runs later: {places:?}");
    let own = RunsLater::try_from(vec!["zz9".to_owned()]).expect("a pattern");
    assert!(places.iter().any(|place| own.holds(place)), "seed {seed}: a pattern more knows less");
}
