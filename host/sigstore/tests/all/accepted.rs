//! Bundles that are right.

use crate::world::{IDENTITY, ISSUER, Plan, TIME, World, decode, e_mail, encode, issuer_bytes, issuer_string, sha256};
use bub_sigstore::{Bundle, IdentityRule, Signer, TrustedRoot, verify};
use serde_json::{Value, json};

const ARTIFACT: &[u8] = b"\0asm and more";

fn root(world: &World) -> TrustedRoot {
    TrustedRoot::parse(world.trusted_root().to_string().as_bytes()).expect("a trusted root")
}

fn accepted(world: &World, bundle: &Value) -> Signer {
    let bundle = Bundle::parse(bundle.to_string().as_bytes()).expect("a bundle");
    bundle.verify(ARTIFACT, &root(world)).expect("it is right")
}

#[test]
fn a_bundle_names_its_signer_and_the_time_of_the_log() {
    let world = World::new();
    let signer = accepted(&world, &world.bundle(&Plan::default(), ARTIFACT));
    assert_eq!((signer.identity.as_str(), signer.issuer.as_str()), (IDENTITY, ISSUER));
    assert_eq!(signer.time.map(|time| time.as_second()), Some(TIME));
    assert_eq!(signer.to_string(), format!("`{IDENTITY}` of `{ISSUER}`"));
}

#[test]
fn proofs_of_every_place_in_trees_of_every_size_are_right() {
    let world = World::new();
    let mut bundle = world.bundle(&Plan::default(), ARTIFACT);
    for size in 1..=9 {
        for index in 0..size {
            world.enter(&mut bundle, size, index);
            accepted(&world, &bundle);
        }
    }
}

#[test]
fn a_person_and_the_older_form_of_the_issuer_are_known() {
    let world = World::new();
    let google = "https://accounts.google.com";
    for issuer in [vec![issuer_bytes(google)], vec![issuer_bytes(google), issuer_string(google)]] {
        let plan = Plan { names: vec![e_mail("ann@example.com")], issuer, ..Plan::default() };
        let signer = accepted(&world, &world.bundle(&plan, ARTIFACT));
        assert_eq!((signer.identity.as_str(), signer.issuer.as_str()), ("ann@example.com", google));
    }
}

#[test]
fn the_older_versions_have_a_chain_and_the_first_may_have_a_promise_alone() {
    let world = World::new();
    let mut bundle = world.bundle(&Plan::default(), ARTIFACT);
    bundle["mediaType"] = json!("application/vnd.dev.sigstore.bundle+json;version=0.1");
    let material = bundle["verificationMaterial"].as_object_mut().expect("an object");
    let certificate = material.remove("certificate").expect("a certificate");
    material.insert("x509CertificateChain".to_owned(), json!({ "certificates": [certificate] }));
    let entry = &mut bundle["verificationMaterial"]["tlogEntries"][0];
    entry.as_object_mut().expect("an object").remove("inclusionProof");
    // Numbers may be numbers.
    entry["logIndex"] = json!(1_234_567);
    accepted(&world, &bundle);
}

#[test]
fn a_log_may_have_entered_the_signature_as_its_newer_version_does() {
    let world = World::new();
    let mut bundle = world.bundle(&Plan::default(), ARTIFACT);
    let material = &bundle["verificationMaterial"];
    let body = json!({
        "apiVersion": "0.0.2",
        "kind": "hashedrekord",
        "spec": { "hashedRekordV002": {
            "data": { "algorithm": "SHA2_256", "digest": encode(sha256(ARTIFACT)) },
            "signature": {
                "content": bundle["messageSignature"]["signature"],
                "verifier": {
                    "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                    "x509Certificate": { "rawBytes": encode(decode(&material["certificate"]["rawBytes"])) },
                },
            },
        } },
    });
    let entry = &mut bundle["verificationMaterial"]["tlogEntries"][0];
    entry["canonicalizedBody"] = json!(encode(body.to_string()));
    entry["kindVersion"]["version"] = json!("0.0.2");
    world.enter(&mut bundle, 4, 3);
    accepted(&world, &bundle);
}

#[test]
fn a_rule_means_an_identity_exactly_or_any_ref_of_a_workflow() {
    let world = World::new();
    let bundle = world.bundle(&Plan::default(), ARTIFACT).to_string();
    let root = root(&world);
    for (identity, issuer, is_meant) in [
        (IDENTITY, ISSUER, true),
        ("https://github.com/acme/weather/.github/workflows/release.yml@refs/tags/*", ISSUER, true),
        ("https://github.com/acme/weather/.github/workflows/release.yml@refs/tags/v1.2.0*", ISSUER, false),
        ("https://github.com/acme/weather/.github/workflows/release.yml@refs/heads/*", ISSUER, false),
        ("https://github.com/acme/weather/.github/workflows/release.yml@refs/tags/v1.2", ISSUER, false),
        ("https://github.com/acme/weather", ISSUER, false),
        (IDENTITY, "https://accounts.google.com", false),
        (IDENTITY, "https://token.actions.githubusercontent.com/", false),
    ] {
        let rule = IdentityRule::new(identity, issuer).expect("a rule");
        let verified = verify(bundle.as_bytes(), ARTIFACT, &root, &rule);
        assert_eq!(verified.is_ok(), is_meant, "{identity} of {issuer}");
        if let Err(error) = verified {
            assert!(
                error.to_string().starts_with(&format!("it is signed by `{IDENTITY}` of `{ISSUER}`, not by")),
                "{error}"
            );
        }
    }
}

#[test]
fn a_rule_that_means_too_much_is_refused() {
    for identity in [
        "",
        "*",
        "https://github.com/acme/*",
        "ann@*",
        "https://github.com/*/x.yml@refs/tags/*",
        "https://a/b@refs/*/c",
    ] {
        IdentityRule::new(identity, ISSUER).expect_err(identity);
    }
    for issuer in ["", "*", "https://*", "token.actions.githubusercontent.com"] {
        IdentityRule::new(IDENTITY, issuer).expect_err(issuer);
    }
}

#[test]
fn fields_that_are_not_known_are_passed_over_however_deep_they_are() {
    let world = World::new();
    let deep = format!(r#"{{"x":{}{},"#, "[".repeat(20_000), "]".repeat(20_000));
    let bundle = world.bundle(&Plan::default(), ARTIFACT).to_string().replacen('{', &deep, 1);
    let bundle = Bundle::parse(bundle.as_bytes()).expect("a bundle");
    bundle.verify(ARTIFACT, &root(&world)).expect("it is right");
}
