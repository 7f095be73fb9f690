//! Signatures, and whose are accepted.

use bub_registry::{Author, Moment, PluginTrust, PublicKey, SecretKey, Signature, Trust, TrustedKey, today};
use jiff::Timestamp;
use jiff::ToSpan;

const COMPONENT: &[u8] = b"\0asm and more";

fn key() -> SecretKey {
    SecretKey::generate(None).expect("random numbers").0
}

fn trusting(key: &PublicKey) -> Trust {
    let mut trust = Trust { require: true, ..Trust::default() };
    let trusted = TrustedKey {
        key: key.to_string(),
        plugins: vec!["weather".to_owned(), "acme-*".to_owned()],
        expires: None,
        revoked: false,
    };
    trust.keys.insert("acme".to_owned(), trusted);
    trust
}

fn signed(key: &SecretKey, name: &str) -> Signature {
    Signature::new(key, COMPONENT, name, "1.0.0").expect("it is signed")
}

#[track_caller]
fn refused(trust: &Trust, name: &str, bytes: &[u8], signature: Option<&Signature>, own: Option<&PublicKey>) -> String {
    let error = trust.verify(name, bytes, signature, own, Moment::Now).expect_err("it is not accepted").to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn a_plugin_signed_by_a_trusted_key_is_accepted_with_its_name_and_version() {
    let key = key();
    let trust = trusting(key.public());
    for name in ["weather", "acme-notes"] {
        let found =
            trust.verify(name, COMPONENT, Some(&signed(&key, name)), None, Moment::Now).expect("it is accepted");
        let (signer, statement) = found.expect("it is signed");
        assert_eq!((signer.name.as_deref(), statement.version.as_str()), (Some("acme"), "1.0.0"));
        assert_eq!(signer.author, Author::Key(key.public().clone()));
    }
}

#[test]
fn what_is_unsigned_resigned_or_changed_is_refused_where_a_signature_is_required() {
    let (key, other) = (key(), self::key());
    let trust = trusting(key.public());
    let good = signed(&key, "weather");
    assert!(refused(&trust, "weather", COMPONENT, None, None).contains("has no signature"));
    let resigned = signed(&other, "weather");
    let error = refused(&trust, "weather", COMPONENT, Some(&resigned), Some(other.public()));
    assert!(error.contains("which is not in `[trust.keys]`") && error.contains(other.public().id()), "{error}");
    assert!(refused(&trust, "weather", b"\0asm changed", Some(&good), None).contains("is not for these bytes"));
    assert!(refused(&trust, "news", COMPONENT, Some(&good), None).contains("which may not sign it"));
    assert!(refused(&trust, "acme-notes", COMPONENT, Some(&good), None).contains("is signed as `weather`"));
    // The comment is signed too.
    let renamed = Signature::parse(&good.as_str().replace("name:weather", "name:acme-notes")).expect("it has the form");
    assert!(refused(&trust, "acme-notes", COMPONENT, Some(&renamed), None).contains("is not for these bytes"));
    // A signature that claims the trusted key, made by another.
    let lines: Vec<&str> = good.as_str().lines().collect();
    let forged: Vec<&str> = resigned.as_str().lines().collect();
    let forged = [lines[0], lines[1], forged[2], forged[3]].join("\n");
    let forged = Signature::parse(&forged).expect("it has the form");
    assert!(refused(&trust, "weather", COMPONENT, Some(&forged), None).contains("is not for these bytes"));
}

#[test]
fn an_expired_key_signs_nothing_new_and_a_revoked_one_nothing_at_all() {
    let key = key();
    let good = signed(&key, "weather");
    let mut trust = trusting(key.public());
    let yesterday = today().checked_sub(1.day()).expect("a day");
    let trusted = trust.keys.get_mut("acme").expect("it is there");
    trusted.expires = Some(yesterday);
    let error = refused(&trust, "weather", COMPONENT, Some(&good), None);
    assert!(error.contains("which has expired on"), "{error}");
    let before = Moment::Installed(Timestamp::now() - 72.hours());
    assert!(trust.verify("weather", COMPONENT, Some(&good), None, before).is_ok());
    let trusted = trust.keys.get_mut("acme").expect("it is there");
    (trusted.expires, trusted.revoked) = (Some(today()), true);
    for moment in [Moment::Now, before] {
        let error =
            trust.verify("weather", COMPONENT, Some(&good), None, moment).expect_err("it is revoked").to_string();
        assert!(error.contains("which is revoked"), "{error}");
    }
    trust.keys.get_mut("acme").expect("it is there").revoked = false;
    assert!(trust.verify("weather", COMPONENT, Some(&good), None, Moment::Now).is_ok(), "the last day counts");
}

#[test]
fn without_a_requirement_an_unknown_key_is_named_but_its_signature_must_be_right() {
    let key = key();
    let trust = Trust::default();
    let good = signed(&key, "weather");
    let (signer, _) = trust
        .verify("weather", COMPONENT, Some(&good), Some(key.public()), Moment::Now)
        .expect("it is accepted")
        .expect("it is signed");
    assert_eq!((signer.name, signer.author), (None, Author::Key(key.public().clone())));
    assert!(
        refused(&trust, "weather", b"\0asm other", Some(&good), Some(key.public())).contains("is not for these bytes")
    );
    assert!(refused(&trust, "weather", COMPONENT, Some(&good), None).contains("comes without the key"));
    assert!(trust.verify("weather", COMPONENT, None, None, Moment::Now).expect("none is required").is_none());
}

#[test]
fn one_plugin_can_need_one_signer() {
    let (key, other) = (key(), self::key());
    let mut trust = trusting(key.public());
    trust.require = false;
    let second =
        TrustedKey { key: other.public().to_string(), plugins: vec!["*".to_owned()], expires: None, revoked: false };
    trust.keys.insert("other".to_owned(), second);
    let own = PluginTrust { require: None, signer: Some("acme".to_owned()) };
    trust.plugins.insert("weather".to_owned(), own);
    assert!(trust.check().is_ok() && trust.requires("weather") && !trust.requires("news"));
    assert!(refused(&trust, "weather", COMPONENT, None, None).contains("has no signature"));
    let error = refused(&trust, "weather", COMPONENT, Some(&signed(&other, "weather")), None);
    assert!(error.contains("wants one of `acme`"), "{error}");
    trust.plugins.get_mut("weather").expect("it is there").signer = Some("nobody".to_owned());
    assert!(trust.check().expect_err("no such key").to_string().contains("there is no `[trust.keys.nobody]`"));
}

#[test]
fn keys_are_encrypted_with_a_password_and_read_again_with_it_alone() {
    let (key, text) = SecretKey::generate(Some("correct horse".to_owned())).expect("a key");
    assert!(SecretKey::is_encrypted(&text));
    let again = SecretKey::parse(&text, Some("correct horse".to_owned())).expect("it is read");
    assert_eq!(again.public(), key.public());
    for password in [None, Some("wrong".to_owned())] {
        assert!(SecretKey::parse(&text, password).is_err());
    }
    let (plain, text) = SecretKey::generate(None).expect("a key");
    assert!(!SecretKey::is_encrypted(&text));
    let again = SecretKey::parse(&text, None).expect("it is read");
    assert_eq!(again.public(), plain.public());
    assert!(!format!("{again:?}").contains(text.lines().last().expect("a key")));
}

#[test]
fn what_is_no_key_or_signature_is_refused() {
    for text in ["", "RW", "not base64!", "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GF"] {
        assert!(text.parse::<PublicKey>().is_err(), "{text}");
    }
    let good = signed(&key(), "weather");
    let cut = &good.as_str()[..good.as_str().len() / 2];
    let long = "x".repeat(9000);
    for text in ["", "\n\n\n\n", cut, &long] {
        assert!(Signature::parse(text).is_err(), "{text}");
    }
}
