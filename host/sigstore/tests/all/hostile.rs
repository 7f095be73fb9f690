//! Bundles that are not right: each is refused with one line.

use crate::world::{
    IDENTITY, ISSUER, Plan, TIME, World, checkpoint, decode, e_mail, encode, hex, issuer_bytes, issuer_string, pem,
    sha256, uri,
};
use bub_sigstore::{Bundle, TrustedRoot};
use rcgen::{ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, SanType};
use serde_json::{Value, json};

const ARTIFACT: &[u8] = b"\0asm and more";

pub(crate) fn root(world: &World) -> TrustedRoot {
    TrustedRoot::parse(world.trusted_root().to_string().as_bytes()).expect("a trusted root")
}

#[track_caller]
pub(crate) fn refused(root: &TrustedRoot, bundle: &[u8], artifact: &[u8], what: &str, wanted: &str) {
    let verified = Bundle::parse(bundle).and_then(|bundle| bundle.verify(artifact, root));
    let error = format!("{:#}", verified.expect_err(what));
    assert!(error.contains(wanted), "{what}: `{error}` and not `{wanted}`");
    assert!(!error.contains('\n') && error.len() < 600, "{what}: {error}");
}

fn entry(bundle: &mut Value) -> &mut Value {
    &mut bundle["verificationMaterial"]["tlogEntries"][0]
}

fn proof(bundle: &mut Value) -> &mut Value {
    &mut entry(bundle)["inclusionProof"]
}

fn remove(value: &mut Value, key: &str) {
    value.as_object_mut().expect("an object").remove(key).expect("a field");
}

/// Changes the body of the log entry, which the log then enters as it is.
fn rewrite(world: &World, bundle: &mut Value, change: impl FnOnce(&mut Value)) {
    let mut body: Value = serde_json::from_slice(&decode(&entry(bundle)["canonicalizedBody"])).expect("JSON");
    change(&mut body);
    entry(bundle)["canonicalizedBody"] = json!(encode(body.to_string()));
    world.enter(bundle, 11, 5);
}

