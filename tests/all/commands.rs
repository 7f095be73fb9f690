//! Comma commands: a line that names a tool, without a model.

use crate::home;
use bub_tests::golden::Case;
use bub_tests::{Answer, Server, tape};
use serde_json::json;

#[test]
fn cmd_shell() {
    // One of the commands counts the characters of the home's path.
    Case::new("cmd_shell").env("HOME", format!("/{}", "h".repeat(37))).is_repeated_in(&home());
}

#[test]
fn cmd_fs() {
    Case::new("cmd_fs").is_repeated_in(&home());
}

#[test]
fn cmd_session() {
    Case::new("cmd_session").is_repeated_in(&home());
}

#[test]
fn spill() {
    Case::new("spill").is_repeated_in(&home());
}

#[test]
fn a_line_names_a_tool_and_its_arguments_by_name_or_in_their_order() {
    let home = home();
    for (line, says) in [
        (",tape.anchors", "- session/start"),
        (",tape.handoff phase-1 'all done'", "anchor added: phase-1"),
        (",tape.handoff name=phase-2 summary=\"it's done\"", "anchor added: phase-2"),
        (",tape.anchors", "- session/start\n- phase-1\n- phase-2"),
        (",fs.write notes.txt 'one two'", &format!("wrote: {}/notes.txt", home.workspace().display())),
        (",fs.read notes.txt", "one two"),
        (",tape.search nothing-like-it", "[tape.search]: 0 matches (0 filtered)"),
        (",tape.search phase kinds=anchor limit=1", "[tape.search]: 1 matches (0 filtered)"),
        (",echo $((1 + 2))", "3"),
        (",quit", "Session tasks stopped."),
    ] {
        let finished = home.run([line]).finish();
        let expected = format!("[cli:local]\n{says}\n");
        let alike =
            finished.stdout == expected || line.contains("limit=1") && finished.stdout.starts_with(expected.trim_end());
        assert!(finished.code == Some(0) && alike, "{line}: {finished}");
    }
}

#[test]
fn commands_are_recorded_on_the_tape_even_if_they_fail() {
    let home = home();
    home.run([",false"]).finish().fails("command exited with code 1");
    let entries = tape::read(&home.tape_file("cli:local"));
    let command = entries.iter().find(|entry| entry["payload"]["name"] == "command").expect("it is written down");
    let data = &command["payload"]["data"];
    assert_eq!((&data["raw"], &data["name"], &data["status"]), (&json!("false"), &json!("false"), &json!("error")));
    assert!(!entries.iter().any(|entry| entry["kind"] == "message"), "a command is no conversation");
}

#[test]
fn a_line_that_cannot_be_read_leaves_no_trace() {
    let home = home();
    for (line, why) in [(",", "no name follows it"), (",  ", "no name follows it"), (",tape.info 'a", "does not end")] {
        home.run([line]).finish().fails(why);
    }
    let entries = tape::read(&home.tape_file("cli:local"));
    assert!(!entries.iter().any(|entry| entry["payload"]["name"] == "command"), "{entries:?}");
    // The message and its outcome stay on the tape: failed turns are not removed.
    assert_eq!(entries.iter().filter(|entry| entry["kind"] == "error").count(), 3, "{entries:?}");
}

#[test]
fn arguments_that_make_no_sense_are_a_command_that_failed() {
    for (line, why) in [
        (",tape.handoff name=x y", "has no name"),
        (",tape.info extra", "one argument too many"),
        (",tape.search hello limit=many", "`limit`"),
        (",fs.read bogus=1", "path"),
    ] {
        let home = home();
        home.run([line]).finish().fails(why);
        let entries = tape::read(&home.tape_file("cli:local"));
        let commands: Vec<_> = entries.iter().filter(|entry| entry["payload"]["name"] == "command").collect();
        assert_eq!(commands.len(), 1, "{line}: {entries:?}");
        let data = &commands[0]["payload"]["data"];
        assert_eq!((&data["raw"], &data["status"]), (&json!(line[1..]), &json!("error")));
        assert!(data["output"].as_str().is_some_and(|output| output.contains(why)), "{line}: {data}");
    }
}

#[test]
fn a_line_is_text_where_the_channel_has_no_commands() {
    let home = home();
    let server = Server::new([Answer::text("it was text")]);
    home.run(["--channel", "chat", "--session-id", "s", ",bash 'touch pwned'"]).model(&server).finish();
    assert_eq!(server.requests().len(), 1);
    assert!(!home.workspace().join("pwned").exists());
}

