//! Publishing, adding, upgrading and rolling back.

use super::*;
use bub_registry::{Digest, Host, Registry, Settings};
use bub_test_support::docker_registry::{DockerRegistry, HTPASSWD, PASSWORD};
use std::time::Duration;

const HOOK: &str = "hook:build-prompt";

#[test]
fn a_plugin_is_published_added_upgraded_and_rolled_back_with_its_signer_and_grants() {
    let home = new();
    let Some(server) = DockerRegistry::start(&home.workspace(), None) else { return };
    let to = format!("oci://{}/acme/notes", server.address());
    home.configure(&format!("[registry]\ndefault = \"oci://{}/acme\"", server.address()));
    let (file, public) = key(&home, "acme.key");
    let first = component("1.0.0", &[HOOK]);
    make_project(&home, &first);
    let words = file.to_str().expect("UTF-8");
    let said = does(&home, ["publish", "--key", words, "--dry-run"]);
    assert!(said.contains("nothing was pushed") && said.contains(&format!("{to}:1.0.0")), "{said}");
    plugin(&home, ["add", &format!("{to}:1.0.0")]).refuses(&["has no `acme/notes:1.0.0`"]);
    let said = publish(&home, &to, &first, &file);
    assert!(said.contains(&format!("`{to}:1.0.0` is published: sha256:")), "{said}");
    assert!(said.contains(&format!("public key {public}")), "{said}");
    let said = publish(&home, &to, &first, &file);
    assert!(said.contains("was there already"), "{said}");

    let said = does(&home, ["search", "not"]);
    assert_eq!(said, format!("{to}:1.0.0  Writes in capitals.\n"));
    assert!(does(&home, ["search", "other"]).contains("has no plugin with `other` in its name"));

    // The configuration does not name the key: its id is shown and kept.
    let said = does(&home, ["add", "notes@1.0.0", "--yes"]);
    for words in ["its author says that it wants: hook:build-prompt", "which is not in `[trust.keys]`", "is there now"]
    {
        assert!(said.contains(words), "{words}\n{said}");
    }
    answers(&home, true);
    let entry = lock(&home).plugins["notes"].clone();
    assert_eq!((entry.version.as_deref(), entry.source), (Some("1.0.0"), format!("{to}:1.0.0")));
    assert_eq!((entry.digest, entry.grants), (Digest::of(&first).hex().to_owned(), vec![HOOK.to_owned()]));
    assert_eq!((entry.signer.as_deref(), entry.signer_name), (Some(public.as_str()), None));
    assert!(does(&home, ["outdated"]).contains("notes 1.0.0 is the newest version"));
    let said = does(&home, ["inspect", "notes"]);
    assert!(said.contains(&format!("source: {to}:1.0.0\nsigned by key ")), "{said}");

    // A version with the same wants keeps its grants; one with more asks.
    trust(&home, "acme", &public);
    publish(&home, &to, &component("1.1.0", &[HOOK]), &file);
    let old = plugin(&home, ["outdated"]);
    assert_eq!((old.code, old.stdout.contains("notes 1.0.0 -> 1.1.0")), (Some(1), true), "{old}");
    let said = does(&home, ["upgrade"]);
    assert!(said.contains("it replaces version 1.0.0") && said.contains("signed by `acme`"), "{said}");
    answers(&home, true);
    publish(&home, &to, &component("1.2.0", &[HOOK, "tape:read"]), &file);
    let more = plugin(&home, ["upgrade", "notes"]);
    assert_eq!(more.code, Some(1), "{more}");
    for words in ["  + want tape:read", "it wants more than the version before; --yes or --keep-grants decides"] {
        assert!(more.stdout.contains(words), "{words}\n{more}");
    }
    assert_eq!(lock(&home).plugins["notes"].version.as_deref(), Some("1.1.0"));
    answers(&home, true);
    does(&home, ["upgrade", "--keep-grants"]);
    let entry = lock(&home).plugins["notes"].clone();
    assert_eq!((entry.version.as_deref(), entry.grants), (Some("1.2.0"), vec![HOOK.to_owned()]));
    assert!(does(&home, ["upgrade"]).contains("is the newest version, 1.2.0"));

    does(&home, ["rollback", "notes"]);
    let entry = lock(&home).plugins["notes"].clone();
    assert_eq!(entry.version.as_deref(), Some("1.1.0"));
    assert_eq!(entry.before.expect("one is kept").version.as_deref(), Some("1.2.0"));
    answers(&home, true);
    does(&home, ["remove", "notes"]);
    assert_eq!(lock(&home).installed().count(), 0);
    does(&home, ["rollback", "notes"]);
    assert_eq!(lock(&home).installed().count(), 1);
    answers(&home, true);
}

