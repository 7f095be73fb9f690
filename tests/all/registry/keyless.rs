//! Keyless signatures: bundles of Sigstore, beside files and in registries, by an authority that the test makes.

use super::world::{IDENTITY, ISSUER, Plan, World, uri};
use super::*;
use bub_test_support::docker_registry::DockerRegistry;
use std::path::Path;

const HOOK: &str = "hook:build-prompt";
const REFS: &str = "https://github.com/acme/weather/.github/workflows/release.yml@refs/tags/*";

/// Writes the trusted root into the home, which names it.
fn with_root(home: &Home, world: &World) {
    fs::write(home.bub_home().join("trusted_root.json"), world.trusted_root().to_string()).expect("it is written");
    home.configure("[trust.sigstore]\nroot = \"trusted_root.json\"");
}

/// Trusts an identity for `notes`.
fn trust_identity(home: &Home, name: &str, identity: &str) {
    home.configure(&format!(
        "[trust.identities.{name}]\nidentity = \"{identity}\"\nissuer = \"{ISSUER}\"\nplugins = [\"notes\"]"
    ));
}

/// The plan of a release of that tag.
fn tag(tag: &str) -> Plan {
    Plan { names: vec![uri(&IDENTITY.replace("v1.2.0", tag))], ..Plan::default() }
}

/// Writes a component as a file with a bundle beside it, and returns its path.
fn signed(home: &Home, world: &World, plan: &Plan, component: &[u8]) -> String {
    let path = home.workspace().join("notes.wasm");
    fs::write(&path, component).expect("the workspace can be written");
    let bundle = world.bundle(plan, component).to_string();
    fs::write(path.with_extension("wasm.sigstore.json"), bundle).expect("the workspace can be written");
    path.to_str().expect("UTF-8").to_owned()
}

fn shown(tag: &str) -> String {
    format!("(identity `{}` of `{ISSUER}`)", IDENTITY.replace("v1.2.0", tag))
}

#[test]
fn a_keyless_signature_counts_where_one_is_required_and_is_verified_at_every_start() {
    let (home, world) = (new(), World::new());
    home.configure("[trust]\nrequire = true");
    let first = component("1.0.0", &[HOOK]);
    let path = signed(&home, &world, &tag("v1.0.0"), &first);
    plugin(&home, ["add", &path, "--yes"]).refuses(&["which is not in `[trust.identities]` of config.toml"]);
    trust_identity(&home, "acme", REFS);
    plugin(&home, ["add", &path, "--yes"]).refuses(&["cannot be verified without a trusted root of Sigstore"]);
    with_root(&home, &world);
    let said = does(&home, ["add", &path, "--yes"]);
    assert!(said.contains(&format!("signed by `acme` {}", shown("v1.0.0"))), "{said}");
    answers(&home, true);
    let entry = lock(&home).plugins["notes"].clone();
    let signer = format!("sigstore:{}", IDENTITY.replace("v1.2.0", "v1.0.0"));
    assert_eq!((entry.signer, entry.signer_issuer.as_deref()), (Some(signer), Some(ISSUER)));
    assert_eq!(entry.signer_name.as_deref(), Some("acme"));
    let said = does(&home, ["inspect", "notes"]);
    assert!(said.contains(&format!("signed by `acme` {}", shown("v1.0.0"))), "{said}");
    // Each release has a tag of its own, which the rule means.
    does(&home, ["add", &signed(&home, &world, &tag("v2.0.0"), &component("2.0.0", &[HOOK])), "--yes"]);
    does(&home, ["rollback", "notes"]);
    answers(&home, true);
    let digest = crate::plugin_add::sha256(&first);
    assert_eq!(lock(&home).plugins["notes"].digest, digest);

    let not_loaded = |why: &str| home.run(["hi"]).finish().says("[cli:local]\nhi\n").mentions(why);
    let evil = component("1.0.0", &[HOOK, "tape:read"]);
    fs::write(installed(&home), &evil).expect("it is ours");
    home.configure("[plugins.notes]\nfollow = true");
    not_loaded("its content is not what was installed");
    let lock_file = Lock::path(&home.bub_home());
    let good_lock = fs::read_to_string(&lock_file).expect("it was written");
    fs::write(&lock_file, good_lock.replace(&digest, &crate::plugin_add::sha256(&evil))).expect("it is ours");
    not_loaded("its bundle is for other bytes");
    fs::write(&lock_file, &good_lock).expect("it is ours");
    fs::write(installed(&home), &first).expect("it is ours");
    answers(&home, true);
    // The root is replaced by another Sigstore's.
    with_root(&home, &World::new());
    not_loaded("of a log that is not in the trusted root");
    with_root(&home, &world);
    answers(&home, true);
    home.configure("[trust.identities.acme]\nrevoked = true");
    not_loaded("which is revoked");
    let audit = plugin(&home, ["audit"]);
    assert!(
        audit.code == Some(1) && audit.stdout.contains("is not trusted: plugin `notes` is signed by identity"),
        "{audit}"
    );
    let doctor = home.bub(["doctor"]).finish();
    assert!(doctor.stdout.contains("trusted identity `acme`: is revoked"), "{doctor}");
}