#[test]
fn a_channel_may_have_commands_that_name_tools_and_no_shell() {
    let home = home();
    home.configure("[channels.chat]\ncommands = \"tools\"\nowners = [\"me\"]");
    let run = |line: &str| home.run(["--channel", "chat", "--session-id", "s", "--sender-id", "me", line]).finish();
    let finished = run(",tape.anchors");
    assert!(finished.stdout.contains("- session/start"), "{finished}");
    let refused = run(",touch pwned");
    assert!(refused.code == Some(1) && refused.stderr.contains("no command is called `touch`"), "{refused}");
    assert!(!home.workspace().join("pwned").exists());
}

#[test]
fn a_session_keeps_the_model_and_the_effort_that_it_was_given() {
    let home = home();
    let server = Server::new([Answer::text("a"), Answer::text("b")]);
    home.run([",model openai:other-model"])
        .model(&server)
        .finish()
        .says("[cli:local]\nSession model set to openai:other-model (applies from the next turn).\n");
    home.run(["hi"]).model(&server).finish().says("[cli:local]\na\n");
    home.run([",reasoning_effort high"])
        .model(&server)
        .finish()
        .says("[cli:local]\nSession reasoning effort set to high (applies from the next turn).\n");
    home.run(["hi"]).model(&server).finish().says("[cli:local]\nb\n");
    let asked: Vec<_> = server.requests().iter().map(|request| request.json()).collect();
    assert_eq!((&asked[0]["model"], &asked[1]["model"]), (&json!("other-model"), &json!("other-model")));
    assert_eq!((asked[0].get("reasoning_effort"), &asked[1]["reasoning_effort"]), (None, &json!("high")));
}

#[test]
fn an_invalid_model_or_effort_is_rejected_with_a_suggestion() {
    let home = home();
    home.configure("model = \"openai:gpt-4o\"\nfallback_models = [\"groq:llama\"]");
    for (line, says) in [
        (",model nope", "write `provider:model`"),
        (",model default", "configured is `openai:gpt-4o`"),
        (",model gpt-4o", "did you mean `openai:gpt-4o`"),
        (",model opnai:gpt-4o", "did you mean `openai`"),
        (",model nobody:x", "no provider is called `nobody`"),
        (",reasoning_effort banana", "`minimal`, `low`, `medium`, `high`, `xhigh`, `max`, and `none`"),
        (",reasoning_effort hihg", "did you mean `high`"),
        (",reasoning_effort default", "no reasoning effort"),
    ] {
        home.run([line]).finish().fails(says);
    }
    let switched = |name: &str| {
        let entries = tape::read(&home.tape_file("cli:local"));
        entries.iter().filter(|entry| entry["payload"]["name"] == name).count()
    };
    assert_eq!((switched("model_switch"), switched("reasoning_effort_switch")), (0, 0));
}

#[test]
fn a_model_that_no_list_here_has_can_be_chosen() {
    let home = home();
    home.configure("model = \"openai:gpt-4o\"");
    for (line, remark) in [
        (",model openai:of-tomorrow", ""),
        (",model openai:gpt-4p", " It is not among those configured; did you mean `openai:gpt-4o`?"),
        (",model groq:llama", " No key for `groq` is known: set `GROQ_API_KEY`."),
        (",model offline:demo", ""),
    ] {
        let model = line.split(' ').nth(1).unwrap();
        let says = format!("[cli:local]\nSession model set to {model} (applies from the next turn).{remark}\n");
        home.run([line]).env("OPENAI_API_KEY", "sk-fake-fake-fake").finish().says(&says);
    }
    home.run([",model mine:x"]).env("BUB_MINE_API_BASE", "http://127.0.0.1:9/v1").finish();
    let listed = home.run([",model"]).finish();
    assert!(listed.stdout.contains("* mine:x"), "{listed}");
}

#[test]
fn a_slip_in_a_commands_name_is_no_command_of_the_shell() {
    let home = home();
    for (line, says) in [
        (",modle", "did you mean `,model`"),
        (",modle $(touch pwned)", "did you mean `,model`"),
        (",tape.inof", "did you mean `,tape.info`"),
        (",tape", "`,tape.info`"),
        (",hepl", "did you mean `,help`"),
    ] {
        home.run([line]).finish().fails(says);
    }
    assert!(!home.workspace().join("pwned").exists());
    // Commands of the shell run, whatever they look like.
    home.run([",kill -l 15"]).finish().says("[cli:local]\nTERM\n");
    home.run([",ls"]).finish();
    home.run([",definitely-not-a-program"]).finish().fails("exited with code 127");
}

#[test]
fn help_names_every_command() {
    let finished = home().run([",help"]).finish();
    for name in [",help", ",tape.search QUERY ", ",fs.read PATH ", ",bash CMD ", ",model  ", "shell"] {
        assert!(finished.stdout.contains(name), "{name}: {finished}");
    }
}
