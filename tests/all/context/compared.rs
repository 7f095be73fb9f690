//! Two selectors side by side, and one in the shadow of another.

use crate::home;
use bub_tests::{Answer, Home, Server, programs};
use serde_json::Value;

fn conversation() -> (Home, Server) {
    let home = home();
    home.plugin("window", programs::WINDOW);
    home.configure("selector = \"builtin\"\n[plugins.window.config]\nexchanges = 1");
    let server = Server::new((1..=3).map(|at| Answer::text(&format!("answer {at}"))));
    for message in ["question one", "question two", "question three"] {
        home.run([message]).model(&server).finish();
    }
    (home, server)
}

#[test]
fn two_selectors_are_compared_in_a_terminal_and_for_programs() {
    let (home, server) = conversation();
    let compare = ["tape", "context", "--selector", "builtin", "--against", "window"];
    let shown = home.bub(compare).finish();
    for part in [
        "builtin",
        "window",
        "tokens, estimated",
        "  history",
        "entries left out",
        "time",
        "fuel",
        "only in builtin's:",
        "question one",
    ] {
        assert!(shown.stdout.contains(part), "{part}\n{shown}");
    }
    assert!(!shown.stdout.contains("only in window's:"), "{shown}");
    assert!(shown.stdout.lines().all(|line| line.chars().count() <= 80), "{shown}");

    let shown = home.bub(compare.into_iter().chain(["--json", "--prompt", "hi"])).finish();
    let compared: Value = serde_json::from_str(&shown.stdout).expect("it is JSON");
    let [one, other] = [0, 1].map(|at| compared["sides"][at].clone());
    assert_eq!((&one["selector"], &other["selector"]), (&"builtin".into(), &"window".into()));
    let ids = |value: &Value| value.as_array().map_or(0, Vec::len);
    assert_eq!((ids(&one["entries"]), ids(&one["left_out"]), ids(&one["only_here"])), (6, 0, 4), "{one}");
    assert_eq!((ids(&other["entries"]), ids(&other["left_out"]), ids(&other["only_here"])), (2, 4, 0), "{other}");
    assert!(one["tokens"]["history"].as_u64() > other["tokens"]["history"].as_u64());
    assert!(one["tokens"]["current_input"].as_u64() > Some(0) && one["fuel"].as_u64() > Some(0), "{one}");
    assert_eq!(server.requests().len(), 3, "no model is asked");
}

#[test]
fn the_simple_selector_can_be_compared_and_an_unknown_name_is_rejected() {
    let (home, _) = conversation();
    let shown =
        home.bub(["tape", "context", "--selector", "simple", "--against", "context-builder", "--json"]).finish();
    let compared: Value = serde_json::from_str(&shown.stdout).expect("it is JSON");
    assert_eq!(compared["sides"][0]["entries"], serde_json::json!([]));
    home.bub(["tape", "context", "--selector", "builtin", "--against", "windw"])
        .finish()
        .refuses(&["`windw`", "window"]);
    let alone = home.bub(["tape", "context", "--against", "window"]).finish();
    assert!(alone.code == Some(2) && alone.stderr.contains("--selector"), "{alone}");
}

#[test]
fn a_shadow_selector_is_logged_where_it_disagrees_and_never_served() {
    let (home, _) = conversation();
    home.configure("shadow_selector = \"window\"");
    let server = Server::new([Answer::text("four"), Answer::text("five")]);
    let finished = home.run(["question four"]).model(&server).finish().says("[cli:local]\nfour\n");
    finished.mentions("the shadow selector `window` disagrees with `builtin`: left out: ");
    let sent = server.requests()[0].messages();
    assert!(
        sent.iter().any(|message| message["content"].as_str().is_some_and(|text| text.ends_with("question one"))),
        "{sent:?}"
    );
    home.configure("[plugins.window.config]\nexchanges = 100");
    let finished = home.run(["question five"]).model(&server).finish().says("[cli:local]\nfive\n");
    assert!(!finished.stderr.contains("disagrees"), "{finished}");
}

#[test]
fn a_fault_of_a_shadow_selector_has_no_effect() {
    let home = home();
    home.configure("selector = \"builtin\"\nshadow_selector = \"choosy\"\n[plugins.choosy.config]\ndeed = \"trap\"");
    home.plugin("choosy", programs::CHOOSY);
    let server = Server::new([Answer::text("one")]);
    let finished = home.run(["hello"]).model(&server).finish().says("[cli:local]\none\n");
    finished.mentions("the shadow selector failed");
    assert!(super::events(&home, "plugin.fault").is_empty() && super::events(&home, "selector.fallback").is_empty());
}

#[test]
fn a_selector_that_does_not_select_is_labelled_in_a_comparison() {
    let (home, _) = conversation();
    home.plugin("choosy", programs::CHOOSY);
    home.configure("[plugins.choosy.config]\ndeed = \"trap\"");
    let compare = ["tape", "context", "--selector", "choosy", "--against", "builtin"];
    let shown = home.bub(compare).finish();
    assert!(
        shown.stdout.lines().next().is_some_and(|line| line.contains("choosy*") && !line.contains("builtin*")),
        "{shown}"
    );
    let says = "* `choosy` did not select, so everything since the latest anchor is selected: hook `selector` of plugin `choosy`: trapped";
    assert!(shown.stdout.contains(says), "{shown}");
    let shown = home.bub(compare.into_iter().chain(["--json"])).finish();
    let compared: Value = serde_json::from_str(&shown.stdout).expect("it is JSON");
    let [one, other] = [0, 1].map(|at| compared["sides"][at].clone());
    assert_eq!(one["selector"], "choosy");
    assert!(
        one["fallback"].as_str().is_some_and(|why| why.contains("trapped")) && other["fallback"].is_null(),
        "{compared}"
    );
}

/// Authors of selectors run `context` repeatedly while their selector fails.
#[test]
fn a_look_at_the_context_counts_toward_no_quarantine() {
    let (home, server) = conversation();
    home.plugin("choosy", programs::CHOOSY);
    home.configure("[plugins.choosy.config]\ndeed = \"trap\"");
    for _ in 0..7 {
        home.bub(["tape", "context", "--selector", "choosy"]).finish();
        home.bub(["tape", "context", "--selector", "choosy", "--session-id", "other"]).finish();
        home.bub(["tape", "context", "--selector", "builtin", "--against", "choosy"]).finish();
    }
    assert!(!home.bub_home().join("quarantine").exists());
    let listed = home.bub(["plugin", "list", "--json"]).finish();
    let listed: Value = serde_json::from_str(&listed.stdout).expect("it is JSON");
    assert_eq!(listed["quarantined"], serde_json::json!([]));
    // A quarantine by a turn is shown, and `context` does not lift it.
    home.configure("selector = \"choosy\"");
    drop(server);
    for _ in 0..3 {
        home.run(["ECHO:hi"]).finish();
    }
    let shown = home.bub(["tape", "context", "--selector", "choosy", "--against", "builtin"]).finish();
    assert!(shown.stdout.contains("`choosy` is in quarantine"), "{shown}");
}
