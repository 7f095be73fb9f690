//! The guest `skills`: which skills are found, what of them reaches the model, and what a stranger's cannot do.

mod bad;
mod trust;

use crate::home;
use bub_tests::golden::Case;
use bub_tests::{Answer, Finished, Home, Server, programs};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn with_skills() -> Home {
    home()
}

fn of_workspace(home: &Home) -> PathBuf {
    home.workspace().join(".agents/skills")
}

fn of_user(home: &Home) -> PathBuf {
    home.bub_home().with_file_name("user").join(".agents/skills")
}

/// A skill of that name whose description is `about NAME`.
fn skill(root: &Path, name: &str, body: &str) {
    file(root, name, format!("---\nname: {name}\ndescription: about {name}\n---\n{body}"));
}

fn file(root: &Path, name: &str, text: impl AsRef<[u8]>) {
    fs::create_dir_all(root.join(name)).expect("the directory can be written");
    fs::write(root.join(name).join("SKILL.md"), text).expect("it can be written");
}

/// The part of the system prompt that is about skills, as the model was sent it for that prompt; empty where there is
/// none.
#[track_caller]
fn block(home: &Home, prompt: &str) -> String {
    block_and_end(home, prompt).0
}

#[track_caller]
fn block_and_end(home: &Home, prompt: &str) -> (String, Finished) {
    let server = Server::new([Answer::text("hello")]);
    let finished = home.run([prompt]).model(&server).watched().finish().says("[cli:local]\nhello\n");
    let messages = server.requests()[0].messages();
    let system = messages[0]["content"].as_str().unwrap_or_default();
    let block = system.find("<available_skills>").map_or("", |at| &system[at..]);
    (block.split("\n\n<available_tools>").next().unwrap_or_default().to_owned(), finished)
}

/// The result of a call of the tool, as the model reads it.
#[track_caller]
fn call(home: &Home, arguments: &str) -> Value {
    let server = Server::new([Answer::tool_call("skill", arguments), Answer::text("done")]);
    home.run(["go on"]).model(&server).finish().says("[cli:local]\ndone\n");
    let messages = server.requests()[1].messages();
    // Earlier turns of the home have results of their own.
    let result = messages.iter().rfind(|message| message["role"] == "tool").expect("the call has a result");
    serde_json::from_str(result["content"].as_str().unwrap_or_default()).unwrap_or_else(|_| result["content"].clone())
}

