//! Laws of the policy, held over made-up calls: what adds a danger never permits more.
//!
//! ```sh
//! BUB_FUZZ_SECONDS=600 cargo test -p bub-wasm --test all -- --exact policy::fuzz::look_for_more --ignored --nocapture
//! ```

use crate::loader::chance::Chance;
use bub_wasm::grants::policy::run_later::{PATTERNS, RunsLater, named, resolve};
use bub_wasm::grants::policy::{Case, Flow, judge, rank};
use bub_wasm::plugin::bindings::Principal;
use bub_wasm::plugin::bindings::schema::Effect;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

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
    (0..20_000).for_each(hold);
}

#[test]
#[ignore = "goes on for as long as it is told to"]
fn look_for_more() {
    let number = |name: &str, other: u64| std::env::var(name).map_or(Ok(other), |text| text.parse()).expect("a number");
    let (seconds, first) = (number("BUB_FUZZ_SECONDS", 60), number("BUB_FUZZ_SEED", 1_000_000));
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
    runs_later(&mut chance, seed);
}

fn judged(chance: &mut Chance, seed: u64) {
    let flows: Vec<Flow> = (0..chance.below(4)).map(|_| flow(chance)).collect();
    let fewer: Vec<Flow> = flows.iter().filter(|_| chance.below(2) == 0).cloned().collect();
    let case = Case {
        principal: *chance.one_of(&PRINCIPALS),
        taint: None,
        declared: *chance.one_of(&EFFECTS),
        is_listed: chance.below(2) == 0,
        flows: &fewer,
    };
    let tainted = Case { taint: Some("a page"), ..case };
    let (least, verdict) = (judge(&case), judge(&tainted));
    assert!(verdict.verdict >= least.verdict, "seed {seed}: taint permits more: {case:?}");
    let more = judge(&Case { flows: &flows, ..tainted });
    assert!(more.verdict >= verdict.verdict, "seed {seed}: a flow permits more: {flows:?} than {fewer:?}");
    assert!(rank(more.effect) >= rank(verdict.effect), "seed {seed}: a flow lowers the effect");
    assert!(rank(least.effect) >= rank(case.declared), "seed {seed}: less than is declared");
    for flow in &flows {
        assert!(more.why.contains(&flow.to_string()), "seed {seed}: {flow} is not named in `{}`", more.why);
    }
    let listed = judge(&Case { is_listed: true, ..tainted });
    let unlisted = judge(&Case { is_listed: false, ..tainted });
    assert!(unlisted.verdict >= listed.verdict, "seed {seed}: not to be listed permits more");
    for principal in PRINCIPALS {
        let other = judge(&Case { principal, ..tainted });
        assert!(
            principal == Principal::Owner
                || other.verdict >= judge(&Case { principal: Principal::Owner, ..case }).verdict
        );
    }
}

fn flow(chance: &mut Chance) -> Flow {
    Flow::RunsLater { path: format!("path{}", chance.below(9)) }
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
