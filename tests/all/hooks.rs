//! The rules by which plugins are asked. Most tests run without any embedded plugin: the result is then the host's
//! own doing and that of the scripted plugins `a`, `b` and `c`, registered in this order.

mod failure;
mod interception;
mod next;
mod options;
mod outbound;
mod prompt;
mod session;
mod think;

use crate::home;
use bub_tests::{Home, programs};

/// A home in which only the test's plugins run.
fn bare() -> Home {
    home().bare()
}

/// Plugins `a`, `b`, ... with these answers, one line a hook.
fn bare_with(answers: &[&str]) -> Home {
    let home = bare();
    for (name, answers) in ["a", "b", "c"].iter().zip(answers) {
        home.scripted(name, programs::SCRIPTED, answers);
    }
    home
}

/// The hooks of a turn in which a plugin answers in place of the model, in their order.
pub(crate) const STAGES: [&str; 8] = [
    "resolve-session",
    "load-state",
    "build-prompt",
    "run-model",
    "save-state",
    "render-outbound",
    "dispatch-outbound",
    "after-turn",
];

/// The program of most of these tests gives configured answers, and is called once by each hook of a turn for which it
/// has one.
#[test]
pub(crate) fn scripted() {
    let home = bare_with(&[r#"run-model = "answered""#]);
    let finished = home.run(["hi"]).watched().finish().says("[cli:local]\nanswered\n");
    let hooks: Vec<_> =
        finished.saw().iter().map(|seen| seen["hook"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(hooks, STAGES);
}

#[test]
pub(crate) fn scripted_stream() {
    let home = bare();
    home.scripted("a", programs::SCRIPTED_STREAM, r#"run-model-stream = [{ reasoning = "hm" }, "ans", "wered"]"#);
    home.run(["hi"]).finish().says("[cli:local]\nanswered\n");
}

#[test]
fn without_plugins_the_terminal_gets_its_message_back() {
    bare().run(["hi"]).finish().says("[cli:local]\nhi\n");
}

#[test]
fn without_plugins_every_other_channel_gets_the_error() {
    bare().run(["hi", "--channel", "telegram"]).finish().fails("error: ");
}

#[test]
fn plugins_that_answer_nothing_leave_everything_to_the_host() {
    bare_with(&["", ""]).run(["hi"]).finish().says("[cli:local]\nhi\n");
}

#[test]
fn the_latest_registered_plugin_is_called_first_and_every_broadcast_reaches_all() {
    let home = bare_with(&[r#"run-model = "from a""#, "", ""]);
    let finished = home.run(["hi"]).watched().finish().says("[cli:local]\nfrom a\n");
    for hook in ["resolve-session", "load-state", "build-prompt", "run-model", "save-state", "dispatch-outbound"] {
        assert_eq!(finished.asked(hook), ["c", "b", "a"], "{hook}\n{finished}");
    }
}

#[test]
fn the_first_answer_wins_and_no_other_plugin_is_called() {
    let home = bare_with(&[r#"run-model = "from a""#, r#"run-model = "from b""#, ""]);
    let finished = home.run(["hi"]).watched().finish().says("[cli:local]\nfrom b\n");
    assert_eq!(finished.asked("run-model"), ["c", "b"], "{finished}");
}