#[test]
fn a_changed_bundle_is_refused_with_the_reason() {
    let (world, other) = (World::new(), World::new());
    let root = root(&world);
    let good = world.bundle(&Plan::default(), ARTIFACT);
    let foreign = world.bundle(&Plan::default(), b"\0asm and other");
    let flip = |value: &mut Value, at: usize| {
        let mut bytes = decode(value);
        bytes[at] ^= 1;
        *value = json!(encode(bytes));
    };
    type Change<'a> = &'a dyn Fn(&mut Value);
    let cases: &[(&str, &str, Change<'_>)] = &[
        ("another signature", "its signature is not by the key of its certificate", &|b| {
            b["messageSignature"]["signature"] = foreign["messageSignature"]["signature"].clone();
        }),
        ("another digest", "its bundle is for other bytes", &|b| {
            b["messageSignature"]["messageDigest"]["digest"] = json!(encode(sha256(b"other")));
        }),
        ("a digest of an unknown kind", "its digest is of an unknown kind", &|b| {
            b["messageSignature"]["messageDigest"]["algorithm"] = json!("MD5");
        }),
        ("another digest in the body", "its log entry is about other bytes", &|b| {
            rewrite(&world, b, |body| body["spec"]["data"]["hash"]["value"] = json!(hex(&sha256(b"other"))));
        }),
        ("another signature in the body", "its log entry is about another signature", &|b| {
            let signature = foreign["messageSignature"]["signature"].clone();
            rewrite(&world, b, |body| body["spec"]["signature"]["content"] = signature);
        }),
        ("another certificate in the body", "its log entry is about another certificate", &|b| {
            let certificate = decode(&foreign["verificationMaterial"]["certificate"]["rawBytes"]);
            let pem = json!(encode(pem(&certificate)));
            rewrite(&world, b, |body| body["spec"]["signature"]["publicKey"]["content"] = pem);
        }),
        ("a key in the body", "its log entry has no certificate", &|b| {
            rewrite(&world, b, |body| body["spec"]["signature"]["publicKey"]["content"] = json!(encode("PUBLIC KEY")));
        }),
        ("a body of another kind", "is not read for such a bundle", &|b| {
            rewrite(&world, b, |body| body["kind"] = json!("rekord"));
            entry(b)["kindVersion"]["kind"] = json!("rekord");
        }),
        ("a body of another kind than is said", "is said to be `dsse 0.0.1`, and is `hashedrekord 0.0.1`", &|b| {
            entry(b)["kindVersion"]["kind"] = json!("dsse");
        }),
        ("the entry of another signature", "its log entry is about other bytes", &|b| {
            b["verificationMaterial"]["tlogEntries"] = foreign["verificationMaterial"]["tlogEntries"].clone();
        }),
        ("a promise by another key", "a promise that the log has not signed", &|b| {
            let promise = world.promise(entry(b), &other.log);
            entry(b)["inclusionPromise"]["signedEntryTimestamp"] = json!(promise);
        }),
        ("another time", "a promise that the log has not signed", &|b| {
            entry(b)["integratedTime"] = json!((TIME + 1).to_string());
        }),
        ("a promise without a time", "a promise, and no time", &|b| remove(entry(b), "integratedTime")),
        ("no promise", "does not prove when it was signed", &|b| remove(entry(b), "inclusionPromise")),
        ("an unknown log", "a log that is not in the trusted root", &|b| {
            entry(b)["logId"]["keyId"] = json!(encode(sha256(b"some log")));
        }),
        ("no proof", "no proof that the log has it", &|b| remove(entry(b), "inclusionProof")),
        ("the proof of another entry", "a proof for another entry", &|b| proof(b)["logIndex"] = json!("4")),
        ("a changed hash in the proof", "a proof for another entry", &|b| flip(&mut proof(b)["hashes"][1], 7)),
        ("a hash too many", "does not fit a tree with 11 entries", &|b| {
            let hash = proof(b)["hashes"][0].clone();
            proof(b)["hashes"].as_array_mut().expect("a list").push(hash);
        }),
        ("a short hash", "does not fit a tree with 11 entries", &|b| proof(b)["hashes"][0] = json!(encode("short"))),
        ("a place behind the end", "a proof for entry 11 of a tree with 11", &|b| proof(b)["logIndex"] = json!("11")),
        ("an empty tree", "a proof for entry 5 of a tree with 0", &|b| proof(b)["treeSize"] = json!("0")),
        ("the largest tree", "does not fit a tree with", &|b| proof(b)["treeSize"] = json!(i64::MAX.to_string())),
        ("a proof without a checkpoint", "a proof without a checkpoint", &|b| remove(proof(b), "checkpoint")),
        ("a checkpoint by another key", "a checkpoint that the log has not signed", &|b| {
            let signed = checkpoint(&other.log, 11, &decode(&proof(b)["rootHash"]));
            proof(b)["checkpoint"]["envelope"] = json!(signed);
        }),
        ("a checkpoint by another key, under the log's id", "a checkpoint that the log has not signed", &|b| {
            let own = proof(b)["checkpoint"]["envelope"].as_str().expect("text").to_owned();
            let signed = checkpoint(&other.log, 11, &decode(&proof(b)["rootHash"]));
            let (own, signed) = (own.trim_end(), signed.trim_end());
            let last = |text: &str| decode(&json!(text.rsplit(' ').next().expect("a word")));
            let signature = [&last(own)[..4], &last(signed)[4..]].concat();
            let begin = &own[..=own.rfind(' ').expect("a space")];
            proof(b)["checkpoint"]["envelope"] = json!(format!("{begin}{}\n", encode(signature)));
        }),
        ("a checkpoint of another size", "a checkpoint of another tree, with 12 entries", &|b| {
            let signed = checkpoint(&world.log, 12, &decode(&proof(b)["rootHash"]));
            proof(b)["checkpoint"]["envelope"] = json!(signed);
        }),
        ("a checkpoint of another tree", "a checkpoint of another tree", &|b| {
            proof(b)["checkpoint"]["envelope"] = json!(checkpoint(&world.log, 11, &sha256(b"another")));
        }),
        ("a checkpoint that is none", "a checkpoint that is not understood", &|b| {
            proof(b)["checkpoint"]["envelope"] = json!("log.example\neleven\n\n\u{2014} log AAAAAA==\n");
        }),
        ("an unsigned checkpoint", "a checkpoint that the log has not signed", &|b| {
            let own = proof(b)["checkpoint"]["envelope"].as_str().expect("text").to_owned();
            let (note, _) = own.split_once("\n\n").expect("a note");
            proof(b)["checkpoint"]["envelope"] = json!(format!("{note}\n\n"));
        }),
        ("no entry of a log", "no entry of a log", &|b| b["verificationMaterial"]["tlogEntries"] = json!([])),
        ("two entries", "has 2 entries of logs", &|b| {
            let again = entry(b).clone();
            b["verificationMaterial"]["tlogEntries"].as_array_mut().expect("a list").push(again);
        }),
        ("no certificate", "has no certificate", &|b| remove(&mut b["verificationMaterial"], "certificate")),
        ("a key in the place of the certificate", "is signed by a key", &|b| {
            remove(&mut b["verificationMaterial"], "certificate");
            b["verificationMaterial"]["publicKey"] = json!({ "hint": "mine" });
        }),
        ("a root of its own", "brings a root of its own", &|b| {
            let chain = world.trusted_root()["certificateAuthorities"][0]["certChain"].clone();
            b["verificationMaterial"]["x509CertificateChain"] = chain;
        }),
        ("a changed certificate", "its certificate is by no certificate authority", &|b| {
            let certificate = &mut b["verificationMaterial"]["certificate"]["rawBytes"];
            let last = decode(certificate).len() - 1;
            flip(certificate, last);
        }),
        ("a certificate that is rubbish", "its certificate is not understood", &|b| {
            b["verificationMaterial"]["certificate"]["rawBytes"] =
                json!(encode([0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 0x30]));
        }),
        ("no signature", "has no signature", &|b| remove(b, "messageSignature")),
        ("two signatures", "has two signatures", &|b| {
            b["dsseEnvelope"] = json!({ "payload": "", "payloadType": "", "signatures": [] });
        }),
        ("rubbish in the place of Base64", "it is not Base64", &|b| {
            b["messageSignature"]["signature"] = json!("?? not Base64 ??");
        }),
        ("a negative place", "is not negative", &|b| entry(b)["logIndex"] = json!("-1")),
        ("a place that is no number", "is not negative", &|b| entry(b)["logIndex"] = json!(1.5)),
        ("a version of tomorrow", "the media type `application/vnd.dev.sigstore.bundle.v9.9+json`", &|b| {
            b["mediaType"] = json!("application/vnd.dev.sigstore.bundle.v9.9+json");
        }),
        ("a timestamp that is rubbish", "its timestamp is not understood", &|b| {
            let timestamps = json!({ "rfc3161Timestamps": [{ "signedTimestamp": encode("rubbish") }] });
            b["verificationMaterial"]["timestampVerificationData"] = timestamps;
        }),
        ("too many timestamps", "more than 4 timestamps", &|b| {
            let timestamps = vec![json!({ "signedTimestamp": "" }); 5];
            b["verificationMaterial"]["timestampVerificationData"] = json!({ "rfc3161Timestamps": timestamps });
        }),
    ];
    for (what, wanted, change) in cases {
        let mut bundle = good.clone();
        change(&mut bundle);
        refused(&root, bundle.to_string().as_bytes(), ARTIFACT, what, wanted);
    }
    refused(
        &root,
        good.to_string().as_bytes(),
        b"\0asm and other",
        "another artifact",
        "its bundle is for other bytes",
    );
    // Nothing of all that was left in the good one.
    Bundle::parse(good.to_string().as_bytes()).and_then(|bundle| bundle.verify(ARTIFACT, &root)).expect("it is right");
}

#[test]
fn a_certificate_for_something_else_is_refused_with_the_reason() {
    let world = World::new();
    let root = root(&world);
    let plan = Plan::default;
    let cases: Vec<(&str, &str, Plan)> = vec![
        ("expired when it was entered", "was not valid at 2025-03-05T", Plan { time: TIME + 2 * 86_400, ..plan() }),
        (
            "not valid yet when it was entered",
            "was not valid at 2025-03-01T",
            Plan { time: TIME - 2 * 86_400, ..plan() },
        ),
        (
            "of the future",
            "was signed in the future",
            Plan { time: 4_102_444_800, days: [(2099, 12, 31), (2100, 1, 2)], ..plan() },
        ),
        (
            "before the log",
            "whose key was not in use then",
            Plan { time: 1_600_000_000, days: [(2020, 9, 13), (2020, 9, 14)], ..plan() },
        ),
        ("without a use", "is not for signing code", Plan { usages: Vec::new(), ..plan() }),
        (
            "for servers",
            "is not for signing code",
            Plan { usages: vec![ExtendedKeyUsagePurpose::ServerAuth], ..plan() },
        ),
        (
            "not for signatures",
            "is not for signatures",
            Plan { key_usages: vec![KeyUsagePurpose::KeyEncipherment], ..plan() },
        ),
        (
            "without a log of certificates",
            "is in no log of certificates",
            Plan { has_certificate_timestamp: false, ..plan() },
        ),
        (
            "of two identities",
            "names more than one identity",
            Plan { names: vec![uri(IDENTITY), e_mail("ann@example.com")], ..plan() },
        ),
        ("of nobody", "names nobody", Plan { names: Vec::new(), ..plan() }),
        (
            "of a server",
            "neither by an e-mail address nor by a URI",
            Plan { names: vec![SanType::DnsName("example.com".try_into().expect("a name"))], ..plan() },
        ),
        (
            "of an address that is a person's",
            "neither by an e-mail address nor by a URI",
            Plan { names: vec![uri("ann@example.com")], ..plan() },
        ),
        (
            "of a person whose address is a workflow's",
            "neither by an e-mail address nor by a URI",
            Plan { names: vec![e_mail(IDENTITY)], ..plan() },
        ),
        ("without an issuer", "does not say who has vouched", Plan { issuer: Vec::new(), ..plan() }),
        (
            "of two issuers",
            "names two issuers",
            Plan { issuer: vec![issuer_string(ISSUER), issuer_bytes("https://accounts.google.com")], ..plan() },
        ),
        (
            "with an issuer of two lines",
            "a name that is not text",
            Plan { issuer: vec![issuer_string("https://a\nb")], ..plan() },
        ),
    ];
    for (what, wanted, plan) in cases {
        refused(&root, world.bundle(&plan, ARTIFACT).to_string().as_bytes(), ARTIFACT, what, wanted);
    }
}

#[test]
fn what_is_of_another_authority_or_log_is_refused() {
    let (world, other) = (World::new(), World::new());
    let bundle = world.bundle(&Plan::default(), ARTIFACT).to_string();
    for (key, wanted) in [
        ("certificateAuthorities", "its certificate is by no certificate authority of the trusted root"),
        ("tlogs", "its log entry is of a log that is not in the trusted root"),
        ("ctlogs", "its certificate is in a log of certificates that is not in the trusted root"),
    ] {
        let mut root = world.trusted_root();
        root[key] = other.trusted_root()[key].clone();
        let root = TrustedRoot::parse(root.to_string().as_bytes()).expect("a trusted root");
        refused(&root, bundle.as_bytes(), ARTIFACT, key, wanted);
    }
    // The same ids, with other keys.
    for (key, wanted) in [
        ("tlogs", "a promise that the log has not signed"),
        ("ctlogs", "a timestamp that its log of certificates has not signed"),
    ] {
        let mut root = world.trusted_root();
        root[key][0]["publicKey"] = other.trusted_root()[key][0]["publicKey"].clone();
        let root = TrustedRoot::parse(root.to_string().as_bytes()).expect("a trusted root");
        refused(&root, bundle.as_bytes(), ARTIFACT, key, wanted);
    }
    // An authority that was not in use then.
    let mut root = world.trusted_root();
    root["certificateAuthorities"][0]["validFor"]["end"] = json!("2025-02-01T00:00:00Z");
    let root = TrustedRoot::parse(root.to_string().as_bytes()).expect("a trusted root");
    refused(&root, bundle.as_bytes(), ARTIFACT, "an old authority", "by no certificate authority of the trusted root");
    // A log entry that some log with the same key id would have made.
    let key = KeyPair::generate().expect("random numbers");
    let mut changed: Value = serde_json::from_str(&bundle).expect("JSON");
    let promise = world.promise(entry(&mut changed), &key);
    entry(&mut changed)["inclusionPromise"]["signedEntryTimestamp"] = json!(promise);
    refused(&self::root(&world), changed.to_string().as_bytes(), ARTIFACT, "a log", "the log has not signed");
}

#[test]
fn text_that_is_no_bundle_is_refused_before_anything_is_done() {
    let world = World::new();
    let root = root(&world);
    let good = world.bundle(&Plan::default(), ARTIFACT).to_string();
    let twice = good.replacen('{', r#"{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","#, 1);
    let mut many = world.bundle(&Plan::default(), ARTIFACT);
    let again = vec![json!({}); 10_000];
    many["verificationMaterial"]["tlogEntries"] = json!(again);
    let deep = format!(r#"{{"mediaType":{}{}}}"#, "[".repeat(20_000), "]".repeat(20_000));
    for (what, text, wanted) in [
        ("10 MB", " ".repeat(10 << 20).into_bytes(), "is larger than 64 KiB"),
        ("10,000 entries", many.to_string().into_bytes(), "is not understood"),
        ("deep JSON", deep.into_bytes(), "is not understood"),
        ("a field twice", twice.into_bytes(), "duplicate field `mediaType`"),
        ("nothing", Vec::new(), "is not understood"),
        ("half a bundle", good.as_bytes()[..good.len() / 2].to_vec(), "is not understood"),
        ("a list", b"[]".to_vec(), "is not understood"),
        ("bytes", vec![0xff; 100], "is not UTF-8"),
    ] {
        refused(&root, &text, ARTIFACT, what, wanted);
    }
}

#[test]
fn text_that_is_no_trusted_root_is_refused() {
    let good = World::new().trusted_root();
    let change = |change: &dyn Fn(&mut Value)| {
        let mut root = good.clone();
        change(&mut root);
        root.to_string().into_bytes()
    };
    for (text, wanted) in [
        (b"{}".to_vec(), "it is not a trusted root of Sigstore"),
        (vec![b' '; 1 << 20], "it is larger than 256 KiB"),
        (change(&|root| root["mediaType"] = json!("application/json")), "it has the media type `application/json`"),
        (change(&|root| root["tlogs"] = json!([])), "it has no log"),
        (change(&|root| root["ctlogs"] = json!([])), "it has no log of certificates"),
        (change(&|root| root["certificateAuthorities"] = json!([])), "it has no certificate authority"),
        (
            change(&|root| root["certificateAuthorities"][0]["certChain"]["certificates"] = json!([])),
            "an authority in it has no certificate",
        ),
        (
            change(&|root| {
                root["certificateAuthorities"][0]["certChain"]["certificates"][1]["rawBytes"] = json!("AAAA")
            }),
            "a certificate in it is not understood",
        ),
        (
            change(&|root| root["tlogs"][0]["publicKey"]["validFor"]["start"] = json!("yesterday")),
            "is not a trusted root",
        ),
    ] {
        let error = format!("{:#}", TrustedRoot::parse(&text).expect_err(wanted));
        assert!(error.contains(wanted) && !error.contains('\n'), "`{error}` and not `{wanted}`");
    }
}
