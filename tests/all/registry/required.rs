//! Where a signature is required, nothing unsigned, re-signed or changed is loaded: at `add` and at each start.

use super::*;
use crate::serve::{echo, serve};
use std::thread::sleep;
use std::time::{Duration, Instant};

const HOOK: &str = "hook:build-prompt";

/// How long a test waits for `serve`.
const PATIENCE: Duration = Duration::from_secs(60);

/// Writes `component` as a file that is signed with that key file, and returns its path.
#[track_caller]
fn signed(home: &Home, component: &[u8], key: &std::path::Path) -> String {
    let path = home.workspace().join("notes.wasm");
    let path = path.to_str().expect("UTF-8").to_owned();
    fs::write(&path, component).expect("the workspace can be written");
    does(home, ["sign", &path, "--key", key.to_str().expect("UTF-8")]);
    path
}

/// Makes a home require signatures, and installs `notes` 1.0.0. Returns the file of the key.
fn require(home: &Home) -> PathBuf {
    let (file, public) = key(home, "acme.key");
    trust(home, "acme", &public);
    home.configure("[trust]\nrequire = true");
    let path = signed(home, &component("1.0.0", &[HOOK]), &file);
    let said = does(home, ["add", &path, "--yes"]);
    assert!(said.contains("signed by `acme`"), "{said}");
    file
}

/// A home that requires signatures, with `notes` 1.0.0 installed.
fn requiring() -> (Home, PathBuf) {
    let home = new();
    let file = require(&home);
    answers(&home, true);
    (home, file)
}

/// The plugin does not run, and a line of the log says why.
#[track_caller]
fn not_loaded(home: &Home, why: &str) {
    home.run(["hi"]).finish().says("[cli:local]\nhi\n").mentions(why);
}

#[test]
fn only_what_a_trusted_key_has_signed_is_added() {
    let (home, file) = requiring();
    let (other, _) = key(&home, "other.key");
    let second = component("2.0.0", &[HOOK]);
    let path = signed(&home, &second, &other);
    plugin(&home, ["add", &path, "--yes"]).refuses(&["which is not in `[trust.keys]` of config.toml"]);
    fs::remove_file(format!("{path}.minisig")).expect("it was written");
    plugin(&home, ["add", &path, "--yes"]).refuses(&["has no signature, and `[trust]` of config.toml requires one"]);
    signed(&home, &second, &file);
    fs::write(&path, component("2.0.1", &[HOOK])).expect("it is ours");
    plugin(&home, ["add", &path, "--yes"]).refuses(&["is not for these bytes"]);
    signed(&home, &second, &file);
    plugin(&home, ["add", &path, "--name", "memo", "--yes"]).refuses(&["which may not sign it"]);
    answers(&home, true);
    does(&home, ["add", &path, "--yes"]);
    does(&home, ["rollback", "notes"]);
    answers(&home, true);
}

#[test]
fn a_changed_file_a_changed_lock_and_a_file_beside_it_are_not_loaded() {
    let (home, _) = requiring();
    let good = fs::read(installed(&home)).expect("it is installed");
    let lock_file = Lock::path(&home.bub_home());
    let good_lock = fs::read_to_string(&lock_file).expect("it was written");
    let evil = component("1.0.0", &[HOOK, "tape:read"]);
    fs::write(installed(&home), &evil).expect("it is ours");
    home.configure("[plugins.notes]\nfollow = true");
    not_loaded(&home, "its content is not what was installed");
    // With the digest in the lock changed too, the signature remains.
    let forged = good_lock.replace(&crate::plugin_add::sha256(&good), &crate::plugin_add::sha256(&evil));
    fs::write(&lock_file, forged).expect("it is ours");
    not_loaded(&home, "is not for these bytes");
    fs::write(installed(&home), &good).expect("it is ours");
    for (text, why) in [
        ("format = 1\n", "it has no signature in plugins.lock"),
        ("format = 1\n[plugins.notes]\nsource = 3\n", "plugins.lock` line 3"),
        ("rubbish", "plugins.lock` line 1"),
    ] {
        fs::write(&lock_file, text).expect("it is ours");
        not_loaded(&home, why);
    }
    fs::write(&lock_file, good_lock).expect("it is ours");
    answers(&home, true);
    fs::write(home.bub_home().join("plugins/memo.wasm"), &good).expect("it is ours");
    home.run(["hi"]).finish().says("[cli:local]\nHI\n").mentions("plugin `memo` did not load: it has no signature");
}