#[test]
fn bundles_that_are_not_right_are_refused_in_one_line_and_nothing_is_changed() {
    let (home, world) = (new(), World::new());
    with_root(&home, &world);
    trust_identity(&home, "acme", REFS);
    home.configure("[trust]\nrequire = true");
    let first = component("1.0.0", &[HOOK]);
    does(&home, ["add", &signed(&home, &world, &tag("v1.0.0"), &first), "--yes"]);
    let second = component("2.0.0", &[HOOK]);
    let path = signed(&home, &world, &tag("v2.0.0"), &second);
    let beside = Path::new(&path).with_extension("wasm.sigstore.json");
    let good = fs::read(&beside).expect("it was written");
    fs::write(&path, component("2.0.1", &[HOOK])).expect("it is ours");
    plugin(&home, ["add", &path, "--yes"]).refuses(&["its bundle is for other bytes"]);
    fs::write(&path, &second).expect("it is ours");
    for (bundle, wanted) in [
        (b"{}".to_vec(), "is not understood"),
        (vec![b' '; 10 << 20], "is larger than 64 KiB"),
        (good[..good.len() / 2].to_vec(), "is not understood"),
        (
            String::from_utf8_lossy(&good).replace("v0.3+json", "v9.9+json").into_bytes(),
            "known are versions 0.1 to 0.3",
        ),
        (World::new().bundle(&tag("v2.0.0"), &second).to_string().into_bytes(), "is not in the trusted root"),
        (
            world.bundle(&Plan { time: 1_741_300_000, ..tag("v2.0.0") }, &second).to_string().into_bytes(),
            "was not valid at",
        ),
        (world.bundle(&tag(""), &second).to_string().into_bytes(), "which is not in `[trust.identities]`"),
    ] {
        fs::write(&beside, bundle).expect("it is ours");
        let refused = plugin(&home, ["add", &path, "--yes"]).refuses(&[wanted]);
        assert_eq!(refused.stderr.trim().lines().count(), 1, "{refused}");
    }
    fs::remove_file(&beside).expect("it is there");
    plugin(&home, ["add", &path, "--yes"]).refuses(&["has no signature, and `[trust]` of config.toml requires one"]);
    // The older ending, and another name.
    fs::write(Path::new(&path).with_extension("wasm.sigstore"), &good).expect("it is ours");
    plugin(&home, ["add", &path, "--name", "memo", "--yes"]).refuses(&["which may not sign it"]);
    assert_eq!(fs::read(installed(&home)).expect("it is installed"), first);
    answers(&home, true);
    does(&home, ["add", &path, "--yes"]);
    assert_eq!(lock(&home).plugins["notes"].version.as_deref(), Some("2.0.0"));
}

