//! Manifest declarations of commands, a channel and tools that are known only at run time.

use bub_guest::hook::{Channel, Command, Commands, Description, DynamicTools};
use bub_guest::{Envelope, Result, Turn, tool::ToolSpec};
use serde_json::{Value, json};

bub_guest::plugin! {
    about: "A channel with commands.",
    hooks: {
        /// to bring messages in
        channel: Post,
        commands: Counted,
    },
    dynamic_tools: Remote,
}

struct Post;

impl Channel for Post {
    const DESCRIPTION: Description =
        Description { supports_polling: true, polling_secret: Some("post_key"), ..Description::new("post") };

    fn send(message: Envelope, _key: String) -> Result<Option<String>> {
        Ok(Some(message.content))
    }
}

struct Counted;

impl Commands for Counted {
    const COMMANDS: &'static [Command] =
        &[Command { name: "count", about: "Count the \"words\"" }, Command { name: "list", about: "List them" }];

    fn run(name: &str, arguments: &[String]) -> Result<String> {
        Ok(format!("{name} {}", arguments.len()))
    }
}

struct Remote;

impl DynamicTools for Remote {
    fn list() -> Vec<ToolSpec> {
        Vec::new()
    }

    fn call(_turn: &Turn, name: &str, _arguments: &str) -> Result<String> {
        Err(bub_guest::tool::unknown(name))
    }
}

#[test]
fn commands_and_a_channel_are_declared_and_dynamic_tools_are_named_as_such() {
    let manifest: Value = serde_json::from_str(MANIFEST).unwrap();
    assert_eq!(manifest["tools"], "dynamic");
    let commands = json!([
        { "name": "count", "about": "Count the \"words\"" },
        { "name": "list", "about": "List them" },
    ]);
    assert_eq!(manifest["commands"], commands);
    let channel = json!({
        "name": "post", "needs_debounce": false, "supports_polling": true, "polling_secret": "post_key",
        "webhook": false, "supports_edits": false, "deduplicates": false,
    });
    assert_eq!(manifest["channel"], channel);
    assert!(manifest.get("provider").is_none());
    assert_eq!(Counted::run("count", &["a".to_owned()]).unwrap(), "count 1");
}
