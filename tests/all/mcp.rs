//! The MCP client in the whole program, with `tests/mcp/server.py` as the server: well-behaved, or with a bad habit.

mod commands;
pub(crate) mod conformance;
mod consent;
mod hostile;
mod import;
mod logins;
mod official;
mod turns;
mod web;

use crate::home;
use bub_tests::{Answer, Finished, Home, Server};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The script of the server.
pub(crate) fn script() -> String {
    format!("{}/../../tests/mcp/server.py", env!("CARGO_MANIFEST_DIR"))
}

/// The digest and the text of what the well-behaved server offers, as `mcp add` accepts it.
fn accepted() -> &'static (String, String) {
    static ACCEPTED: OnceLock<(String, String)> = OnceLock::new();
    ACCEPTED.get_or_init(|| {
        let home = home();
        let script = script();
        let added = home.bub(["mcp", "add", "it", "--", "python3", &script, "good"]).finish();
        assert_eq!(added.code, Some(0), "{added}");
        let list = fs::read_to_string(home.bub_home().join("mcp/it.json")).expect("it was accepted");
        (config_of(&home)["mcp"]["it"]["digest"].as_str().expect("it has a digest").to_owned(), list)
    })
}

fn config_of(home: &Home) -> toml::Table {
    fs::read_to_string(home.bub_home().join("config.toml")).expect("it is there").parse().expect("it is TOML")
}

/// What the server notes of its starts, calls and so on.
fn state(home: &Home) -> PathBuf {
    let state = home.workspace().with_file_name("state");
    fs::create_dir_all(&state).expect("a directory for the server");
    state
}

fn noted(home: &Home, name: &str) -> Vec<String> {
    let text = fs::read_to_string(state(home).join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// A home with that server as `[mcp.it]`, and the tools of the well-behaved one accepted. `more` is further TOML of the table.
fn with_server(habit: &str, more: &str) -> Home {
    let home = home();
    let state = state(&home);
    let arguments = format!("{:?}", [&script(), "--state", &*state.to_string_lossy(), habit]);
    configure(&home, &format!("command = \"python3\"\nargs = {arguments}\n{more}"));
    home
}

fn configure(home: &Home, table: &str) {
    let (digest, list) = accepted();
    home.configure(&format!("[mcp.it]\ndigest = \"{digest}\"\n{table}"));
    fs::create_dir_all(home.bub_home().join("mcp")).expect("the home can be written");
    fs::write(home.bub_home().join("mcp/it.json"), list).expect("the home can be written");
}

/// A turn in which the model calls these tools, each in a request of its own, and then says `done`.
fn turn(home: &Home, calls: &[(&str, &str)], arguments: &[&str]) -> (Finished, Vec<Value>) {
    let calls = calls.iter().map(|(tool, arguments)| Answer::tool_call(tool, arguments));
    let server = Server::new(calls.chain([Answer::text("done")]));
    let finished = home.run(["call it"].into_iter().chain(arguments.iter().copied())).model(&server).finish();
    let requests = server.requests().iter().map(|request| request.json()).collect();
    (finished, requests)
}

/// The results of the calls, as the model reads them.
fn results(requests: &[Value]) -> Vec<String> {
    let messages = requests.last().and_then(|request| request["messages"].as_array()).expect("there was a request");
    let results = messages.iter().filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The result of one call with the owner's approval, in a turn that goes on to its end.
#[track_caller]
fn result(home: &Home, tool: &str, arguments: &str) -> (String, Finished) {
    let (finished, requests) = turn(home, &[(tool, arguments)], &["--allow", "run"]);
    assert!(finished.stdout.ends_with("done\n"), "{finished}");
    (results(&requests).pop().expect("the call has a result"), finished)
}

/// The names of the tools that a request offers.
fn offered(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
}

/// All bytes that a home keeps, but for what was configured.
fn kept(home: &Home) -> String {
    fn read(dir: &Path, all: &mut String) {
        for file in fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = file.path();
            if path.is_dir() {
                read(&path, all);
            } else if !["secrets.toml", "config.toml"].iter().any(|name| path.ends_with(name)) {
                all.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()));
            }
        }
    }
    let mut all = String::new();
    read(&home.bub_home(), &mut all);
    all
}

fn secret(home: &Home, name: &str, value: &str, hosts: &[&str]) {
    let arguments = ["secret", "set", name, "--value-stdin"].into_iter();
    let hosts = hosts.iter().flat_map(|host| ["--host", host]);
    let set = home.bub(arguments.chain(hosts)).input(value).finish();
    assert_eq!(set.code, Some(0), "{set}");
}

/// A server over HTTP, which ends with it.
pub(crate) struct Web {
    child: Child,
    pub(crate) base: String,
}

impl Web {
    pub(crate) fn start(home: &Home, habit: &str) -> Self {
        Self::with(home, &[habit])
    }

    /// A server with further arguments, the habit last.
    fn with(home: &Home, more: &[&str]) -> Self {
        let state = state(home);
        let file = state.join("port");
        let (script, file_name, state) = (script(), file.to_string_lossy(), state.to_string_lossy());
        let arguments = [&*script, "--http", &*file_name, "--state", &*state];
        let arguments = arguments.into_iter().chain(more.iter().copied());
        let child = Command::new("python3").args(arguments).stdin(Stdio::null()).spawn().expect("python3 runs");
        let begun = Instant::now();
        let port = loop {
            if let Ok(port) = fs::read_to_string(&file) {
                break port;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "the server does not start");
            std::thread::sleep(Duration::from_millis(5));
        };
        Self { child, base: format!("http://127.0.0.1:{port}/mcp") }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A home with that server over HTTP.
fn with_web(habit: &str, more: &str) -> (Home, Web) {
    let home = home();
    let web = Web::start(&home, habit);
    configure(&home, &format!("url = \"{}\"\n{more}", web.base));
    (home, web)
}