#[test]
fn a_revoked_key_and_one_that_is_no_longer_trusted_load_nothing_and_an_expired_one_nothing_new() {
    let (home, file) = requiring();
    let config = home.bub_home().join("config.toml");
    let good = fs::read_to_string(&config).expect("it is there");
    home.configure("[trust.keys.acme]\nrevoked = true");
    not_loaded(&home, "which is revoked");
    plugin(&home, ["audit"]).code.filter(|code| *code == 1).expect("it finds the key");
    fs::write(&config, good.replace("[trust.keys.acme]", "[trust.keys.other]")).expect("it is ours");
    answers(&home, true);
    fs::write(&config, good.replace("plugins = [\"notes\"]", "plugins = [\"memo\"]")).expect("it is ours");
    not_loaded(&home, "which may not sign it");
    let (_, other) = key(&home, "other.key");
    let public = good.lines().find_map(|line| line.strip_prefix("key = ")).expect("a key").trim_matches('"').to_owned();
    fs::write(&config, good.replace(&public, &other)).expect("it is ours");
    not_loaded(&home, "which is not in `[trust.keys]`");
    fs::write(&config, &good).expect("it is ours");

    // The key expires today at midnight, and this version was installed before.
    home.configure("[trust.keys.acme]\nexpires = \"2020-01-01\"");
    let path = signed(&home, &component("2.0.0", &[HOOK]), &file);
    plugin(&home, ["add", &path, "--yes"]).refuses(&["which has expired on 2020-01-01"]);
    let lock_file = Lock::path(&home.bub_home());
    let text = fs::read_to_string(&lock_file).expect("it is there");
    let line = text.lines().find(|line| line.starts_with("installed = ")).expect("it says when");
    fs::write(&lock_file, text.replace(line, "installed = \"2019-06-01T00:00:00Z\"")).expect("it is ours");
    answers(&home, true);
}

#[test]
fn a_change_of_signer_is_followed_only_by_name() {
    let home = new();
    let (file, public) = key(&home, "acme.key");
    let (next, _) = key(&home, "next.key");
    trust(&home, "acme", &public);
    does(&home, ["add", &signed(&home, &component("1.0.0", &[HOOK]), &file), "--yes"]);
    let second = component("2.0.0", &[HOOK]);
    // A key that the configuration does not name says nothing, so this is a version without a signature.
    let path = signed(&home, &second, &next);
    let refused = plugin(&home, ["add", &path, "--yes"]).refuses(&["was signed by key", "has no signature now"]);
    assert!(refused.stderr.contains("--accept-signer none"), "{refused}");
    let (next, other) = key(&home, "third.key");
    trust(&home, "third", &other);
    let path = signed(&home, &second, &next);
    plugin(&home, ["add", &path, "--yes"]).refuses(&["is signed by `third`", "nothing is changed", "--accept-signer"]);
    plugin(&home, ["add", &path, "--yes", "--accept-signer", "acme"]).refuses(&["nothing is changed"]);
    assert_eq!(lock(&home).plugins["notes"].signer.as_deref(), Some(public.as_str()));
    does(&home, ["add", &path, "--yes", "--accept-signer", "third"]);
    assert_eq!(lock(&home).plugins["notes"].signer.as_deref(), Some(other.as_str()));
    answers(&home, true);
}

#[test]
fn serve_unloads_a_plugin_whose_key_is_revoked_and_keeps_one_whose_file_is_changed() {
    let (home, model) = (crate::home().strict(), echo());
    require(&home);
    let serve = serve(&home, &model);
    let answer = || serve.post("/v1/turns", &json!({ "content": "hi" }))["model_output"].clone();
    assert_eq!(answer(), "you said: HI");
    let good = fs::read(installed(&home)).expect("it is installed");
    fs::write(installed(&home), component("1.0.0", &[HOOK, "tape:read"])).expect("it is ours");
    // `GET /v1/plugins` names what did not load.
    let begun = Instant::now();
    while !serve.get("/v1/plugins").to_string().contains("its content is not what was installed") {
        assert!(begun.elapsed() < PATIENCE, "the changed file is not noticed");
        sleep(Duration::from_millis(50));
    }
    assert_eq!(answer(), "you said: HI");
    fs::write(installed(&home), good).expect("it is ours");
    home.configure("[trust.keys.acme]\nrevoked = true");
    let begun = Instant::now();
    while answer() != "you said: hi" {
        assert!(begun.elapsed() < PATIENCE, "it is still called");
        sleep(Duration::from_millis(200));
    }
}

#[test]
fn an_upload_takes_the_place_of_no_signed_plugin() {
    let (home, model) = (crate::home().strict(), echo());
    require(&home);
    let second = component("2.0.0", &[HOOK]);
    let digest = crate::plugin_add::sha256(&second);
    let upload = |why: &str| {
        let serve = serve(&home, &model);
        let inspect = serve.ask("POST", "/v1/plugins/inspect?name=notes");
        inspect.header("content-type", "application/wasm").body(second.clone()).send().ok();
        serve.ask("POST", "/v1/plugins/notes/add").json(&json!({ "digest": digest })).send().refused(400, why);
    };
    upload("needs a signature");
    home.configure("[trust]\nrequire = false");
    upload("is signed by key");
    assert_eq!(lock(&home).plugins["notes"].version.as_deref(), Some("1.0.0"));
    assert_eq!(fs::read(installed(&home)).expect("it is there"), component("1.0.0", &[HOOK]));
}
