//! The environment in which a page runs: a home, a workspace, a shell, and a model on loopback.

use super::output::{difference, lines, matches};
use super::page::{self, Script};
use super::shell::Shell;
use bub_tests::Server;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The reader's home, as pages call it.
const HOME: &str = "/home/you";

/// The port of `serve` that pages name.
const PORT: &str = "8420";

/// Longest wait for what a command in the background prints.
const PATIENCE: Duration = Duration::from_secs(60);

/// A machine with the program and nothing else on it.
pub(super) struct Machine {
    /// Ends before its directory is removed.
    shell: Shell,
    server: Server,
    answers: usize,
    home: PathBuf,
    cache: PathBuf,
    /// In place of [`PORT`]: several pages are run at once.
    port: String,
    _root: TempDir,
}

impl Machine {
    pub(super) fn new(answers: &[Script]) -> Self {
        let root = tempfile::tempdir().expect("a directory for the page");
        let top = root.path().canonicalize().expect("it is there");
        let (home, bin, outputs) = (top.join("you"), top.join("bin"), top.join("outputs"));
        // Compiled code is shared with the other tests.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled");
        for dir in [&home.join("project"), &bin, &outputs, &cache] {
            fs::create_dir_all(dir).expect("a directory for the page");
        }
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o700)).expect("it is ours");
        let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr()).expect("a free port").port();
        let port = port.to_string();
        put_program(&bin.join("bub-wasm"), &port);
        let mut command = Command::new("sh");
        command.current_dir(home.join("project")).env_clear();
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", bin.display())).env("HOME", &home).env("BUB_HOME", home.join(".bub"));
        command
            .env("BUB_CACHE", &cache)
            .env("BUB_BACKGROUND_COMPILE", "false")
            .env("BUB_RETRY_BASE_MS", "1")
            .env("TZ", "UTC")
            .env("LANG", "C.UTF-8");
        for (name, value) in toolchain() {
            command.env(name, value);
        }
        let shell = Shell::start(command, &outputs);
        let server = Server::new(answers.iter().map(Script::answer));
        Self { shell, server, answers: answers.len(), home, cache, port, _root: root }
    }

    /// Configures the model, as a reader has done before a page with a model.
    pub(super) fn configure_model(&mut self) {
        let base = self.server.base();
        self.shell.export("BUB_MODEL", "openai:gpt-4o");
        self.shell.export("BUB_API_KEY", "sk-key-of-a-reader");
        self.shell.export("BUB_API_BASE", &base);
    }

    /// Writes a file of a page, below the workspace unless its path says otherwise.
    pub(super) fn write(&self, path: &str, text: &str) {
        let below_home = path.strip_prefix("~/").map(|rest| self.home.join(rest));
        let below_bub = path.strip_prefix("$BUB_HOME/").map(|rest| self.home.join(".bub").join(rest));
        let path = below_home.or(below_bub).unwrap_or_else(|| self.home.join("project").join(path));
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("a directory for the file");
        fs::write(&path, text.replace(PORT, &self.port)).expect("the file can be written");
        // Of a configuration that others can read the program warns.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    }

    /// Runs a command and compares what it prints.
    pub(super) fn run(&mut self, command: &page::Command) -> Result<(), String> {
        let (script, expected) = (&command.script, &command.expected);
        let (code, file) = self.shell.run(&script.replace(PORT, &self.port))?;
        // A command in the background may take its time to print what the page shows.
        let begun = Instant::now();
        let is_background = script.trim_end().ends_with('&');
        let printed = loop {
            let printed = self.normal(&String::from_utf8_lossy(&fs::read(&file).unwrap_or_default()));
            let is_done = !is_background || matches(expected, &lines(&printed)) || begun.elapsed() > PATIENCE;
            if is_done {
                break printed;
            }
            thread::sleep(Duration::from_millis(5));
        };
        let printed = lines(&printed);
        if !matches(expected, &printed) {
            return Err(format!("`{script}` prints something else:\n{}", difference(expected, &printed)));
        }
        if code != 0 && expected.is_empty() {
            return Err(format!("`{script}` fails with exit code {code} and the page shows nothing of it"));
        }
        Ok(())
    }

    /// Compares how often the model was asked with how many answers the page has.
    pub(super) fn finish(self) -> Result<(), String> {
        let (asked, answers) = (self.server.requests().len(), self.answers);
        match asked {
            _ if asked < answers => {
                Err(format!("{} of {answers} scripted answers of the model were not asked for", answers - asked))
            }
            _ if asked > answers => {
                let plural = if answers == 1 { "answer" } else { "answers" };
                Err(format!("the model was asked {asked} times and the page has {answers} {plural}"))
            }
            _ => Ok(()),
        }
    }

    /// The output, with the paths and addresses of a reader's machine.
    fn normal(&self, text: &str) -> String {
        let home = self.home.to_str().expect("the path is UTF-8");
        let cache = self.cache.to_str().expect("the path is UTF-8");
        text.replace(&self.server.base(), "https://api.openai.com/v1")
            .replace(cache, &format!("{HOME}/.bub/cache"))
            .replace(home, HOME)
            .replace(&format!(":{}", self.port), &format!(":{PORT}"))
    }
}

/// Installs the program at that path; `serve` listens on that port by default.
fn put_program(path: &Path, port: &str) {
    let program = env!("CARGO_BIN_EXE_bub-wasm");
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in\n*' --listen'*|*' mcp serve '*) ;;\n*' serve '*) set -- \"$@\" --listen 127.0.0.1:{port} ;;\nesac\nexec '{program}' \"$@\"\n"
    );
    fs::write(path, script).expect("the program can be put there");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

/// Where Rust is and how it reaches its registry, for pages that build a plugin: in the reader's home it is not.
fn toolchain() -> Vec<(String, String)> {
    let own = ["CARGO_HOME", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "RUSTUP_"];
    let mut variables: Vec<_> =
        std::env::vars().filter(|(name, _)| own.iter().any(|own| name.starts_with(own))).collect();
    let home = std::env::home_dir().unwrap_or_default();
    for (name, dir) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        if !variables.iter().any(|(known, _)| known == name) {
            variables.push((name.to_owned(), home.join(dir).to_string_lossy().into_owned()));
        }
    }
    variables
}
