//! Keyless signatures, and whose are accepted.

use crate::world::{IDENTITY, ISSUER, Plan, World, uri};
use anyhow::Result;
use bub_registry::{
    Author, Moment, PluginSignature, PluginTrust, SecretKey, Signature, Signer, Trust, TrustedIdentity, TrustedKey,
};
use jiff::Timestamp;
use std::fs;

const COMPONENT: &[u8] = b"\0asm and more";
const REFS: &str = "https://github.com/acme/weather/.github/workflows/release.yml@refs/tags/*";

struct Fixture {
    world: World,
    trust: Trust,
    _folder: tempfile::TempDir,
}

/// Requires signatures, and trusts every tag of the workflow for `weather`.
fn fixture() -> Fixture {
    let (world, folder) = (World::new(), tempfile::tempdir().expect("a folder"));
    let root = folder.path().join("trusted_root.json");
    fs::write(&root, world.trusted_root().to_string()).expect("it is written");
    let mut trust = Trust { require: true, ..Trust::default() };
    trust.sigstore.root = Some(root);
    trust.identities.insert("acme".to_owned(), identity(REFS));
    Fixture { world, trust, _folder: folder }
}

fn identity(identity: &str) -> TrustedIdentity {
    TrustedIdentity {
        identity: identity.to_owned(),
        issuer: ISSUER.to_owned(),
        plugins: vec!["weather".to_owned()],
        expires: None,
        revoked: false,
    }
}

impl Fixture {
    fn signed(&self, plan: &Plan, component: &[u8]) -> PluginSignature {
        PluginSignature::parse(&self.world.bundle(plan, component).to_string()).expect("a bundle")
    }

    fn verify(
        &self,
        plugin: &str,
        signature: &PluginSignature,
        stated: &str,
        moment: Moment,
    ) -> Result<Option<Signer>> {
        let stated = |_: &[u8]| Ok((stated.to_owned(), "1.2.0".to_owned()));
        let verified = self.trust.verify_any(plugin, COMPONENT, Some(signature), None, moment, &stated)?;
        Ok(verified.map(|(signer, statement)| {
            assert_eq!((statement.name.as_str(), statement.version.as_str()), (plugin, "1.2.0"));
            signer
        }))
    }

    #[track_caller]
    fn refuses(&self, plugin: &str, signature: &PluginSignature, wanted: &str) {
        let error = self.verify(plugin, signature, plugin, Moment::Now).expect_err(wanted);
        let error = format!("{error:#}");
        assert!(error.contains(wanted) && !error.contains('\n'), "`{error}` and not `{wanted}`");
    }
}

#[test]
fn a_plugin_signed_by_a_trusted_identity_is_accepted_under_the_name_in_it() {
    let fixture = fixture();
    let good = fixture.signed(&Plan::default(), COMPONENT);
    let signer = fixture.verify("weather", &good, "weather", Moment::Now).expect("it is accepted").expect("a signer");
    assert_eq!(signer.name.as_deref(), Some("acme"));
    assert_eq!(signer.author.locked(), (format!("sigstore:{IDENTITY}"), Some(ISSUER.to_owned())));
    assert_eq!(signer.shown(), format!("`acme` (identity `{IDENTITY}` of `{ISSUER}`)"));
    let error = fixture.verify("weather", &good, "news", Moment::Now).expect_err("another name").to_string();
    assert!(error.contains("is signed as `news`"), "{error}");
    let nameless = |_: &[u8]| -> Result<(String, String)> { anyhow::bail!("it has no manifest") };
    let error = fixture.trust.verify_any("weather", COMPONENT, Some(&good), None, Moment::Now, &nameless);
    assert!(format!("{:#}", error.expect_err("no name")).contains("is for no name and version: it has no manifest"));
}

#[test]
fn what_is_not_by_a_trusted_identity_or_not_right_is_refused_where_a_signature_is_required() {
    let mut fixture = fixture();
    let good = fixture.signed(&Plan::default(), COMPONENT);
    fixture.refuses("weather", &fixture.signed(&Plan::default(), b"other"), "its bundle is for other bytes");
    fixture.refuses("news", &good, "which may not sign it: `plugins` of `[trust.identities.acme]` does not name it");
    let fork = Plan { names: vec![uri(&IDENTITY.replace("acme", "acme2"))], ..Plan::default() };
    let fork = fixture.signed(&fork, COMPONENT);
    fixture.refuses("weather", &fork, "which is not in `[trust.identities]` of config.toml");
    // The certificate is by another authority.
    let stranger = World::new().bundle(&Plan::default(), COMPONENT).to_string();
    let stranger = PluginSignature::parse(&stranger).expect("a bundle");
    fixture.refuses("weather", &stranger, "of a log that is not in the trusted root");
    fixture.trust.plugins.insert("weather".to_owned(), PluginTrust { require: None, signer: Some("other".to_owned()) });
    fixture.refuses("weather", &good, "and `[trust.plugins.weather]` wants one of `other`");
    fixture.trust.plugins.clear();
    // Where none is required, an identity without a rule is shown as such.
    fixture.trust.require = false;
    let signer = fixture.verify("weather", &fork, "weather", Moment::Now).expect("it is right").expect("a signer");
    assert_eq!(signer.name, None);
    assert!(signer.shown().ends_with("which is not in `[trust.identities]` of config.toml"), "{}", signer.shown());
    fixture.trust.sigstore.root = None;
    fixture.refuses("weather", &good, "cannot be verified without a trusted root of Sigstore");
    fixture.trust.sigstore.root = Some("/nowhere/root.json".into());
    fixture.refuses("weather", &good, "`root` of `[trust.sigstore]` in config.toml, `/nowhere/root.json`");
}

