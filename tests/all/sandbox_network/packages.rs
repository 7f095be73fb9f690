//! Package managers and git in the sandbox, with servers on the loopback that rules open.

use super::bash;
use super::support::{has_sandbox, run, sandboxed};
use bub_tests::Home;
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A server of all three registries and of a git repository, in Python.
const SERVER: &str = include_str!("registry.py");

struct Registry {
    process: Child,
    port: u16,
}

impl Registry {
    /// None: there is no Python here.
    fn start(git_root: &Path) -> Option<Self> {
        let mut process = Command::new(python()?)
            .args(["-c", SERVER])
            .arg(git_root)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take()?).read_line(&mut line).ok()?;
        Some(Self { process, port: line.trim().parse().expect("it prints its port") })
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What a command prints, on one line.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned()).filter(|said| !said.is_empty())
}

/// The interpreter itself, which shims in a home stand for.
fn python() -> Option<String> {
    said("python3", &["-c", "import sys; print(sys.executable)"])
}

fn sysroot() -> Option<String> {
    said("rustc", &["--print", "sysroot"])
}

/// A home in whose sandbox these directories can be read.
fn with_tools(process: &str, read: &[&str]) -> Home {
    let read = read.iter().filter(|path| !["/", "/usr"].contains(path)).collect::<Vec<_>>();
    sandboxed(&format!("read = {read:?}\n{process}"))
}

/// Runs a command in the sandbox, which must succeed.
#[track_caller]
fn does(home: &Home, command: &str) {
    let script = format!("TOOL:bash {}", json!({ "cmd": command, "timeout_seconds": 120 }));
    let finished = run(home, [script.as_str()]).finish();
    assert!(finished.stdout.contains("tool said:") && !finished.stdout.contains("exited with code"), "{finished}");
}

#[test]
fn pip_installs_from_the_registry_that_it_is_configured_with() {
    let Some(python) = python().filter(|_| has_sandbox()) else { return };
    let prefix = said(&python, &["-c", "import sys; print(sys.base_prefix)"]).expect("it has one");
    let root = tempfile::tempdir().expect("a directory");
    let registry = Registry::start(root.path()).expect("it starts");
    let home = with_tools("registries = [\"pip\"]", &[&prefix]);
    let index = format!("http://{}/simple", registry.host());
    let install = format!(
        "{python} -m pip install -q --no-cache-dir --disable-pip-version-check --retries 0 --target out --index-url {index} hello-bub"
    );
    let finished = run(&home, [bash(&install).as_str()]).finish();
    assert!(finished.stdout.contains("exited with code"), "no rule names it yet: {finished}");
    // As `pip config set` writes it.
    let config = home.workspace().parent().expect("the home's root").join("user/.config/pip");
    fs::create_dir_all(&config).expect("a directory");
    fs::write(config.join("pip.conf"), format!("[global]\nindex-url = {index}\n")).expect("a file");
    does(&home, &install);
    assert!(home.workspace().join("out/hello_bub.py").is_file());
}

#[test]
fn npm_installs_from_a_registry_of_a_rule() {
    if !has_sandbox() || said("npm", &["--version"]).is_none() {
        println!("skipped: there is no npm here");
        return;
    }
    let root = tempfile::tempdir().expect("a directory");
    let Some(registry) = Registry::start(root.path()) else { return };
    let home = with_tools(&format!("allow_hosts = [\"{}\"]", registry.host()), &[]);
    fs::write(home.workspace().join("package.json"), "{\"name\": \"here\", \"version\": \"1.0.0\"}").expect("a file");
    does(&home, &format!("npm install --no-audit --no-fund --registry http://{} hello-bub", registry.host()));
    assert!(home.workspace().join("node_modules/hello-bub/package.json").is_file());
}

#[test]
fn cargo_builds_with_a_crate_from_a_registry_of_a_rule() {
    let Some(sysroot) = sysroot().filter(|_| has_sandbox()) else { return };
    let root = tempfile::tempdir().expect("a directory");
    let Some(registry) = Registry::start(root.path()) else { return };
    let home = with_tools(&format!("allow_hosts = [\"{}\"]", registry.host()), &[&sysroot]);
    let at = |path: &str, text: &str| {
        let path: PathBuf = home.workspace().join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
        fs::write(path, text).expect("a file");
    };
    let index = format!("sparse+http://{}/index/", registry.host());
    at(".cargo/config.toml", &format!("[registries.here]\nindex = \"{index}\"\n"));
    at(
        "Cargo.toml",
        "[package]\nname = \"uses\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[dependencies]\nhello-bub = { version = \"1\", registry = \"here\" }\n",
    );
    at("src/main.rs", "fn main() { println!(\"{}\", hello_bub::hello()); }\n");
    let cargo = format!("export PATH={sysroot}/bin:$PATH CARGO_HOME=$PWD/.home; cargo run -q");
    does(&home, &cargo);
    assert!(home.workspace().join("target/debug/uses").is_file());
}

#[test]
fn git_pushes_to_a_server_of_a_rule() {
    let Some(backend) = said("git", &["--exec-path"]).filter(|_| has_sandbox()) else { return };
    if !Path::new(&backend).join("git-http-backend").is_file() {
        println!("skipped: there is no `git-http-backend` here");
        return;
    }
    let root = tempfile::tempdir().expect("a directory");
    let bare = root.path().join("there.git");
    said("git", &["init", "--bare", &bare.to_string_lossy()]).expect("a repository");
    let configured = Command::new("git").arg("-C").arg(&bare).args(["config", "http.receivepack", "true"]).status();
    assert!(configured.is_ok_and(|status| status.success()));
    let Some(registry) = Registry::start(root.path()) else { return };
    let home = with_tools(&format!("allow_hosts = [\"{}\"]", registry.host()), &[]);
    let push = format!(
        "git init -q -b main repo && cd repo && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git push -q http://{}/git/there.git main",
        registry.host()
    );
    does(&home, &push);
    let log = Command::new("git").arg("-C").arg(&bare).args(["log", "--format=%s", "main"]).output().expect("git");
    assert_eq!(String::from_utf8_lossy(&log.stdout).trim(), "one");
}
