//! Plugins that a running chat finds and that have no grants.

use crate::home;
use crate::plugin_add::inspected;
use bub_tests::{Home, Terminal, programs};
use serde_json::json;

/// A home whose owner vouches for the workspace, in which plugins hold what they are given.
fn strict() -> Home {
    let home = home().strict();
    assert_eq!(home.bub(["trust"]).finish().code, Some(0));
    home
}

const CHOICES: &str = "y all that it requests · n nothing? [n]";

fn opened(home: &Home) -> Terminal<'_> {
    home.bub(["chat"]).terminal(200, 40)
}

#[test]
fn a_new_plugin_is_presented_before_the_conversation_begins() {
    let home = strict();
    home.plugin("upper", programs::PROMPT_UPPER);
    let chat = opened(&home);
    let screen = chat.sees(CHOICES);
    assert!(screen.contains("hook build-prompt: sees the message"), "{screen}");
    chat.answer("y").sees("plugin `upper` may now: hook:build-prompt");
    chat.waits();
    chat.say("echo: so it is").sees("\n SO IT IS");
    chat.waits();
    chat.say(",quit").ends();
    // The notice is not repeated.
    let chat = opened(&home);
    assert!(!chat.waits().contains(CHOICES));
}

#[test]
fn a_refusal_is_stored_and_not_asked_about_again() {
    let home = strict();
    home.plugin("upper", programs::PROMPT_UPPER);
    let chat = opened(&home);
    chat.sees(CHOICES);
    chat.answer("what").until("the question again", |screen| screen.matches(CHOICES).count() == 2);
    chat.answer("n").waits();
    chat.say("ECHO:small").sees("\nsmall");
    chat.waits();
    chat.say(",quit").ends();
    assert_eq!(inspected(&home, "upper")["grants"], json!([]));
    let chat = opened(&home);
    assert!(!chat.waits().contains("[n]"));
    drop(chat);
    // Other bytes are another matter.
    let bytes = std::fs::read(programs::PROMPT_UPPER).expect("it was built");
    let bytes = bub_tests::component::with_section(&bytes, "other", b"");
    std::fs::write(home.bub_home().join("plugins/upper.wasm"), bytes).expect("it can be written");
    let chat = opened(&home);
    chat.sees("The grants of plugin `upper` were given to other bytes, and are not for these.");
    chat.sees(CHOICES);
}

#[test]
fn each_grant_can_be_decided_separately() {
    let home = strict();
    let manifest = json!({ "wants": [
        { "grant": "hook:build-prompt", "why": "to shout" }, { "grant": "tape:read", "why": "to look" },
    ] });
    let bytes = crate::plugin_add::described(programs::PROMPT_UPPER, &manifest);
    std::fs::write(home.bub_home().join("plugins/upper.wasm"), bytes).expect("it can be written");
    let chat = opened(&home);
    chat.sees("e ask for each");
    chat.answer("e").sees("because: to shout. Give it? [y/N]");
    chat.answer("y").sees("because: to look. Give it? [y/N]");
    chat.answer("").sees("plugin `upper` may now: hook:build-prompt");
    chat.sees("bub-wasm plugin grant upper tape:read");
    chat.waits();
    assert_eq!(inspected(&home, "upper")["grants"], json!(["hook:build-prompt"]));
}

#[test]
fn a_plugin_added_during_a_chat_is_presented_before_the_next_line() {
    let home = strict();
    let chat = opened(&home);
    chat.waits();
    home.plugin("upper", programs::PROMPT_UPPER);
    // The line that waits is answered first, and so is each before the file is noticed.
    let is_asked = |screen: &str| screen.contains(CHOICES);
    let said = |_| {
        let answers = |screen: &str| screen.matches("\nsmall").count();
        let before = answers(&chat.screen());
        chat.say("ECHO:small");
        is_asked(&chat.until("an answer, or the question", |screen| is_asked(screen) || answers(screen) > before))
    };
    assert!((0..100).any(said), "{}", chat.screen());
    chat.answer("y").waits();
    chat.say("echo: loud").sees("\n LOUD");
}

#[test]
fn without_a_terminal_grants_come_from_the_command_line_or_not_at_all() {
    for (more, answer) in [
        (&[][..], "hi"),
        (&["--yes"], "HI"),
        (&["--grant", "hook:build-prompt"], "HI"),
        (&["--grant", "tape:read"], "hi"),
    ] {
        let home = home().bare().strict();
        home.plugin("upper", programs::PROMPT_UPPER);
        let finished = home.bub(["chat"].into_iter().chain(more.iter().copied())).input("hi\n").finish();
        assert!(finished.code == Some(0) && finished.stdout == format!("{answer}\n"), "{more:?}\n{finished}");
    }
    home().strict().bub(["chat", "--grant", "tape:reed"]).input("hi\n").finish().refuses(&["did you mean `tape:read`"]);
}

#[test]
fn grants_of_the_command_line_apply_to_plugins_that_are_added_later() {
    let home = home().bare().strict();
    let mut chat = home.bub(["chat", "--yes"]).spoken_to().start();
    chat.say("one");
    chat.prints("one\n");
    home.plugin("upper", programs::PROMPT_UPPER);
    chat.wait_for("plugin `upper` is not asked");
    chat.say("two");
    chat.prints("TWO\n");
    assert_eq!(chat.finish().code, Some(0));
}

#[test]
fn an_unanswered_prompt_is_repeated_the_next_time() {
    let home = strict();
    home.plugin("upper", programs::PROMPT_UPPER);
    let chat = opened(&home);
    chat.sees(CHOICES);
    chat.after_delay().press(["C-d"]).waits();
    assert!(!std::fs::read_to_string(home.bub_home().join("config.toml")).expect("it is there").contains("upper"));
    let chat = opened(&home);
    chat.sees(CHOICES);
}

#[test]
fn a_line_that_is_typed_ahead_or_pasted_grants_nothing() {
    let home = strict();
    home.plugin("upper", programs::PROMPT_UPPER);
    let chat = opened(&home);
    // It waits in the terminal before the question is there.
    chat.say("y").sees(CHOICES);
    chat.say("yes");
    chat.after_delay().paste("y\n");
    chat.until("the question again", |screen| screen.matches(CHOICES).count() == 2);
    chat.answer("yes we should talk about that first");
    chat.until("the question once more", |screen| screen.matches(CHOICES).count() == 3);
    assert!(!chat.screen().contains("may now"), "{}", chat.screen());
    chat.answer("n").waits();
    assert_eq!(inspected(&home, "upper")["grants"], json!([]));
}
