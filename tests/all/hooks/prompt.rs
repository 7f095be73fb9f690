//! `build-prompt` and `system-prompt`, and what makes a message a command.

use super::{bare, bare_with};
use crate::home;
use bub_tests::{Answer, Server, programs};
use serde_json::json;

#[test]
fn without_a_model_a_prompt_of_text_is_the_output() {
    bare_with(&[r#"build-prompt = "the prompt""#]).run(["hi"]).finish().says("[cli:local]\nthe prompt\n");
}

#[test]
fn without_a_model_a_prompt_of_parts_returns_the_content() {
    let home = bare_with(&[r#"build-prompt = [{ type = "text", text = "p" }]"#]);
    home.run(["hi"]).finish().says("[cli:local]\nhi\n");
}

#[test]
fn an_empty_prompt_uses_the_content_and_no_other_plugin_is_called() {
    let home = bare_with(&[r#"build-prompt = "from a""#, r#"build-prompt = """#]);
    let finished = home.run(["hi"]).watched().finish().says("[cli:local]\nhi\n");
    assert_eq!(finished.asked("build-prompt"), ["b"], "{finished}");
}

#[test]
fn an_empty_list_of_parts_uses_the_content() {
    for parts in ["[]", "[ ]", " [\\n]"] {
        let home = bare_with(&[&format!("build-prompt = {{ parts = \"{parts}\" }}")]);
        let finished = home.run(["hi"]).watched().finish().says("[cli:local]\nhi\n");
        assert_eq!(finished.saw_hook("run-model")[0]["prompt"], "hi", "{parts}\n{finished}");
    }
}

#[test]
fn parts_that_are_no_array_break_the_contract() {
    for parts in ["{}", "[", "null"] {
        let home = bare_with(&[&format!("build-prompt = {{ parts = \"{parts}\" }}")]);
        home.run(["hi"]).finish().fails("hook `build-prompt` of plugin `a`: broke the contract");
    }
}

#[test]
fn a_hook_that_is_not_the_models_may_not_speak() {
    let home = bare_with(&[r#"build-prompt = { emit = "forged" }
run-model = "o""#]);
    let finished = home.run(["hi"]).watched().finish().says("[cli:local]\no\n");
    assert_eq!(finished.saw_hook("emit")[0]["refused"], "Denied", "{finished}");
}

#[test]
fn a_prompt_of_parts_reaches_the_model_hook_as_it_is() {
    let home = bare_with(&[r#"build-prompt = [{ type = "text", text = "p" }]"#]);
    let finished = home.run(["hi"]).watched().finish();
    assert_eq!(finished.saw_hook("run-model")[0]["prompt"], json!([{ "type": "text", "text": "p" }]), "{finished}");
}

#[test]
fn system_prompts_are_joined_in_the_order_of_registration_and_empty_ones_left_out() {
    let home = home();
    for (name, answers) in
        [("a", r#"system-prompt = "s1""#), ("b", r#"system-prompt = """#), ("c", r#"system-prompt = "s2""#)]
    {
        home.scripted(name, programs::SCRIPTED, answers);
    }
    let server = Server::new([Answer::text("hello")]);
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nhello\n");
    let system = server.requests()[0].messages()[0]["content"].as_str().unwrap_or_default().to_owned();
    let builtin = system.strip_suffix("\n\ns1\n\ns2");
    assert!(builtin.is_some_and(|own| !own.is_empty() && !own.ends_with('\n')), "{system}");
}

#[test]
fn a_plugin_that_traps_leaves_its_part_of_the_system_prompt_out() {
    let home = home();
    home.scripted("a", programs::SCRIPTED, "system-prompt = { trap = true }");
    home.scripted("b", programs::SCRIPTED, r#"system-prompt = "s2""#);
    let server = Server::new([Answer::text("hello")]);
    let finished = home.run(["hi"]).model(&server).watched().finish().says("[cli:local]\nhello\n");
    let system = server.requests()[0].messages()[0]["content"].as_str().unwrap_or_default().to_owned();
    assert!(system.ends_with("\n\ns2"), "{system}");
    assert!(!finished.asked("on-error").is_empty(), "it is said aloud\n{finished}");
}

#[test]
fn on_the_terminal_a_message_that_begins_with_a_comma_is_a_command() {
    let finished = bare_with(&[""]).run([",help"]).watched().finish();
    assert_eq!(finished.saw_hook("build-prompt")[0]["kind"], "command", "{finished}");
}

#[test]
fn on_any_other_channel_it_is_text() {
    let home = bare_with(&[r#"run-model = "answered""#]);
    let finished = home.run([",help", "--channel", "telegram"]).watched().finish();
    assert_eq!(finished.saw_hook("build-prompt")[0]["kind"], "normal", "{finished}");
}

#[test]
fn a_comma_after_a_space_is_text() {
    let finished = bare_with(&[""]).run([" ,help"]).watched().finish();
    assert_eq!(finished.saw_hook("build-prompt")[0]["kind"], "normal", "{finished}");
}

#[test]
fn an_unknown_command_is_reported_and_not_sent_to_the_model() {
    let home = home();
    let server = Server::new([]);
    let finished = home.run([",no-such-thing"]).model(&server).finish();
    assert!(format!("{}{}", finished.stdout, finished.stderr).contains("no-such-thing"), "{finished}");
    assert!(server.requests().is_empty(), "{finished}");
}

#[test]
fn each_turn_builds_its_prompt_again() {
    let home = bare();
    home.scripted("a", programs::SCRIPTED, "");
    for message in ["one", "two"] {
        home.run([message]).finish().says(&format!("[cli:local]\n{message}\n"));
    }
}
