//! The parser of shell lines, compared with bash: what bash runs was found in the line.

use bub_permissions::policy::commands::{CommandRules, RuleDecision};
use bub_permissions::policy::shell::Script;
use bub_test_support::Chance;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Pieces of lines. `ok` is allowed, `no` is denied, `other` is neither.
const PIECES: [&str; 66] = [
    "\"$",
    "$\\\n",
    "(no)",
    "no)\"",
    "ok",
    "ok",
    "ok",
    "ok",
    "ok",
    "ok x",
    "no",
    "no",
    "other",
    " ",
    " ",
    " ",
    " ",
    " ",
    ";",
    "; ",
    " && ",
    " || ",
    " | ",
    "\n",
    "\n",
    " & ",
    "(",
    ")",
    "$(",
    "`",
    "'",
    "\"",
    "\\",
    "\\\n",
    "#",
    " #",
    "$",
    "$x",
    "${x}",
    "${x:-",
    "}",
    "{ ",
    "; }",
    "!",
    "if ",
    "; then ",
    "; fi",
    "for x in ",
    "; do ",
    "; done",
    "x=",
    "x=(",
    "<<E\n",
    "<<-'E'\n",
    "\nE\n",
    "E",
    "<<<",
    ">f ",
    " 2>&1",
    " <f",
    "<(",
    "\t",
    "time ",
    "[[ ",
    " ]]",
    "$((",
];

fn line(chance: &mut Chance) -> String {
    (0..=chance.below(14)).map(|_| *chance.one_of(&PIECES)).collect()
}

/// The names of the programs that bash looks for, in order; `None`: it did not end.
fn run_by_bash(line: &str, directory: &Path, seed: u64) -> Option<Vec<String>> {
    // What an earlier line has left in the background does not write here.
    let log = directory.join(format!("log-{seed}"));
    let mut shell = Command::new("/bin/bash")
        .args(["--norc", "-c", line])
        .current_dir(directory)
        .env_clear()
        .env("PATH", "/nonexistent")
        .env("FUNCNEST", "5")
        .env("LOG", &log)
        .env("BASH_FUNC_command_not_found_handle%%", "() { builtin printf '%s\\0' \"$1\" >> \"$LOG\"; }")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("bash");
    let start = Instant::now();
    while shell.try_wait().expect("a status").is_none() {
        if start.elapsed() > Duration::from_secs(3) {
            shell.kill().expect("it ends");
            shell.wait().expect("it has ended");
            return None;
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    Some(fs::read_to_string(&log).unwrap_or_default().split_terminator('\0').map(str::to_owned).collect())
}

#[test]
fn bash_runs_no_command_that_the_parser_has_missed() {
    if !Path::new("/bin/bash").exists() {
        println!("skipped: there is no bash");
        return;
    }
    let rules: CommandRules = serde_json::from_value(json!([
        { "prefix": ["ok"], "decision": "allow" },
        { "prefix": ["no"], "decision": "deny" },
    ]))
    .expect("rules");
    let directory = tempfile::tempdir().expect("a directory");
    let seconds = std::env::var("BUB_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let (start, mut seed, mut allowed) = (Instant::now(), 0, 0);
    while start.elapsed() < Duration::from_secs(seconds) {
        seed += 1;
        let line = line(&mut Chance::new(seed));
        let decision = rules.judge(&line).map(|verdict| verdict.decision);
        if matches!(decision, Some(RuleDecision::Ask | RuleDecision::Deny)) {
            continue;
        }
        let Some(ran) = run_by_bash(&line, directory.path(), seed) else { continue };
        assert!(!ran.iter().any(|program| program == "no"), "seed {seed}: bash ran {ran:?} for {line:?}");
        if decision == Some(RuleDecision::Allow) {
            allowed += 1;
            let only = ran.iter().all(|program| program == "ok");
            assert!(only, "seed {seed}: bash ran {ran:?} for {line:?}, which is allowed");
        }
    }
    println!("{seed} lines, of which {allowed} were allowed");
    assert!(allowed > 20, "only {allowed} of {seed} lines were allowed");
}

#[test]
fn no_line_takes_long_or_breaks_the_parser() {
    let start = Instant::now();
    let mut chance = Chance::new(7);
    for _ in 0..2_000 {
        let length = chance.below(400);
        let line: String = (0..length).map(|_| *chance.one_of(&PIECES)).collect();
        Script::parse(&line);
    }
    for piece in PIECES.iter().chain(&["$(`", "${x:-", "\"$(", "a[$(", "<<E <<E\n", "é\u{0}"]) {
        for count in [10, 1_000, 60_000 / piece.len(), 1 << 20] {
            let line = piece.repeat(count);
            let script = Script::parse(&line);
            assert!(line.len() <= 64 << 10 || !script.is_understood, "{piece:?}");
            // Rules look into the arguments of shells.
            let rules = CommandRules::from_iter(
                serde_json::from_value::<Vec<_>>(json!([{ "prefix": ["no"], "decision": "deny" }])).expect("rules"),
            );
            rules.judge(&format!("sudo bash -c '{piece}' {line}"));
            rules.judge(&format!("xargs {line}"));
            rules.judge(&format!("eval {line}"));
        }
    }
    assert!(start.elapsed() < Duration::from_secs(120), "{:?}", start.elapsed());
}