#[test]
fn an_upgrade_shows_what_it_would_have_changed_in_recorded_turns() {
    let home = new();
    let Some(server) = DockerRegistry::start(&home.workspace(), None) else { return };
    let to = format!("oci://{}/acme/notes", server.address());
    home.configure("record = \"all\"");
    let (file, public) = key(&home, "acme.key");
    trust(&home, "acme", &public);
    publish(&home, &to, &component("1.0.0", &[HOOK]), &file);
    does(&home, ["add", &format!("{to}:1.0.0"), "--yes"]);
    for message in ["message 6", "message 7"] {
        home.run([message]).finish();
    }
    publish(&home, &to, &component("1.1.0", &[HOOK]), &file);
    let said = does(&home, ["upgrade", "notes"]);
    assert!(said.contains("the latest 2 recorded turns with this version:\n2 turns, none of which would"), "{said}");

    // The next one writes messages that end in 7 otherwise.
    publish(&home, &to, &described(programs::PROMPT_UPPER_NEXT, &manifest("1.2.0", &[HOOK])), &file);
    let said = does(&home, ["upgrade", "notes"]);
    assert!(said.contains("MESSAGE 7") && said.contains("2 turns, of which 1 would have been otherwise\n"), "{said}");
    assert!(!said.contains("MESSAGE 6"), "{said}");
    assert_eq!(lock(&home).plugins["notes"].version.as_deref(), Some("1.2.0"));
}

#[test]
fn a_changed_layer_and_a_changed_version_are_refused_and_the_installed_one_runs_on() {
    let home = new();
    let Some(server) = DockerRegistry::start(&home.workspace(), None) else { return };
    let to = format!("oci://{}/acme/notes", server.address());
    let (file, _) = key(&home, "acme.key");
    let (first, second) = (component("1.0.0", &[HOOK]), component("1.1.0", &[HOOK]));
    publish(&home, &to, &first, &file);
    publish(&home, &to, &second, &file);
    does(&home, ["add", &format!("{to}:1.0.0"), "--yes"]);

    let mut changed = second.clone();
    *changed.last_mut().expect("it has bytes") ^= 1;
    server.tamper(Digest::of(&second).hex(), &changed);
    plugin(&home, ["upgrade", "notes"]).refuses(&["lies about the component"]);
    answers(&home, true);

    // The author's own tool does not replace a version, so the registry's owner does.
    make_project(&home, &component("1.0.0", &[HOOK, "tape:read"]));
    let words = file.to_str().expect("UTF-8");
    let refused = plugin(&home, ["publish", "--to", &to, "--key", words]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains("is there with another content: a version is never replaced"), "{refused}");
    publish(&home, &to, &component("1.2.0", &[HOOK]), &file);
    let (reference, retagged) = retag(&server, "1.2.0", "1.0.0");
    let refused = plugin(&home, ["add", &format!("{to}:1.0.0")]).refuses(&["a version does not change", &retagged]);
    assert!(refused.stderr.contains(&format!("bub-wasm plugin add {to}@{retagged}")), "{refused}");
    plugin(&home, ["add", &reference]).refuses(&["a version does not change"]);
    answers(&home, true);
    let said = does(&home, ["add", &format!("{to}@{retagged}"), "--yes"]);
    assert!(said.contains("it replaces version 1.0.0"), "{said}");
}

