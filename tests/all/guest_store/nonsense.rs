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
pub(crate) fn keeper_without_tapes_does_not_fail_a_turn() {
    let home = keeper("");
    let model = Server::new([Answer::text("hello"), Answer::text("again")]);
    home.run(["hi"]).model(&model).finish().says("[cli:local]\nhello\n");
    nothing_at_home(&home);
}

#[test]
fn a_store_that_faults_fails_the_turn() {
    is_refused("trap", "trapped");
    is_refused("spin", "of plugin `keeper`: ");
    is_refused("sleep", "took longer than 2000 ms");
}

#[test]
fn an_error_of_a_store_is_quoted_on_one_line() {
    let finished = is_refused("error", "no room for tapes");
    assert_eq!(finished.stderr.lines().filter(|line| line.contains("no room")).count(), 1, "{finished}");
    is_refused("invalid", "not like this");
}

#[test]
fn an_invalid_answer_of_a_store_is_reported() {
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
fn a_store_without_free_ids_rejects_writes() {
    let home = keeper("last-id");
    let model = Server::new([Answer::text("hello")]);
    let finished = home.run(["hi"]).model(&model).finish();
    assert_eq!(finished.code, Some(1), "{finished}");
}

#[test]
fn a_store_that_faults_at_the_end_leaves_the_turn_in_the_journal() {
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
fn permanent_conflicts_of_a_store_end_the_retries() {
    let home = keeper("conflict");
    let model = Server::new([Answer::text("hello")]);
    let finished = home.run(["hi"]).model(&model).finish();
    assert_eq!(finished.code, Some(1), "{finished}");
    finished.mentions("another process wrote first 100 times");
}

#[test]
fn an_incomplete_conflict_of_a_store_is_reported() {
    is_refused("too-few-conflicts", "it named 0 last ids for 1 batches");
}

fn seeker(mode: &str) -> Home {
    let home = home();
    home.plugin("seeker", programs::SEEKER);
    home.configure(&format!("[plugins.seeker.config]\nmode = \"{mode}\""));
    home
}

const HERONS: [&str; 6] = ["heron 507", "heron 407", "heron 307", "heron 207", "heron 107", "heron 7"];

/// Whether the hits are the six herons, the newest first.
#[track_caller]
fn finds_the_herons(mode: &str, finished: &Finished) {
    assert_eq!(finished.code, Some(0), "{mode}\n{finished}");
    let hits: Vec<&str> = HERONS.into_iter().filter(|heron| finished.stdout.contains(heron)).collect();
    assert_eq!(hits, HERONS, "{mode}\n{finished}");
    assert!(!finished.stdout.contains("filler"), "{mode}\n{finished}");
    let places: Vec<_> = HERONS.iter().map(|heron| finished.stdout.find(heron)).collect();
    assert!(places.is_sorted(), "{mode}\n{finished}");
}

/// Candidates that do not match, and answers that never end, only take time.
#[test]
pub(crate) fn seeker_finds_matching_entries_despite_invalid_candidates() {
    for mode in ["", "none", "endless"] {
        let home = seeker(mode);
        finds_the_herons(mode, &home.bub(["tape", "search", "HERON"]).finish());
        let shown = home.bub(["tape", "show", "--kind", "message", "--last", "3"]).finish();
        assert!(["filler 598", "filler 599", "filler 600"].iter().all(|last| shown.stdout.contains(last)), "{shown}");
        let storks = home.bub(["tape", "search", "stork"]).finish();
        assert!(storks.code == Some(0) && storks.stdout.contains("stork 550"), "{storks}");
        assert!(!storks.stdout.contains('\u{1b}') && !storks.stdout.contains('\u{7}'), "{storks}");
    }
}

#[test]
fn an_invalid_query_result_is_reported_and_not_used() {
    for (mode, expected) in [
        ("too-many", "256 entries were asked for, and 600 came"),
        ("twice", "came out of order, or beyond what was asked for"),
        ("out-of-order", "came out of order, or beyond what was asked for"),
        ("beyond", "came out of order, or beyond what was asked for"),
        ("stands-still", "it would go on behind entry"),
        ("no-json", "is no JSON object"),
        ("two-lines", "spans lines"),
        ("trap", "trapped"),
        ("error", "the index is"),
        ("invalid", "not like this"),
    ] {
        let home = seeker(mode);
        // From the newest entry, and from the oldest.
        for asked in [["tape", "search", "heron"].as_slice(), &["tape", "show", "--kind", "message"]] {
            let finished = home.bub(asked.iter().copied()).finish();
            assert_eq!(finished.code, Some(1), "{mode}\n{finished}");
            let last = finished.stderr.lines().last().unwrap_or_default();
            assert!(
                last.contains("plugin `seeker`") && last.contains(expected),
                "{mode}: expected `{expected}`\n{finished}"
            );
            assert!(!finished.stdout.contains("heron") && !finished.stderr.contains('\u{1b}'), "{mode}\n{finished}");
        }
    }
}

#[test]
fn a_store_with_queries_is_listed_with_one_grant() {
    let home = home();
    home.plugin("seeker", programs::SEEKER);
    home.plugin("keeper", programs::KEEPER);
    let told = home.bub(["plugin", "inspect", "seeker"]).finish();
    assert!(told.stdout.contains("hook store: keeps all tapes"), "{told}");
    assert!(told.stdout.contains("finds entries itself (`store-query`)"), "{told}");
    assert!(!told.stdout.contains("hook:store-query") && !told.stdout.contains("hook store-query"), "{told}");
    let keeper = home.bub(["plugin", "inspect", "keeper"]).finish();
    assert!(keeper.stdout.contains("hook store") && !keeper.stdout.contains("finds entries itself"), "{keeper}");
    home.bub(["plugin", "grant", "seeker", "hook:store-query"]).finish().mentions("there is no such hook");
    let hooks = home.bub(["hooks"]).finish();
    assert!(hooks.stdout.contains("seeker") && !hooks.stdout.contains("store-query"), "{hooks}");
}

#[test]
pub(crate) fn query_alone_is_refused_without_the_tapes() {
    let home = home();
    home.plugin("query_alone", programs::QUERY_ALONE);
    let finished = home.run(["ECHO:all the same"]).finish().says("[cli:local]\nall the same\n");
    finished.mentions("plugin `query_alone` did not load: it exports `store-query` without `store`");
}
