//! Checks after every file: an answer, and a host that still serves.

use crate::home;
use crate::hostile::beside::{message, start};
use bub_runtime::turn::{TurnOptions, run_turn};
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;
use tokio::sync::watch;

/// Against a loader that never comes back; a debug build that compiles all of them stays far below.
const PATIENCE: Duration = Duration::from_secs(300);

/// Lets a host and its compiler process load these files. Returns why each was refused; none: it loaded.
pub async fn look(files: &[Vec<u8>]) -> Vec<Option<String>> {
    let home = home().bare();
    // Low limits, so that an endless loop ends soon, and enough for valid components.
    home.configure("[limits]\nfuel = 20_000_000\ncompile_seconds = 10\ncompile_mib = 1024");
    for (number, bytes) in files.iter().enumerate() {
        fs::write(home.bub_home().join(format!("plugins/p{number:02}.wasm")), bytes).expect("it can be written");
    }
    let host = tokio::time::timeout(PATIENCE, start(&home)).await.expect("the loader comes back");
    let plugins = host.plugins();
    let mut refused: BTreeMap<&str, &str> =
        plugins.failed.iter().map(|(name, reason)| (name.as_str(), reason.as_str())).collect();
    let answers = (0..files.len()).map(|number| {
        let name = format!("p{number:02}");
        let loaded = plugins.iter().any(|plugin| plugin.name == name);
        let reason = refused.remove(name.as_str());
        assert!(loaded != reason.is_some(), "`{name}` is neither there nor refused, or both");
        reason.inspect(|reason| is_an_answer(reason)).map(str::to_owned)
    });
    let answers = answers.collect();
    assert!(refused.is_empty(), "{refused:?}");

    let (_sender, cancel) = watch::channel(false);
    let turn = run_turn(&host, message("after", "still here"), TurnOptions::new(cancel));
    let turn = tokio::time::timeout(PATIENCE, turn).await.expect("the turn ends").expect("the turn ends well");
    assert_eq!(turn.output, "still here");
    answers
}

/// One line for a person, without a panic or an internal error.
#[track_caller]
fn is_an_answer(reason: &str) {
    assert!(!reason.is_empty() && reason.chars().count() < 3_000, "{} characters: {reason}", reason.chars().count());
    assert!(!reason.chars().any(char::is_control), "{reason:?}");
    assert!(!reason.contains("the compiler broke on it") && !reason.contains("panicked at"), "{reason}");
}

/// An answer without its offsets and names, for comparison.
pub fn kind(answer: &str) -> String {
    let words = answer.split(' ').map(|word| match word.chars().any(|c| c.is_ascii_digit() || "`\"'".contains(c)) {
        true => "_",
        false => word,
    });
    words.take(16).collect::<Vec<_>>().join(" ")
}
