//! Choosing a selector, and the fallback when it cannot select.

use super::{events, has, said};
use crate::home;
use bub_tests::{Answer, Home, Server, programs};

fn talk(home: &Home, server: &Server, messages: &[&str]) {
    for message in messages {
        home.run([*message]).model(server).finish();
    }
}

/// Whether the turn's request was made by the context builder: it pins the goal.
fn is_pinned(server: &Server, request: usize) -> bool {
    said(&server.requests()[request]).iter().any(|(_, text)| text.starts_with("[CRITICAL INSTRUCTION]"))
}

#[test]
fn without_a_selector_everything_is_sent_unchanged() {
    let home = home();
    let server = Server::new([Answer::text("one"), Answer::text("two")]);
    talk(&home, &server, &["first", "second"]);
    assert!(has(&server.requests()[1], "first") && !is_pinned(&server, 1));
    assert!(events(&home, "context.selected").is_empty());
}

#[test]
fn a_turn_answered_by_another_plugin_stores_nothing_and_logs_no_error() {
    let home = home();
    home.plugin("echo", programs::ECHO);
    home.grant_hooks();
    let finished = home.run(["hi"]).finish().says("[cli:local]\n[echo] hi\n");
    assert_eq!(finished.stderr, "", "{finished}");
    assert!(!home.tape_file("cli:local").exists());
}

#[test]
fn a_selector_is_chosen_for_all_for_a_channel_and_for_a_session() {
    let home = home();
    home.configure("selector = \"context-builder\"");
    let server = Server::new(["a", "b", "c", "d"].map(Answer::text));
    talk(&home, &server, &["one"]);
    assert!(is_pinned(&server, 0));
    home.configure("[channels.cli]\nselector = \"builtin\"");
    talk(&home, &server, &["two"]);
    assert!(!is_pinned(&server, 1));
    let listed = home.run([",selector"]).finish();
    assert!(
        listed.stdout.contains("builtin\n")
            && listed.stdout.contains("context-builder\n")
            && listed.stdout.contains("simple\n"),
        "{listed}"
    );
    home.run([",selector context-builder"])
        .finish()
        .says("[cli:local]\nSession selector set to context-builder (applies from the next turn).\n");
    assert!(home.run([",selector"]).finish().stdout.contains("* context-builder\n"));
    talk(&home, &server, &["three"]);
    assert!(is_pinned(&server, 2), "the session's own word goes first");
    home.run([",selector default"]).finish();
    talk(&home, &server, &["four"]);
    assert!(!is_pinned(&server, 3));
    let noted = events(&home, "context.selected");
    assert_eq!(noted.len(), 2);
    assert_eq!(noted[0]["selector"], "context-builder");
    assert_eq!(noted[0]["digest"].as_str().map(str::len), Some(64));
    assert!(
        noted[0]["tokenStats"]["total"].as_u64() > Some(0) && noted[0]["metadata"]["budget"] == 48_000,
        "{noted:?}"
    );
}

/// The line of `,selector` and of `hooks` that names what selects.
#[track_caller]
fn is_active(home: &Home, name: &str, why: &str) {
    let listed = home.run([",selector"]).finish();
    assert!(listed.stdout.contains(&format!("\nActive: {name} ({why}).\n")), "{listed}");
    let hooks = home.bub(["hooks"]).finish();
    assert!(hooks.stdout.contains(&format!("\nactive selector: {name} ({why})\n")), "{hooks}");
    let hooks = home.bub(["hooks", "--json"]).finish();
    let told: serde_json::Value = serde_json::from_str(&hooks.stdout).expect("it is JSON");
    assert_eq!((&told["selector"]["active"], &told["selector"]["why"]), (&name.into(), &why.into()), "{told}");
}

#[test]
fn hooks_and_the_command_name_the_active_selector_and_why_it_is_active() {
    let home = home();
    is_active(&home, "builtin", "the default: no other one is configured");
    home.configure("selector = \"context-builder\"");
    is_active(&home, "context-builder", "chosen by `selector` in the configuration");
    home.configure("[channels.cli]\nselector = \"simple\"");
    home.configure("[channels.telegram]\nselector = \"builtin\"");
    is_active(&home, "simple", "chosen by `selector` in `[channels.cli]`");
    let hooks = home.bub(["hooks"]).finish();
    assert!(
        hooks.stdout.contains("\non channel telegram: builtin (chosen by `selector` in `[channels.telegram]`)\n"),
        "{hooks}"
    );
    home.run([",selector builtin"]).finish();
    is_active(&home, "builtin", "chosen by `,selector` in this session");
    home.run([",selector default"]).finish();
    is_active(&home, "simple", "chosen by `selector` in `[channels.cli]`");
}

