//! Selectors that fail, fault, or take more of a sidecar than there is.

use crate::home;
use bub_tests::{Answer, Home, Server, programs, tape};
use std::time::{Duration, Instant};

fn choosy(deed: &str) -> Home {
    let home = home();
    home.configure("[plugins.choosy]\ngrants = [\"tape:event\"]");
    home.configure(&format!("[plugins.choosy.config]\ndeed = \"{deed}\""));
    home.plugin("choosy", programs::CHOOSY);
    home
}

/// A read passes through all forks, so that thousands of them would take the host's stack.
#[test]
pub(crate) fn choosy_forks_its_sidecar_eight_deep_with_the_turns_own_and_no_deeper() {
    let begun = Instant::now();
    let home = choosy("choosy.notes");
    let finished = home.run(["ECHO:alive"]).watched().finish().says("[cli:local]\nalive\n");
    let seen = finished.saw_hook("selector");
    assert_eq!(seen.len(), 1, "{finished}");
    assert_eq!(seen[0]["depth"], 8, "the turn's fork is the first, the ninth is refused\n{finished}");
    assert_eq!(seen[0]["kind"], "InvalidInput", "{finished}");
    assert!(seen[0]["message"].as_str().is_some_and(|text| text.contains("8 deep")), "{finished}");
    assert!(begun.elapsed() < Duration::from_secs(30), "it took {:?}", begun.elapsed());
}

#[test]
fn the_sidecar_of_another_plugin_is_denied() {
    for sidecar in
        ["builtin", "spill", "spill.notes", "choosy2", "choosy-notes", "builtin.choosy", "context-builder.recall"]
    {
        let finished = choosy(sidecar).run(["ECHO:alive"]).watched().finish().says("[cli:local]\nalive\n");
        let seen = finished.saw_hook("selector");
        assert_eq!(seen.len(), 1, "{sidecar}\n{finished}");
        assert_eq!((&seen[0]["depth"], &seen[0]["kind"]), (&0.into(), &"Denied".into()), "{sidecar}\n{finished}");
    }
}

#[test]
fn a_selectors_own_error_ends_the_turn_with_its_text() {
    let home = choosy("error");
    let server = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&server).finish().fails("nothing is worth telling");
    assert!(server.requests().is_empty(), "the model was asked");
}

#[test]
fn a_selector_that_traps_leaves_the_whole_window() {
    let home = choosy("trap");
    let server = Server::new([Answer::text("one"), Answer::text("two")]);
    home.run(["first"]).model(&server).finish().says("[cli:local]\none\n");
    let finished = home.run(["second"]).model(&server).finish().says("[cli:local]\ntwo\n");
    finished.mentions("hook `selector` of plugin `choosy`: trapped");

    let messages = server.requests()[1].messages();
    let said: Vec<&str> = messages.iter().filter_map(|message| message["content"].as_str()).collect();
    let has = |text: &str| said.iter().any(|said| said.ends_with(text));
    assert!(has("first") && has("one") && has("second"), "{said:?}");

    let tape = tape::read(&home.tape_file("cli:local"));
    let faults: Vec<_> = tape.iter().filter(|entry| entry["payload"]["name"] == "plugin.fault").collect();
    assert_eq!(faults.len(), 2, "{tape:?}");
    for fault in faults {
        assert_eq!((&fault["kind"], &fault["meta"]["context"]), (&"event".into(), &false.into()), "{fault}");
        assert_eq!(fault["payload"]["data"]["hook"], "selector", "{fault}");
    }
}