/// Gives a version the content of another, and returns its address and the digest of its manifest.
fn retag(server: &DockerRegistry, from: &str, to: &str) -> (String, String) {
    let base = format!("oci://{}/acme/notes", server.address());
    let settings = Settings { timeout: Duration::from_secs(20), max_component: 1 << 26 };
    let host: Host = server.address().parse().expect("a host");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let digest = runtime.block_on(async {
        let registry = Registry::new(&host, None, settings).await.expect("a client");
        let reference = bub_registry::Reference::parse(&format!("{base}:{from}"), None).expect("an address");
        let found = registry.describe(&reference).await.expect("it is there");
        let manifest = serde_json::to_vec(&found.manifest).expect("JSON");
        registry.push_manifest("acme/notes", to, &manifest).await.expect("it is pushed")
    });
    (format!("{base}:{to}"), digest.to_string())
}

#[test]
fn a_private_registry_gets_credentials_from_a_secret_that_is_bound_to_it() {
    let home = new();
    let Some(server) = DockerRegistry::start(&home.workspace(), Some(HTPASSWD)) else { return };
    let to = format!("oci://{}/acme/notes", server.address());
    make_project(&home, &component("1.0.0", &[HOOK]));
    let refused = plugin(&home, ["publish", "--to", &to, "--unsigned"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(
        refused.stderr.contains("wants credentials: store `USER:PASSWORD` by `bub-wasm secret set NAME"),
        "{refused}"
    );
    home.configure(&format!("[registry.secrets]\n\"{}\" = \"acme\"", server.address()));
    plugin(&home, ["add", &format!("{to}:1.0.0")]).refuses(&["there is no secret `acme`", "bub-wasm secret set acme"]);
    let value = format!("me:{PASSWORD}");
    let set = |host: &str| home.bub(["secret", "set", "acme", "--host", host, "--value-stdin"]).input(&value).finish();
    assert_eq!(set("registry.example.com").code, Some(0));
    plugin(&home, ["add", &format!("{to}:1.0.0")]).refuses(&["is not bound to host `127.0.0.1`"]);
    assert_eq!(set("127.0.0.1").code, Some(0));
    does(&home, ["publish", "--to", &to, "--unsigned"]);
    let said = does(&home, ["add", &format!("{to}:1.0.0"), "--yes"]);
    assert!(!said.contains(PASSWORD), "{said}");
    answers(&home, true);
    assert_eq!(lock(&home).plugins["notes"].signer, None);
}

#[test]
fn a_project_without_a_key_a_version_or_a_fitting_name_is_not_published() {
    let home = new();
    let to = "oci://127.0.0.1:1/acme/notes";
    make_project(&home, &component("1.0.0", &[HOOK]));
    plugin(&home, ["publish", "--to", to]).refuses(&["nothing signs the plugin", "`--unsigned`"]);
    plugin(&home, ["publish", "--unsigned"]).refuses(&["there is no default registry"]);
    plugin(&home, ["publish", "--unsigned", "--to", "acme/notes"]).refuses(&["write `oci://HOST/PATH`"]);
    for (manifest, why) in [
        (json!({ "name": "other", "version": "1.0.0" }), "its manifest names it `other`"),
        (json!({ "name": "notes" }), "its manifest has no `version`"),
        (json!({ "version": "1.0.0" }), "its manifest has no `name`"),
    ] {
        make_project(&home, &described(programs::PROMPT_UPPER, &manifest));
        let refused = plugin(&home, ["publish", "--to", to, "--unsigned"]);
        assert_eq!(refused.code, Some(1), "{refused}");
        assert!(refused.stderr.contains(why), "{why}\n{refused}");
    }
    let nothing_there = plugin(&home, ["add", "oci://127.0.0.1:1/acme/notes:1.0.0"]);
    nothing_there.refuses(&["registry `127.0.0.1:1` cannot be reached"]);
}