#[test]
fn a_plugin_that_is_dropped_in_is_active_and_one_that_is_missing_is_named() {
    let home = choosy("first");
    is_active(&home, "choosy", "the latest of your own plugins that select; no other one is configured");
    home.configure("selector = \"ghost\"");
    let why =
        "no plugin `ghost`, chosen by `selector` in the configuration, selects, or it is not granted `hook:selector`";
    is_active(&home, "everything", why);
}

#[test]
fn a_session_that_resets_its_choice_uses_the_configured_one() {
    let home = home();
    home.configure("selector = \"context-builder\"");
    home.run([",selector builtin"]).finish();
    home.run([",selector default"]).finish();
    let server = Server::new(["a"].map(Answer::text));
    talk(&home, &server, &["one"]);
    assert!(is_pinned(&server, 0));
}

#[test]
fn a_session_can_choose_only_existing_options() {
    let refused = home().run([",selector context-bilder"]).finish();
    assert!(refused.code == Some(1) && refused.stderr.contains("no plugin `context-bilder` selects"), "{refused}");
}

#[test]
fn the_simple_selector_sends_this_turn_only() {
    let home = home();
    home.configure("selector = \"simple\"");
    let server = Server::new([Answer::text("one"), Answer::tool_call("tape_info", "{}"), Answer::text("two")]);
    talk(&home, &server, &["first", "second"]);
    let requests = server.requests();
    let roles = |at: usize| said(&requests[at]).into_iter().map(|(role, _)| role).collect::<Vec<_>>();
    assert_eq!(roles(1), ["system", "user"]);
    assert_eq!(roles(2), ["system", "user", "assistant", "tool", "user"]);
    assert!(!has(&requests[2], "first") && has(&requests[2], "second"));
}

#[test]
fn a_missing_selector_is_replaced_by_the_whole_window_with_a_warning() {
    let home = home();
    home.configure("selector = \"ghost\"");
    let server = Server::new([Answer::text("one"), Answer::tool_call("tape_info", "{}"), Answer::text("two")]);
    talk(&home, &server, &["first"]);
    let finished = home.run(["second"]).model(&server).finish();
    finished.mentions("no plugin `ghost` selects");
    assert!(has(&server.requests()[2], "first") && has(&server.requests()[2], "second"));
    let told = events(&home, "selector.fallback");
    assert_eq!(told.len(), 2, "once a turn: {told:?}");
    assert_eq!(told[0]["selector"], "ghost");
}

fn choosy(deed: &str) -> Home {
    let home = home();
    home.configure(&format!("[plugins.choosy.config]\ndeed = \"{deed}\""));
    home.plugin("choosy", programs::CHOOSY);
    home
}

/// Two steps, of which the second has calls and results to select from.
fn two_steps() -> Server {
    Server::new([Answer::tool_call("tape_info", "{}"), Answer::text("done")])
}

#[test]
fn a_selector_that_faults_is_not_called_again_in_that_turn() {
    let home = choosy("trap");
    let server = two_steps();
    home.run(["go"]).model(&server).finish().says("[cli:local]\ndone\n");
    assert_eq!(events(&home, "plugin.fault").len(), 1);
    let told = events(&home, "selector.fallback");
    assert_eq!(told.len(), 1);
    assert!(
        told[0]["selector"] == "choosy" && told[0]["cause"].as_str().is_some_and(|cause| cause.contains("trapped")),
        "{told:?}"
    );
}

#[test]
fn an_invalid_selection_is_a_fault_before_the_provider_is_called() {
    for (deed, why) in [
        ("results", "a result of a tool does not follow its call: entry "),
        ("calls", "a call of a tool is without its result: entry "),
        ("role", "a message has the role `king`, which no model knows: the message of its own that is part "),
        ("nothing", "what the user said in this turn is not in it: entry "),
    ] {
        let home = choosy(deed);
        let server = two_steps();
        home.run(["do the task"]).model(&server).finish().says("[cli:local]\ndone\n").mentions(why);
        let requests = server.requests();
        let roles: Vec<String> = said(&requests[1]).into_iter().map(|(role, _)| role).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool", "user"], "{deed}");
        assert_eq!(events(&home, "selector.fallback").len(), 1, "{deed}");
    }
}

#[test]
fn clocks_and_random_numbers_are_fixed_while_a_selector_runs() {
    let home = choosy("time");
    let server = Server::new([Answer::text("one"), Answer::text("two")]);
    let seen = |message| home.run([message]).model(&server).watched().finish().saw_hook("selector");
    let (first, second) = (seen("a"), seen("b"));
    for seen in first.iter().chain(&second) {
        assert_eq!((&seen["first"], &seen["passed"]), (&seen["second"], &0.into()), "{seen}");
    }
    assert_eq!(first[0]["chance"], second[0]["chance"]);
    assert!(first[0]["first"].as_u64() < second[0]["first"].as_u64(), "each turn has a time of its own");
}
