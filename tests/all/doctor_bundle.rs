//! `doctor --bundle`: its content, without secrets.

use crate::home;
use bub_tests::{Answer, Home, Server, programs};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A text with the form of a provider's key, with that in it.
fn key(mark: &str) -> String {
    format!("sk-proj-{mark}Zx81kPq93LmNb72QwErTy6")
}

/// The files of a bundle, each with its name in front.
#[track_caller]
fn unpacked(home: &Home, bundle: &str) -> String {
    let dir = home.workspace().join("unpacked");
    fs::create_dir_all(&dir).expect("a directory");
    let status = Command::new("tar").arg("-xzf").arg(home.workspace().join(bundle)).arg("-C").arg(&dir).status();
    assert!(status.expect("tar runs").success());
    let inner = fs::read_dir(&dir).expect("it is there").flatten().next().expect("one directory").path();
    let mut text = String::new();
    let mut files: Vec<_> = fs::read_dir(inner).expect("it is there").flatten().map(|file| file.path()).collect();
    files.sort();
    for file in files {
        text +=
            &format!("== {}\n{}\n", file.file_name().unwrap().to_string_lossy(), fs::read_to_string(&file).unwrap());
    }
    text
}

/// A configuration with something secret in every place where a text can stand.
fn planted() -> String {
    format!(
        r#"
# plantedcomment
model = "openai:{model}"
fallback_models = ["groq:{fallback}"]
embedding_model = "openai:{embedding}"
api_base = "https://planteduser:plantedpassword@127.0.0.1:9/plantedpath"
tape_store = "sqlite:plantedstore.db"
trusted_workspaces = ["/plantedworkspace"]
max_steps = 7

[policy]
approve = "auto"
runs_later = ["plantedlater"]

[windows]
"openai:{window}" = 1000

[plugins.caller]
follow = true
grants = ["hook:*", "secret:{grant}"]
[plugins.caller.config]
plantedkey = "plantedvalue"
pin = 918273645
open = true
list = ["plantedlisted"]
[plugins.caller.config.table]
plantedinner = "plantedinnervalue"

[trusted_plugins.{digest}]
file = "/plantedfile"
config = {{ word = "plantedtrusted" }}

[channels.chat]
owners = ["plantedowner"]
peers = ["plantedpeer"]
tools = ["{tool}"]

[serve]
hosts = ["plantedhost"]
origins = ["https://plantedorigin"]
tls = {{ certificate = "plantedcertificate", key = "plantedtlskey" }}

[[tokens]]
name = "plantedtoken"
hash = "{hash}"
scopes = ["turns"]
session_prefix = "plantedprefix"
"#,
        model = key("plantedA"),
        fallback = key("plantedB"),
        embedding = key("plantedC"),
        window = key("plantedD"),
        grant = "planted1234567890abcdefghij",
        digest = "b".repeat(64),
        tool = key("plantedF"),
        hash = "a1".repeat(32),
    )
}

