//! The official conformance suite of the protocol, against the client and the server. It comes from npm; where it cannot be
//! had, its tests say so.

use crate::home;
use crate::packages::{node, required, source};
use crate::serve::{echo, serve};
use bub_test_support::tier::in_full;
use bub_tests::{Home, programs};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const VERSION: &str = "0.1.16";

/// The suite needs Node 22; where the system's is older, npm has one.
const NODE: (&str, &str) = ("node", "22.23.3");

/// A scenario and how it ends: none is passed, else why it is not.
type Scenario = (&'static str, Option<&'static str>);

/// What is asked of a client. `auth/client-credentials-*` and `auth/cross-app-access-*` are extensions for programs without a
/// user, and `elicitation-*` is about questions of a server, which servers do not get to ask here.
const OF_CLIENTS: [Scenario; 20] = [
    ("initialize", None),
    ("tools_call", None),
    ("sse-retry", None),
    ("auth/metadata-default", None),
    ("auth/metadata-var1", None),
    ("auth/metadata-var2", None),
    ("auth/metadata-var3", None),
    ("auth/basic-cimd", Some("there is no address at which a program of a user describes itself")),
    ("auth/scope-from-www-authenticate", None),
    ("auth/scope-from-scopes-supported", None),
    ("auth/scope-omitted-when-undefined", None),
    ("auth/scope-step-up", None),
    ("auth/scope-retry-limit", None),
    ("auth/token-endpoint-auth-basic", None),
    ("auth/token-endpoint-auth-post", None),
    ("auth/token-endpoint-auth-none", None),
    ("auth/pre-registration", None),
    ("auth/2025-03-26-oauth-endpoint-fallback", None),
    (
        "auth/2025-03-26-oauth-metadata-backcompat",
        Some("its metadata names an issuer other than its address (RFC 8414)"),
    ),
    ("auth/resource-mismatch", None),
];

/// What is asked of a server that offers tools and resources. Prompts, completions, subscriptions, log levels, and tools that
/// answer with pictures or ask for something are no part of this server.
const OF_SERVERS: [Scenario; 10] = [
    ("server-initialize", None),
    ("ping", None),
    ("tools-list", None),
    ("tools-call-simple-text", None),
    ("tools-call-error", None),
    ("json-schema-2020-12", None),
    ("server-sse-multiple-streams", None),
    ("server-sse-polling", Some("the tool of this scenario breaks off its own stream, which tools cannot")),
    ("resources-list", None),
    ("dns-rebinding-protection", None),
];

/// The suite, and a Node that runs it.
struct Suite {
    node: PathBuf,
    script: PathBuf,
}

impl Suite {
    /// Installed once: two that install into one folder at a time destroy each other's work.
    fn find() -> Option<&'static Self> {
        static SUITE: OnceLock<Option<Suite>> = OnceLock::new();
        SUITE.get_or_init(Self::install).as_ref()
    }

    fn install() -> Option<Self> {
        let suite = required(node("@modelcontextprotocol/conformance", VERSION))?;
        let said = Command::new("node").arg("--version").output().ok()?;
        let said = String::from_utf8_lossy(&said.stdout);
        let major: Option<u32> = said.trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok());
        let node = match major >= Some(22) {
            true => PathBuf::from("node"),
            false => required(node(NODE.0, NODE.1))?.join("node_modules/node/bin/node"),
        };
        let script = suite.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
        Some(Self { node, script })
    }

    /// Whether that scenario is passed, and what was said.
    fn passes(&self, role: &str, scenario: &str, folder: &Path, more: impl Fn(&mut Command)) -> (bool, String) {
        let mut command = Command::new(&self.node);
        command.arg(&self.script).args([role, "--scenario", scenario]).current_dir(folder);
        more(&mut command);
        let output = command.output().expect("Node starts");
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        // Warnings are what a peer should do.
        (output.status.success() && !said.contains("WARNING"), said)
    }
}

/// All scenarios in a full run, else the first ones.
fn chosen(all: &'static [Scenario]) -> &'static [Scenario] {
    in_full(all, &all[..4])
}

#[track_caller]
fn check((scenario, known): Scenario, (passes, said): &(bool, String)) {
    match known {
        None => assert!(passes, "{scenario}: {said}"),
        Some(why) => assert!(!passes, "{scenario} is passed, and was listed as not: {why}"),
    }
}

/// Runs `bub-wasm` of that home with the arguments that the script gets.
fn program(home: &Home) -> String {
    let script = home.bub_home().join("program");
    home.bub([]).script(&script);
    let text = fs::read_to_string(&script).expect("the script is there");
    fs::write(&script, format!("{} \"$@\"\n", text.trim_end())).expect("the script can be written");
    script.to_string_lossy().into_owned()
}

#[test]
fn the_client_passes_the_official_conformance_suite() {
    let Some(suite) = Suite::find() else { return };
    let scenarios = chosen(&OF_CLIENTS);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let run = || {
            while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
                let home = home();
                let (program, driver) = (program(&home), source("../mcp/conformance.py"));
                let passed = suite.passes("client", scenario.0, &home.workspace(), |command| {
                    let driven = format!("python3 {driver}");
                    command.args(["--timeout", "120000", "--command", &driven]).env("PROGRAM", &program);
                });
                check(*scenario, &passed);
            }
        };
        let both = [scope.spawn(run), scope.spawn(run)];
        both.into_iter().for_each(|one| one.join().expect("its scenarios end as they should"));
    });
}

#[test]
fn the_server_passes_the_official_conformance_suite() {
    let Some(suite) = Suite::find() else { return };
    let (home, model) = (home(), echo());
    conformant(&home);
    let serve = serve(&home, &model);
    let mut proxy = Command::new("node");
    let proxy = proxy.arg(source("bearer.mjs")).arg(serve.base()).arg(serve.token()).stdout(Stdio::piped());
    let mut proxy = proxy.spawn().expect("Node starts");
    let mut base = String::new();
    let printed = proxy.stdout.take().map(|printed| BufReader::new(printed).read_line(&mut base));
    let url = format!("{}/mcp", base.trim());
    let outcomes: Vec<_> = chosen(&OF_SERVERS)
        .iter()
        .map(|scenario| {
            let with_url = |command: &mut Command| {
                command.args(["--url", &url]);
            };
            (*scenario, suite.passes("server", scenario.0, &home.workspace(), with_url))
        })
        .collect();
    let ended = proxy.kill().and_then(|()| proxy.wait());
    assert!(printed.is_some_and(|printed| printed.is_ok()) && ended.is_ok(), "{url}");
    outcomes.iter().for_each(|(scenario, outcome)| check(*scenario, outcome));
    serve.end();
}

/// A home whose plugin has the tools that the suite asks a server for.
fn conformant(home: &Home) {
    home.plugin("conformant", programs::CONFORMANT);
}

#[test]
pub(crate) fn conformant_has_the_tools_of_the_conformance_suite() {
    let home = home();
    conformant(&home);
    home.run([",test.simple_text"]).finish().says("[cli:local]\nThis is a simple text response for testing.\n");
    let failed = home.run([",test.error_handling"]).finish();
    assert!(failed.stderr.contains("intentionally returns an error"), "{failed}");
}
