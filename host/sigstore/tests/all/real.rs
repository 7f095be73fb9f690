//! Bundles that were made by others, with the trusted roots of Sigstore (`tests/fixtures/README.md`).

use bub_sigstore::{IdentityRule, TrustedRoot, verify};

const BEACON: &str = "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/\
                      extremely-dangerous-oidc-beacon.yml@refs/heads/main";
const ISSUER: &str = "https://token.actions.githubusercontent.com";

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../fixtures/", $name)).as_slice()
    };
}

const ARTIFACT: &[u8] = fixture!("a.txt");

fn root(bytes: &[u8]) -> TrustedRoot {
    TrustedRoot::parse(bytes).expect("a trusted root")
}

fn rule(identity: &str) -> IdentityRule {
    IdentityRule::new(identity, ISSUER).expect("a rule")
}

#[test]
fn real_bundles_are_verified_with_the_trusted_root_of_sigstore() {
    let root = root(fixture!("trusted_root.json"));
    for (name, bundle, time) in [
        ("v0.1", fixture!("v0.1.sigstore.json"), "2023-07-12T15:56:35Z"),
        ("v0.3", fixture!("v0.3.sigstore.json"), "2024-03-19T17:26:26Z"),
        ("a statement", fixture!("statement.sigstore.json"), "2024-12-16T18:42:56Z"),
    ] {
        let signer = verify(bundle, ARTIFACT, &root, &rule(BEACON)).unwrap_or_else(|error| panic!("{name}: {error:#}"));
        assert_eq!((signer.identity.as_str(), signer.issuer.as_str()), (BEACON, ISSUER), "{name}");
        let found = signer.time.expect("a time").as_second();
        let made: jiff::Timestamp = time.parse().expect("a time");
        assert!((0..60).contains(&(found - made.as_second())), "{name}: {found}");
        let error = verify(bundle, b"another artifact", &root, &rule(BEACON)).expect_err(name).to_string();
        assert!(error.contains("other bytes"), "{name}: {error}");
        let other = BEACON.replace("sigstore-conformance", "sigstore-conformance-2");
        let error = verify(bundle, ARTIFACT, &root, &rule(&other)).expect_err(name).to_string();
        assert!(error.contains("it is signed by"), "{name}: {error}");
    }
}

#[test]
fn a_real_bundle_of_the_newer_log_has_its_time_from_a_timestamp_authority() {
    let bundle = fixture!("timestamp.sigstore.json");
    let staging = root(fixture!("staging_root.json"));
    let signer = verify(bundle, ARTIFACT, &staging, &rule(BEACON)).expect("it is right");
    assert!(signer.time.expect("a time").to_string().starts_with("2025-06-12T12:02:"), "{signer:?}");
    // Another Sigstore knows neither its log nor its authority.
    let error = verify(bundle, ARTIFACT, &root(fixture!("trusted_root.json")), &rule(BEACON)).expect_err("not trusted");
    assert_eq!(error.to_string(), "its log entry is of a log that is not in the trusted root");
    let text = std::str::from_utf8(bundle).expect("text");
    let without = text.replace("timestampVerificationData", "timestampVerificationDatum");
    let error = verify(without.as_bytes(), ARTIFACT, &staging, &rule(BEACON)).expect_err("no time");
    assert!(error.to_string().contains("does not prove when it was signed"), "{error}");
}

/// Runs the bundles of the conformance tests of Sigstore: those that end in `_fail` have to fail, and others not.
#[test]
#[ignore = "needs the repository: SIGSTORE_CONFORMANCE=PATH/test/assets/bundle-verify"]
fn the_bundles_of_the_conformance_tests_are_judged_as_they_say() {
    let folder = std::path::PathBuf::from(std::env::var("SIGSTORE_CONFORMANCE").expect("the folder"));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for case in std::fs::read_dir(&folder).expect("the folder").flatten().filter(|case| case.path().is_dir()) {
        let name = case.file_name().to_string_lossy().into_owned();
        let read = |file: &str| std::fs::read(case.path().join(file)).ok();
        let text = |file: &str, default: &str| {
            read(file).map_or(default.to_owned(), |bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
        };
        // Bundles of keys are another thing.
        let Some(bundle) = read("bundle.sigstore.json").filter(|_| !name.starts_with("managed-key")) else { continue };
        let root = read("trusted_root.json");
        let root = TrustedRoot::parse(root.as_deref().unwrap_or(fixture!("trusted_root.json")));
        let artifact = read("artifact").unwrap_or_else(|| ARTIFACT.to_vec());
        let rule = IdentityRule::new(&text("identity", BEACON), &text("issuer", ISSUER)).expect("a rule");
        let verified = root.and_then(|root| verify(&bundle, &artifact, &root, &rule));
        let line =
            format!("{name}: {}", verified.as_ref().map_or_else(|error| format!("{error:#}"), ToString::to_string));
        println!("{line}");
        count += 1;
        if verified.is_ok() == name.ends_with("_fail") {
            wrong.push(line);
        }
    }
    assert!(count > 30, "{count}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
