//! The runtime as a library: `examples/embed.rs` is run as it stands.

use bub_runtime::plugin::embedded;
use bub_tests::programs;
use std::path::PathBuf;
use std::process::Command;

/// `cargo test` builds examples beside the tests: `TARGET/PROFILE/deps/TEST` and `TARGET/PROFILE/examples/EXAMPLE`.
fn example() -> PathBuf {
    let test = std::env::current_exe().expect("the test knows where it is");
    let profile = test.ancestors().nth(2).expect("cargo puts tests into `deps`");
    let example = profile.join("examples/embed");
    assert!(example.is_file(), "the example is not built: run `cargo test -p bub-runtime`");
    example
}

#[test]
fn a_turn_with_one_plugin_runs_in_a_program_that_embeds_the_runtime() {
    let cache = tempfile::tempdir().expect("there is room");
    let run =
        Command::new(example()).args([programs::ECHO, "hello"]).env("BUB_CACHE", cache.path().join("cache")).output();
    let run = run.expect("the example starts");
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{err}");
    assert_eq!(out, "[example:local]\n[echo] hello\ntokens used: 0\n", "{err}");
}

#[test]
fn a_plugin_that_is_not_there_is_an_error_with_its_path() {
    let run = Command::new(example()).args(["nowhere.wasm"]).output().expect("the example starts");
    assert!(!run.status.success());
    assert!(String::from_utf8_lossy(&run.stderr).contains("read `nowhere.wasm`"));
}

#[test]
fn each_grant_of_an_embedded_guest_is_one_that_users_could_write() {
    for (name, grants) in embedded() {
        for grant in grants {
            assert_eq!(grant.as_str().parse().as_ref(), Ok(grant), "of `{name}`");
        }
    }
}
