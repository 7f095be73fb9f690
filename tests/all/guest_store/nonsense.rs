//! A plugin that keeps tapes and breaks its word.

use super::{home, nothing_at_home};
use bub_tests::{Answer, Finished, Home, Server, programs};

fn keeper(mode: &str) -> Home {
    let home = home();
    home.plugin("keeper", programs::KEEPER);
    home.configure(&format!("[plugins.keeper.config]\nmode = \"{mode}\"\n[plugins.keeper.limits]\ndeadline_ms = 2000"));
    home
}

/// The turn is refused before the model is asked, and the plugin is named.
#[track_caller]
fn is_refused(mode: &str, expected: &str) -> Finished {
    let home = keeper(mode);
    let model = Server::new([Answer::text("hello")]);
    let finished = home.run(["hi"]).model(&model).finish();
    assert_eq!(finished.code, Some(1), "{mode}\n{finished}");
    let last = finished.stderr.lines().last().unwrap_or_default();
    assert!(last.contains("plugin `keeper`") && last.contains(expected), "{mode}: expected `{expected}`\n{finished}");
    assert!(model.requests().is_empty(), "{mode}: the model was paid");
    nothing_at_home(&home);
    finished
}

#[test]
pub(crate) fn keeper_that_has_nothing_refuses_no_turn() {
    let home = keeper("");
    let model = Server::new([Answer::text("hello"), Answer::text("again")]);
    home.run(["hi"]).model(&model).finish().says("[cli:local]\nhello\n");
    nothing_at_home(&home);
}

#[test]
fn a_keeper_that_faults_refuses_the_turn() {
    is_refused("trap", "trapped");
    is_refused("spin", "of plugin `keeper`: ");
    is_refused("sleep", "took longer than 2000 ms");
}

#[test]
fn a_keeper_that_answers_an_error_is_quoted_on_one_line() {
    let finished = is_refused("error", "no room for tapes");
    assert_eq!(finished.stderr.lines().filter(|line| line.contains("no room")).count(), 1, "{finished}");
    is_refused("invalid", "not like this");
}

#[test]
fn a_keeper_that_answers_nonsense_is_named() {
    for (mode, expected) in [
        ("too-many", "1 entries were asked for, and 2 came"),
        ("not-growing", "entry 0 came behind 0"),
        ("no-json", "the payload of entry 1 is no JSON object"),
        ("no-object", "the meta of entry 1 is no JSON object"),
        ("two-lines", "the payload of entry 1 spans lines"),
        ("deep", "the payload of entry 1 is no JSON object"),
        ("endless", "no entries came, and there are more"),
        ("large", "handed over more than 16 MiB at once"),
        ("newest-of-another-kind", "entry 1 is not what was sought"),
        ("newest-beyond", "is not among those that were asked for"),
    ] {
        is_refused(mode, expected);
    }
}

#[test]
fn a_keeper_whose_ids_are_used_up_takes_nothing_more() {
    let home = keeper("last-id");
    let model = Server::new([Answer::text("hello")]);
    let finished = home.run(["hi"]).model(&model).finish();
    assert_eq!(finished.code, Some(1), "{finished}");
}

#[test]
fn a_keeper_that_faults_at_the_end_leaves_the_turn_in_the_journal() {
    let home = keeper("trap-at-the-end");
    let model = Server::new([Answer::text("hello"), Answer::text("again")]);
    home.run(["hi"]).model(&model).finish().mentions("hook `store` of plugin `keeper`: trapped");
    home.run(["hi"]).model(&model).finish().fails("hook `store` of plugin `keeper`: trapped");
    assert_eq!(model.requests().len(), 1, "the second turn is not begun as long as the first could be lost");
    // The user goes back to files, and finds there what was said.
    home.remove_plugin("keeper");
    home.run(["and now"]).model(&model).finish().says("[cli:local]\nagain\n");
    let tape = bub_tests::tape::read(&home.tape_file("cli:local"));
    let said = tape.iter().filter(|entry| entry["kind"] == "message").count();
    assert_eq!(said, 4, "{tape:?}");
}

#[test]
fn a_keeper_that_always_says_conflict_is_given_up() {
    let home = keeper("conflict");
    let model = Server::new([Answer::text("hello")]);
    let finished = home.run(["hi"]).model(&model).finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    finished.mentions("somebody else wrote first 100 times");
}

#[test]
fn a_keeper_that_says_half_a_conflict_is_named() {
    is_refused("too-few-conflicts", "it named 0 last ids for 1 batches");
}