#[test]
fn no_secret_that_is_planted_anywhere_comes_out_in_a_bundle() {
    let home = home().strict();
    fs::write(home.bub_home().join("config.toml"), planted()).expect("it is ours");
    let env = format!(
        "BUB_GROQ_API_KEY={}\nBUB_SECRET_WEATHER=plantedweather\nBUB_CLIENT_ARGS='{{\"default_headers\":{{\"x\":\"plantedheader\"}}}}'\nOPENAI_API_KEY={}\n",
        key("plantedG"),
        key("plantedH"),
    );
    fs::write(home.bub_home().join(".env"), env).expect("it is ours");
    let kept = home.bub(["secret", "set", "kept", "--host", "planted.example", "--value-stdin"]);
    let kept = kept.input("plantedkeptvalue\n").finish();
    assert_eq!(kept.code, Some(0), "{kept}");
    home.plugin("caller", programs::CALLER);
    let finished = home
        .bub(["doctor", "--bundle", "report.tar.gz"])
        .env("BUB_API_KEY", key("plantedI"))
        .env("BUB_MODEL", format!("openai:{}", key("plantedJ")))
        .env("BUB_ENABLED_CHANNELS", key("plantedK"))
        .env("BUB_COMPLETION_ARGS", "{\"user\": \"planteduserarg\"}")
        .env("BUB_TELEGRAM_ALLOW_USERS", "plantedperson")
        .env("AWS_SECRET_ACCESS_KEY", "plantedaws")
        .env("DATABASE_URL", "postgres://me:planteddatabase@db")
        .env("HTTPS_PROXY", "http://proxyuser:plantedproxy@127.0.0.1:9")
        .env("RUST_LOG", "debug")
        .finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    let bundle = unpacked(&home, "report.tar.gz");
    let leaked: Vec<&str> = bundle
        .lines()
        // A first key of a plugin's settings is a name, and so is that of a variable.
        .filter(|line| line.replace("plantedkey = \"***\"", "").contains("planted") || line.contains("918273645"))
        .collect();
    assert!(leaked.is_empty(), "{leaked:#?}\n{bundle}");
    for there in ["max_steps = 7", "approve = \"auto\"", "open = true", "follow = true", "AWS_SECRET_ACCESS_KEY\n"] {
        assert!(bundle.contains(there), "no `{there}` in {bundle}");
    }
}

#[test]
fn a_bundle_contains_the_files_that_a_report_needs() {
    let home = home();
    home.plugin("echo", programs::ECHO);
    home.configure("[plugins.memroy]\nenabled = true");
    let finished = home.bub(["doctor", "--bundle", "report.tar.gz"]).env("BUB_MAX_STEPS", "9").finish();
    finished.says("wrote `report.tar.gz`; look through it before you send it\n");
    let bundle = unpacked(&home, "report.tar.gz");
    for there in [
        &format!("== version.txt\nbub-wasm {} (", env!("CARGO_PKG_VERSION")),
        "ok    model `offline:demo`",
        "note  `[plugins.memroy]`",
        "\"name\": \"echo\"",
        "\"hook:*\"",
        "BUB_MAX_STEPS=9\n",
        "\nBUB_HOME=",
        "== log.txt",
    ] {
        assert!(bundle.contains(there), "no `{there}` in {bundle}");
    }
    let digest = bundle.lines().find_map(|line| line.trim().strip_prefix("\"digest\": \"")).expect("a digest");
    assert_eq!(digest.len(), 64 + 2, "{digest}");
    let mode = fs::metadata(home.workspace().join("report.tar.gz")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_bundle_holds_no_text_of_a_conversation() {
    let home = home();
    home.configure(
        "[plugins.weak.config]\nname = \"weak\"\n[plugins.weak.config.answers]\nbuild-prompt = { trap = true }",
    );
    home.plugin("weak", programs::SCRIPTED);
    let server = Server::ruled(|_| Answer::text("an answer with zebrafish"));
    for _ in 0..4 {
        home.run(["--session-id", "okapi", "a question about okapi"]).model(&server).finish();
    }
    assert_eq!(home.bub(["doctor", "--bundle", "report.tar.gz"]).finish().code, Some(0));
    let bundle = unpacked(&home, "report.tar.gz");
    assert!(bundle.contains("\"hook\": \"build-prompt\""), "it is in quarantine: {bundle}");
    assert!(!bundle.contains("okapi") && !bundle.contains("zebrafish"), "{bundle}");
}

#[test]
fn a_bundle_replaces_no_file() {
    let home = home();
    fs::write(home.workspace().join("mine"), "mine").expect("it is ours");
    let refused = home.bub(["doctor", "--bundle", "mine"]).finish();
    refused.refuses(&["the bundle `mine` cannot be written", "File exists"]);
    assert_eq!(fs::read_to_string(home.workspace().join("mine")).expect("it is there"), "mine");
}
