//! Statements about an artifact, of which some vouch for it.

use crate::hostile::{refused, root};
use crate::world::{Plan, World, encode, hex, sha256};
use bub_sigstore::Bundle;
use serde_json::{Value, json};

const ARTIFACT: &[u8] = b"\0asm and more";

#[test]
fn a_statement_that_vouches_for_nothing_is_refused() {
    let world = World::new();
    let root = root(&world);
    let statement = |predicate: &str, digest: Value| {
        json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{ "name": "other", "digest": { "sha1": "00" } }, { "name": "weather.wasm", "digest": digest }],
            "predicateType": predicate,
            "predicate": {},
        })
    };
    let digest = json!({ "sha256": hex(&sha256(ARTIFACT)) });
    let (provenance, scan) = ("https://slsa.dev/provenance/v1", "https://cosign.sigstore.dev/attestation/vuln/v1");
    let good = world.statement(&Plan::default(), &statement(provenance, digest.clone()));
    Bundle::parse(good.to_string().as_bytes()).and_then(|bundle| bundle.verify(ARTIFACT, &root)).expect("it is right");
    let other = json!({ "sha256": hex(&sha256(b"other")) });
    for (statement, wanted) in [
        (statement(scan, digest.clone()), "which does not vouch for what it is about"),
        (statement(provenance, other), "its statement is about other bytes"),
        (statement(provenance, json!({})), "its statement is about other bytes"),
        (json!({ "predicateType": provenance }), "its statement is not understood"),
    ] {
        let bundle = world.statement(&Plan::default(), &statement).to_string();
        refused(&root, bundle.as_bytes(), ARTIFACT, &statement.to_string(), wanted);
    }
    type Change<'a> = &'a dyn Fn(&mut Value);
    let changes: [(&str, Change<'_>); 4] = [
        ("has the type `text/plain`", &|bundle| bundle["dsseEnvelope"]["payloadType"] = json!("text/plain")),
        ("has 2 signatures", &|bundle| {
            let again = bundle["dsseEnvelope"]["signatures"][0].clone();
            bundle["dsseEnvelope"]["signatures"].as_array_mut().expect("a list").push(again);
        }),
        ("is not by the key of its certificate", &|bundle| {
            let changed = statement(provenance, digest.clone()).to_string().replace("weather", "whether");
            bundle["dsseEnvelope"]["payload"] = json!(encode(changed));
        }),
        ("is not read for such a bundle", &|bundle| {
            let entries = world.bundle(&Plan::default(), ARTIFACT)["verificationMaterial"]["tlogEntries"].clone();
            bundle["verificationMaterial"]["tlogEntries"] = entries;
        }),
    ];
    for (wanted, change) in changes {
        let mut bundle = good.clone();
        change(&mut bundle);
        refused(&root, bundle.to_string().as_bytes(), ARTIFACT, wanted, wanted);
    }
}