#[test]
fn a_change_between_key_identity_issuer_and_none_is_followed_only_by_name() {
    let (home, world) = (new(), World::new());
    let (file, public) = key(&home, "acme.key");
    trust(&home, "acme", &public);
    let path = signed(&home, &world, &tag("v1.0.0"), &component("1.0.0", &[HOOK]));
    does(&home, ["sign", &path, "--key", file.to_str().expect("UTF-8")]);
    // Of two signatures, that of the trusted key counts.
    let said = does(&home, ["add", &path, "--yes"]);
    assert!(said.contains("signed by `acme` (key "), "{said}");
    fs::remove_file(format!("{path}.minisig")).expect("it was written");
    // Without a trusted root, a bundle says nothing.
    let path = signed(&home, &world, &tag("v2.0.0"), &component("2.0.0", &[HOOK]));
    plugin(&home, ["add", &path, "--yes"]).refuses(&["has no signature now", "--accept-signer none"]);
    with_root(&home, &world);
    let identity = IDENTITY.replace("v1.2.0", "v2.0.0");
    let refused = plugin(&home, ["add", &path, "--yes"]).refuses(&["was signed by key", "nothing is changed"]);
    assert!(refused.stderr.contains(&format!("--accept-signer {identity}")), "{refused}");
    let said = does(&home, ["add", &path, "--yes", "--accept-signer", &identity]);
    assert!(said.contains("which is not in `[trust.identities]`"), "{said}");
    // No rule says that another tag is the same signer.
    let path = signed(&home, &world, &tag("v3.0.0"), &component("3.0.0", &[HOOK]));
    plugin(&home, ["add", &path, "--yes"]).refuses(&["was signed by identity", "v2.0.0` of", "nothing is changed"]);
    trust_identity(&home, "tags", REFS);
    let said = does(&home, ["add", &path, "--yes"]);
    assert!(said.contains("signed by `tags`"), "{said}");
    let issuer = super::world::issuer_string("https://accounts.google.com");
    let plan = Plan { issuer: vec![issuer], ..tag("v4.0.0") };
    let path = signed(&home, &world, &plan, &component("4.0.0", &[HOOK]));
    plugin(&home, ["add", &path, "--yes"]).refuses(&["of `https://accounts.google.com`", "nothing is changed"]);
    plugin(&home, ["add", &path, "--yes", "--accept-signer", "tags"]).refuses(&["nothing is changed"]);
    fs::remove_file(format!("{path}.sigstore.json")).expect("it was written");
    plugin(&home, ["add", &path, "--yes"]).refuses(&["has no signature now"]);
    assert_eq!(lock(&home).plugins["notes"].version.as_deref(), Some("3.0.0"));
    answers(&home, true);
}

#[test]
fn a_bundle_is_published_beside_a_component_and_verified_when_it_is_added_and_upgraded() {
    let (home, world) = (new(), World::new());
    let Some(server) = DockerRegistry::start(&home.workspace(), None) else { return };
    let to = format!("oci://{}/acme/notes", server.address());
    let bundle = home.workspace().join("bundle.json");
    let words = bundle.to_str().expect("UTF-8").to_owned();
    let first = component("1.0.0", &[HOOK]);
    make_project(&home, &first);
    fs::write(&bundle, world.bundle(&tag("v1.0.0"), b"other").to_string()).expect("it is ours");
    let refused = plugin(&home, ["publish", "--to", &to, "--bundle", &words]);
    assert!(refused.code == Some(1) && refused.stderr.contains("its bundle is for other bytes"), "{refused}");
    fs::write(&bundle, world.bundle(&tag("v1.0.0"), &first).to_string()).expect("it is ours");
    let said = does(&home, ["publish", "--to", &to, "--bundle", &words]);
    assert!(said.contains("signed by `https://github.com/acme/weather/"), "{said}");
    assert!(!said.contains("not signed"), "{said}");
    // Without a trusted root it is not verified, and nothing requires that.
    let said = does(&home, ["add", &format!("{to}:1.0.0"), "--yes"]);
    assert!(said.contains("its keyless signature, which claims to be by"), "{said}");
    assert_eq!(lock(&home).plugins["notes"].signer, None);
    home.configure("[trust]\nrequire = true");
    trust_identity(&home, "acme", REFS);
    with_root(&home, &world);
    let said = does(&home, ["add", &format!("{to}:1.0.0"), "--yes"]);
    assert!(said.contains(&format!("signed by `acme` {}", shown("v1.0.0"))), "{said}");
    answers(&home, true);
    let second = component("1.1.0", &[HOOK]);
    make_project(&home, &second);
    fs::write(&bundle, World::new().bundle(&tag("v1.1.0"), &second).to_string()).expect("it is ours");
    let refused = plugin(&home, ["publish", "--to", &to, "--bundle", &words]);
    assert!(refused.code == Some(1) && refused.stderr.contains("is not in the trusted root"), "{refused}");
    fs::write(&bundle, world.bundle(&tag("v1.1.0"), &second).to_string()).expect("it is ours");
    does(&home, ["publish", "--to", &to, "--bundle", &words]);
    let said = does(&home, ["upgrade"]);
    assert!(said.contains(&format!("signed by `acme` {}", shown("v1.1.0"))), "{said}");
    answers(&home, true);
}
