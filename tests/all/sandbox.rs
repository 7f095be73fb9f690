//! Programs in a sandbox of the operating system: what they cannot do, what they can, and what is said of it.

mod escapes;
mod leftovers;
mod machine;
mod namespaces;
mod outside;
mod places;
mod relay;
mod work;

use bub_tests::{Answer, Home, Server};
use serde_json::{Value, json};
use std::process::Command;
use std::sync::OnceLock;

/// A home whose owner vouches for the workspace: what is read there taints nothing.
fn home() -> Home {
    let home = crate::home();
    assert_eq!(home.bub(["trust"]).finish().code, Some(0));
    home
}

/// The backends that this machine has. A test prints which ones it leaves out.
pub(crate) fn backends() -> &'static [&'static str] {
    static FOUND: OnceLock<Vec<&str>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let found = ["bwrap", "landlock"].into_iter().filter(|name| {
            let home = crate::home();
            let told = home.bub(["doctor"]).env("BUB_SANDBOX", name).finish().stdout;
            told.contains(&format!("sandbox for programs: {name}"))
        });
        let found: Vec<&str> = found.collect();
        for name in ["bwrap", "landlock"] {
            if !found.contains(&name) {
                println!("skipped: there is no `{name}` on this machine");
            }
        }
        found
    })
}

/// The results of these commands, which a model runs with `bash` one after the other in one turn.
#[track_caller]
fn commands(home: &Home, sandbox: &str, commands: &[&str], more: &[&str]) -> Vec<String> {
    let arguments: Vec<Value> = commands.iter().map(|cmd| json!({ "cmd": cmd })).collect();
    calls(home, sandbox, &arguments, more)
}

/// The same with all arguments of the calls.
#[track_caller]
fn calls(home: &Home, sandbox: &str, arguments: &[Value], more: &[&str]) -> Vec<String> {
    let call = |(index, arguments): (usize, &Value)| {
        let function = json!({ "name": "bash", "arguments": arguments.to_string() });
        json!({ "index": index, "id": format!("call_{index}"), "type": "function", "function": function })
    };
    let listed: Vec<Value> = arguments.iter().enumerate().map(call).collect();
    let server = Server::new([Answer::tool_calls(&listed), Answer::text("done")]);
    let run = home.run(["go on"].into_iter().chain(more.iter().copied())).model(&server).env("BUB_SANDBOX", sandbox);
    let finished = run.finish().answers();
    let messages = server.requests().pop().expect("the model was asked").messages();
    let contents = messages.iter().filter(|message| message["role"] == "tool").map(|message| &message["content"]);
    let mut results: Vec<String> =
        contents.map(|content| content.as_str().map_or_else(|| content.to_string(), str::to_owned)).collect();
    assert!(results.len() >= arguments.len(), "{finished}");
    results.split_off(results.len() - arguments.len())
}

/// Whether the machine has that program.
fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn doctor_says_what_holds_programs_and_how_to_get_a_better_one() {
    let home = home();
    let told = |sandbox: &str| home.bub(["doctor"]).env("BUB_SANDBOX", sandbox).finish().stdout;
    assert!(told("off").contains("sandbox for programs: none"), "{}", told("off"));
    for backend in backends() {
        assert!(told(backend).contains(&format!("sandbox for programs: {backend}")), "{}", told(backend));
    }
    if backends().contains(&"bwrap") {
        assert!(told("auto").contains("sandbox for programs: bwrap"), "{}", told("auto"));
    } else {
        assert!(told("auto").contains("bubblewrap"), "{}", told("auto"));
    }
}

#[test]
fn a_wrong_setting_is_one_line_that_helps() {
    let home = crate::home();
    for (config, words) in [
        ("[process]\nsandbox = \"bubblewrap\"", ["`sandbox` is `bubblewrap`", "`bwrap`"]),
        ("[process]\nread = [\"cargo\"]", ["`process.read`", "neither an absolute path"]),
        ("[process]\nwrite = [\"~/../x\"]", ["`process.write`", "`..`"]),
        ("[process.limits]\nprocess = 1", ["there is no key", "did you mean `processes`"]),
        ("[mcp.sandboxed]\ncommand = \"x\"", ["no name of a server", "process:sandboxed"]),
    ] {
        let home = crate::home();
        home.configure(config);
        home.run(["hi"]).finish().refuses(&words);
    }
    home.run(["hi"]).env("BUB_SANDBOX", "on").finish().refuses(&["`BUB_SANDBOX`", "`sandbox` is `on`"]);
}

#[test]
fn strict_runs_nothing_where_there_is_no_sandbox() {
    let home = home();
    home.configure("[process]\nstrict = true");
    let results = commands(&home, "off", &["touch made"], &[]);
    assert!(results[0].contains("no program runs without a sandbox"), "{results:?}");
    assert!(!home.workspace().join("made").exists());
    let doctor = home.bub(["doctor"]).env("BUB_SANDBOX", "off").finish();
    assert!(doctor.stdout.contains("wrong sandbox for programs"), "{doctor}");
}
