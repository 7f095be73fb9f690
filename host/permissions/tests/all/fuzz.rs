//! Laws of the policy, held over made-up calls: what adds a danger never permits more. The laws of data flows, which the
//! runtime finds, are in `tests/all/policy/fuzz.rs`.
//!
//! ```sh
//! BUB_FUZZ_SECONDS=600 cargo test -p bub-permissions --test all -- --exact fuzz::look_for_more --ignored --nocapture
//! ```

use bub_permissions::policy::commands::{RuleDecision, RuleVerdict};
use bub_permissions::policy::run_later::{PATTERNS, RunsLater, named, resolve};
use bub_permissions::policy::{ApprovalMode, Flow, PolicyInput, Verdict, decide, rank};
use bub_test_support::Chance;
use bub_test_support::fuzz::Budget;
use bub_types::{Effect, Principal};
use serde_json::json;
use std::path::Path;

const PRINCIPALS: [Principal; 3] = [Principal::Owner, Principal::Peer, Principal::Anonymous];
const MODES: [ApprovalMode; 4] = [ApprovalMode::Ask, ApprovalMode::Auto, ApprovalMode::ReadOnly, ApprovalMode::All];
const EFFECTS: [Effect; 4] = [Effect::Read, Effect::Write, Effect::Send, Effect::Run];

/// Seeds that once led to a wrong answer, and some that did not.
const CORPUS: &str = include_str!("../../../../tests/corpus/policy/seeds");

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

/// All laws, for the case that the seed makes.
fn hold(seed: u64) {
    let mut chance = Chance::new(seed);
    judged(&mut chance, seed);
    runs_later(&mut chance, seed);
}

fn judged(chance: &mut Chance, seed: u64) {
    let flows: Vec<Flow> = (0..chance.below(4)).map(|_| flow(chance)).collect();
    let fewer: Vec<Flow> = flows.iter().filter(|_| chance.below(2) == 0).cloned().collect();
    let rule = rule(chance);
    let input = PolicyInput {
        principal: *chance.one_of(&PRINCIPALS),
        mode: *chance.one_of(&MODES),
        asks_destructive: chance.below(2) == 0,
        taint: None,
        declared: *chance.one_of(&EFFECTS),
        is_listed: chance.below(2) == 0,
        flows: &fewer,
        rule: rule.as_ref(),
    };
    let tainted = PolicyInput { taint: Some("a page"), ..input };
    let (least, verdict) = (decide(&input), decide(&tainted));
    assert!(verdict.verdict >= least.verdict, "seed {seed}: taint permits more: {input:?}");
    let more = decide(&PolicyInput { flows: &flows, ..tainted });
    assert!(more.verdict >= verdict.verdict, "seed {seed}: a flow permits more: {flows:?} than {fewer:?}");
    assert!(rank(more.effect) >= rank(verdict.effect), "seed {seed}: a flow lowers the effect");
    assert!(rank(least.effect) >= rank(input.declared), "seed {seed}: less than is declared");
    let unruled = decide(&PolicyInput { rule: None, ..tainted });
    let is_allowed = rule.as_ref().is_some_and(|rule| rule.decision == RuleDecision::Allow && rule.tainted);
    assert!(is_allowed || verdict.verdict >= unruled.verdict, "seed {seed}: {rule:?} permits more: {input:?}");
    assert!(
        unruled.verdict != Verdict::Deny || verdict.verdict == Verdict::Deny,
        "seed {seed}: {rule:?} permits what is denied: {input:?}"
    );
    for flow in &flows {
        assert!(more.why.contains(&flow.to_string()), "seed {seed}: {flow} is not named in `{}`", more.why);
    }
    let listed = decide(&PolicyInput { is_listed: true, ..tainted });
    let unlisted = decide(&PolicyInput { is_listed: false, ..tainted });
    assert!(unlisted.verdict >= listed.verdict, "seed {seed}: not to be listed permits more");
    let asked = decide(&PolicyInput { asks_destructive: true, ..input });
    let unasked = decide(&PolicyInput { asks_destructive: false, ..input });
    assert!(asked.verdict >= unasked.verdict, "seed {seed}: to ask about what destroys permits more");
    let leaves = |flow: &Flow| matches!(flow, Flow::Outside { .. });
    assert!(
        input.mode == ApprovalMode::All || !flows.iter().any(leaves) || more.verdict != Verdict::Allow,
        "seed {seed}: a command leaves the sandbox in a tainted turn: {input:?}"
    );
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

fn rule(chance: &mut Chance) -> Option<RuleVerdict> {
    let decision = *chance.one_of(&[RuleDecision::Allow, RuleDecision::Ask, RuleDecision::Deny]);
    let tainted = chance.below(2) == 0 && decision == RuleDecision::Allow;
    let outside = chance.below(2) == 0 && decision == RuleDecision::Allow;
    (chance.below(2) == 0).then(|| RuleVerdict { decision, tainted, outside, why: String::new(), rule: None })
}

fn flow(chance: &mut Chance) -> Flow {
    let name = format!("name{}", chance.below(9));
    match chance.below(7) {
        0 => Flow::UnknownAddress { address: name },
        4 => Flow::Destructive { command: name },
        5 => Flow::Outside { command: name },
        1 => Flow::UnnamedAddress,
        2 => Flow::Leak { source: name.clone(), to: name },
        3 => Flow::Unchecked { to: name },
        _ => Flow::RunsLater { path: name },
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