/// The commands of the case are calls of the tool here.
#[test]
fn skills_agents() {
    let home = with_skills();
    home.without_memory();
    fs::write(home.workspace().join("AGENTS.md"), "Be brief.\n").expect("the workspace can be written");
    let body = "# Demo\n\nDir: $SKILL_DIR\nPy: $PYTHON\nModel: ${config.model}\nMissing: ${config.nope.x}\n\
                Dollar: $$ $unknown\n";
    skill(&of_workspace(&home), "demo-skill", body);
    file(&of_workspace(&home), "bad-skill", "---\nname: other\ndescription: d\n---\n");
    skill(&of_user(&home), "global-skill", "global");

    let case = Case::new("skills_agents");
    let server = Server::new(case.answers());
    home.run(["use $demo-skill now"]).model(&server).finish().says("[cli:local]\nHello from fake model.\n");
    let (workspace, recorded) = (home.workspace(), case.workspace());
    let workspaces = [workspace.to_str().expect("the path is UTF-8"), &recorded];
    case.request_is_repeated(1, &server.requests()[0].json(), &workspaces);

    let printed = |number: usize| {
        let text = fs::read_to_string(format!("{}/skills_agents/{number:02}.stdout", bub_tests::GOLDEN));
        text.expect("it was recorded").replace("[cli:local]\n", "").replace(&recorded, workspaces[0]).trim().to_owned()
    };
    // Where Python is, a sandbox cannot know; and the original carries three skills of its own.
    assert_eq!(call(&home, r#"{"name":"demo-skill"}"#), printed(2).replace("/usr/bin/python3", "python3"));
    let theirs = ["gh", "skill-creator", "telegram"].map(|name| format!("- {name}"));
    let expected: Vec<String> = printed(3).lines().map(str::to_owned).filter(|line| !theirs.contains(line)).collect();
    assert_eq!(call(&home, "{}"), expected.join("\n"));
}

#[test]
fn a_skill_is_listed_on_a_line_and_in_full_when_the_prompt_names_it() {
    let home = with_skills();
    skill(&of_user(&home), "one", "First of $$all.");
    skill(&of_user(&home), "two", "Second.");
    let plain = block(&home, "hi");
    assert!(plain.contains("\n- one: about one\n- two: about two\n</available_skills>"), "{plain}");
    let named = block(&home, "do it as $one says, not $Two.");
    let location = of_user(&home).join("one/SKILL.md");
    let expected = format!(
        "\n- one: about one\n  Location: {}\n<skill name=\"one\">\nFirst of $all.\n</skill>\n- two: about two\n",
        location.display()
    );
    assert!(named.contains(&expected), "{named}");
    assert!(!named.contains("Second."), "{named}");
}

#[test]
fn without_skills_the_prompt_does_not_mention_them() {
    let home = with_skills();
    let (block, finished) = block_and_end(&home, "hi");
    assert_eq!(block, "", "{finished}");
    assert!(!finished.stderr.contains("does not get"), "directories that are not there are no error\n{finished}");
    assert_eq!(call(&home, "{}"), "No skills are available.");
}

#[test]
fn without_any_directory_the_guest_logs_it_once_and_the_turn_continues() {
    let home = with_skills();
    home.configure("[plugins.skills]\ngrants = [\"hook:system-prompt\"]");
    skill(&of_user(&home), "mine", "");
    let server = Server::new([Answer::tool_call("skill", "{}"), Answer::text("done")]);
    let finished = home.run(["hi"]).model(&server).finish().says("[cli:local]\ndone\n");
    let why = "plugin `skills` does not hold the grant `fs:~/.agents/skills:ro`; \
               to give it: bub-wasm plugin grant skills fs:~/.agents/skills:ro";
    assert_eq!(finished.stderr.matches(why).count(), 1, "{finished}");
    assert_eq!(call(&home, "{}"), json!({ "kind": "denied", "message": why }));
    // One directory less is no reason to complain, be there a skill in the others or not.
    home.configure("[plugins.skills]\ngrants = [\"hook:system-prompt\", \"fs:<workspace>/.agent/skills:ro\"]");
    assert_eq!(call(&home, "{}"), "No skills are available.");
}

#[test]
fn a_skill_of_the_workspace_never_takes_the_name_of_the_users() {
    let home = with_skills();
    skill(&of_user(&home), "deploy", "the user's");
    skill(&of_workspace(&home), "deploy", "the stranger's");
    skill(&of_workspace(&home), "other", "");
    let (block, finished) = block_and_end(&home, "$deploy");
    assert!(block.contains("the user's") && !block.contains("the stranger's"), "{block}");
    assert!(block.contains("- other: "), "{block}");
    finished.mentions("/.agents/skills/deploy/SKILL.md` is left out: its name is taken by `");
}

#[test]
fn skills_in_the_former_directory_are_found_with_a_notice() {
    let home = with_skills();
    skill(&home.workspace().join(".agent/skills"), "old", "");
    let server = Server::new([Answer::tool_call("skill", "{}"), Answer::text("done")]);
    let finished = home.run(["hi"]).model(&server).finish().says("[cli:local]\ndone\n");
    // Two system prompts and a call: one message.
    assert_eq!(finished.stderr.matches("lies where skills used to lie").count(), 1, "{finished}");
    assert!(server.requests()[0].body.contains("- old: about old"));
}

#[test]
fn a_turn_that_may_use_some_skills_sees_no_others() {
    let home = with_skills();
    for name in ["one", "two"] {
        skill(&of_user(&home), name, "text");
    }
    home.scripted("states", programs::SCRIPTED, "load-state = { allowed_skills = [\"Two\"] }");
    let block = block(&home, "$one $two");
    assert!(block.contains("- two") && !block.contains("- one"), "{block}");
    assert_eq!(call(&home, "{}"), "Available skills:\n- two");
    assert_eq!(call(&home, r#"{"name":"one"}"#)["kind"], "not_found");
}

#[test]
fn a_skill_that_is_not_there_is_answered_with_the_one_that_may_have_been_meant() {
    let home = with_skills();
    skill(&of_user(&home), "pdf-tools", "");
    for written in ["pdf-tool", "pdftools", "pdf", "PDF-Tolls"] {
        let result = call(&home, &json!({ "name": written }).to_string());
        assert_eq!(result["kind"], "not_found", "{result}");
        assert_eq!(result["message"], format!("there is no skill `{written}`; did you mean `pdf-tools`"));
    }
    let result = call(&home, r#"{"name":"something else"}"#);
    assert!(result["message"].as_str().is_some_and(|text| text.ends_with("lists those that there are")), "{result}");
    assert_eq!(
        call(&home, r#"{"name":" PDF-Tools "}"#),
        format!("Location: {}\n---\n(no content)", of_user(&home).join("pdf-tools/SKILL.md").display())
    );
    assert_eq!(call(&home, r#"{"name":7}"#)["kind"], "invalid_input");
}

#[test]
fn the_configuration_is_filled_in_and_no_key() {
    let home = with_skills();
    home.configure("[plugins.skills.config.jira]\nurl = \"https://jira.example\"\napi_key = \"ours-123\"");
    home.configure("[plugins.skills.config]\nnote = \"sk-ours-456\"");
    let body = "${config.jira.url} [${config.jira.api_key}${config.note}${config.api_key}${config.BUB_API_KEY}] ${config.jira}";
    skill(&of_user(&home), "jira", body);
    let block = block(&home, "$jira");
    assert!(block.contains(r#"https://jira.example [] {"url":"https://jira.example"}"#), "{block}");
}

/// The original would have handled such a text like a prompt that begins with a comma.
#[test]
fn the_text_of_a_skill_is_no_command() {
    let home = with_skills();
    skill(&of_user(&home), "comma", ",skill");
    let block = block(&home, "$comma");
    assert!(block.contains("\n,skill\n"), "{block}");
    let tape = bub_tests::tape::read(&home.tape_file("cli:local"));
    assert!(!tape.iter().any(|entry| entry["payload"]["name"] == "command"), "{tape:?}");
}