#[test]
fn an_expired_identity_signs_nothing_new_and_a_revoked_one_nothing_at_all() {
    let mut fixture = fixture();
    let good = fixture.signed(&Plan::default(), COMPONENT);
    fixture.trust.identities.get_mut("acme").expect("it is there").expires = Some(jiff::civil::date(2025, 12, 31));
    fixture.refuses("weather", &good, "which has expired on 2025-12-31");
    let before: Timestamp = "2025-12-31T23:59:59Z".parse().expect("a time");
    fixture.verify("weather", &good, "weather", Moment::Installed(before)).expect("it was installed before");
    // Another rule for the same identity.
    fixture.trust.identities.insert("renewed".to_owned(), identity(IDENTITY));
    let signer = fixture.verify("weather", &good, "weather", Moment::Now).expect("it is accepted").expect("a signer");
    assert_eq!(signer.name.as_deref(), Some("renewed"));
    fixture.trust.identities.get_mut("acme").expect("it is there").revoked = true;
    fixture.refuses("weather", &good, "identity `acme` (");
    fixture.refuses("weather", &good, "which is revoked");
    let error = fixture.trust.check_signature("weather", &good, Moment::Installed(before)).expect_err("it is revoked");
    assert!(error.to_string().contains("which is revoked"), "{error}");
}

#[test]
fn two_refs_of_one_trusted_workflow_are_one_signer_and_all_else_is_another() {
    let mut fixture = fixture();
    let author =
        |identity: &str, issuer: &str| Author::Identity { identity: identity.to_owned(), issuer: issuer.to_owned() };
    let (first, second) = (author(IDENTITY, ISSUER), author(&IDENTITY.replace("v1.2.0", "v1.3.0"), ISSUER));
    assert!(fixture.trust.is_same(&first, &second));
    assert_eq!(fixture.trust.name_of(&second), Some("acme"));
    let key = SecretKey::generate(None).expect("a key").0;
    for other in [
        author(&IDENTITY.replace("acme/", "acme2/"), ISSUER),
        author(&IDENTITY.replace("refs/tags", "refs/heads"), ISSUER),
        author(IDENTITY, "https://accounts.google.com"),
        Author::Key(key.public().clone()),
    ] {
        assert!(!fixture.trust.is_same(&first, &other) && !fixture.trust.is_same(&other, &first), "{other}");
    }
    fixture.trust.identities.clear();
    assert!(!fixture.trust.is_same(&first, &second));
    assert!(fixture.trust.is_same(&first, &first.clone()));
}

#[test]
fn a_signature_is_of_one_of_the_kinds() {
    let key = SecretKey::generate(None).expect("a key").0;
    let by_key = Signature::new(&key, COMPONENT, "weather", "1.2.0").expect("it is signed");
    assert!(matches!(PluginSignature::parse(by_key.as_str()), Ok(PluginSignature::Key(_))));
    for (text, wanted) in [
        ("", "its signature is not one of minisign"),
        ("{}", "its bundle of Sigstore is not understood"),
        ("{\"mediaType\": \"text/plain\"", "its bundle of Sigstore is not understood"),
    ] {
        let error = PluginSignature::parse(text).expect_err(text).to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

#[test]
fn a_configuration_that_means_too_much_or_two_things_names_its_key() {
    let mut trust = Trust::default();
    trust.identities.insert("all".to_owned(), identity("*"));
    let error = format!("{:#}", trust.check().expect_err("it means all"));
    assert!(error.starts_with("`trust.identities.all` of config.toml: the identity `*`"), "{error}");
    trust.identities.clear();
    trust.identities.insert("acme".to_owned(), identity(IDENTITY));
    trust.plugins.insert("weather".to_owned(), PluginTrust { require: None, signer: Some("acme".to_owned()) });
    trust.check().expect("an identity may be the only signer");
    let key = SecretKey::generate(None).expect("a key").0;
    let key = TrustedKey { key: key.public().to_string(), plugins: Vec::new(), expires: None, revoked: false };
    trust.keys.insert("acme".to_owned(), key);
    let error = trust.check().expect_err("two signers of one name").to_string();
    assert!(error.contains("there is a `[trust.keys]` of that name too"), "{error}");
}
