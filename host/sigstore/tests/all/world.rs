//! A certificate authority, a log, a log of certificates and a trusted root, made for a test, and bundles by them.

#![allow(dead_code, reason = "other crates use a part of it in their tests")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData, SanType, SigningKey, date_time_ymd,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The identity that bundles name.
pub const IDENTITY: &str = "https://github.com/acme/weather/.github/workflows/release.yml@refs/tags/v1.2.0";
/// Who vouches for it.
pub const ISSUER: &str = "https://token.actions.githubusercontent.com";
/// When bundles are entered: 2025-03-03T12:00:00Z.
pub const TIME: i64 = 1_741_003_200;

/// The keys of one Sigstore.
pub struct World {
    root: Vec<u8>,
    intermediate: Vec<u8>,
    authority: Issuer<'static, KeyPair>,
    pub log: KeyPair,
    pub certificate_log: KeyPair,
}

/// What a bundle is to be.
pub struct Plan {
    pub names: Vec<SanType>,
    pub issuer: Vec<CustomExtension>,
    pub usages: Vec<ExtendedKeyUsagePurpose>,
    pub key_usages: Vec<KeyUsagePurpose>,
    pub days: [(i32, u8, u8); 2],
    pub time: i64,
    pub has_certificate_timestamp: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            names: vec![uri(IDENTITY)],
            issuer: vec![issuer_string(ISSUER)],
            usages: vec![ExtendedKeyUsagePurpose::CodeSigning],
            key_usages: vec![KeyUsagePurpose::DigitalSignature],
            days: [(2025, 3, 3), (2025, 3, 4)],
            time: TIME,
            has_certificate_timestamp: true,
        }
    }
}

pub fn uri(text: &str) -> SanType {
    SanType::URI(text.try_into().unwrap())
}

pub fn e_mail(text: &str) -> SanType {
    SanType::Rfc822Name(text.try_into().unwrap())
}

/// The issuer, as Fulcio writes it today.
pub fn issuer_string(text: &str) -> CustomExtension {
    let mut value = vec![0x0c, u8::try_from(text.len()).unwrap()];
    value.extend_from_slice(text.as_bytes());
    CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 57264, 1, 8], value)
}

/// The issuer, as Fulcio wrote it first.
pub fn issuer_bytes(text: &str) -> CustomExtension {
    CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 57264, 1, 1], text.as_bytes().to_vec())
}

pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

pub fn decode(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap()).unwrap()
}

pub fn sha256(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn id(key: &KeyPair) -> Vec<u8> {
    sha256(&key.subject_public_key_info())
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.not_before = date_time_ymd(2025, 1, 1);
    params.not_after = date_time_ymd(2035, 1, 1);
    params
}

impl World {
    pub fn new() -> Self {
        let root = authority("test root");
        let root_key = KeyPair::generate().unwrap();
        let root_certificate = root.self_signed(&root_key).unwrap();
        let (intermediate, key) = (authority("test intermediate"), KeyPair::generate().unwrap());
        let certificate = intermediate.signed_by(&key, &Issuer::new(root, root_key)).unwrap();
        Self {
            root: root_certificate.der().to_vec(),
            intermediate: certificate.der().to_vec(),
            authority: Issuer::new(intermediate, key),
            log: KeyPair::generate().unwrap(),
            certificate_log: KeyPair::generate().unwrap(),
        }
    }

    /// The trusted root.
    pub fn trusted_root(&self) -> Value {
        let log = |key: &KeyPair| {
            json!({
                "baseUrl": "https://log.example",
                "hashAlgorithm": "SHA2_256",
                "publicKey": {
                    "rawBytes": encode(key.subject_public_key_info()),
                    "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                    "validFor": { "start": "2025-01-01T00:00:00Z" },
                },
                "logId": { "keyId": encode(id(key)) },
            })
        };
        json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(&self.log)],
            "certificateAuthorities": [{
                "subject": { "organization": "example", "commonName": "test" },
                "uri": "https://ca.example",
                "certChain": { "certificates": [
                    { "rawBytes": encode(&self.intermediate) },
                    { "rawBytes": encode(&self.root) },
                ] },
                "validFor": { "start": "2025-01-01T00:00:00Z" },
            }],
            "ctlogs": [log(&self.certificate_log)],
        })
    }

    /// A certificate with its timestamp of the log of certificates.
    fn certificate(&self, plan: &Plan, key: &KeyPair) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.subject_alt_names.clone_from(&plan.names);
        params.extended_key_usages.clone_from(&plan.usages);
        params.key_usages.clone_from(&plan.key_usages);
        params.custom_extensions.clone_from(&plan.issuer);
        let [(year, month, day), (last_year, last_month, last_day)] = plan.days;
        params.not_before = date_time_ymd(year, month, day);
        params.not_after = date_time_ymd(last_year, last_month, last_day);
        let without = params.signed_by(key, &self.authority).unwrap();
        if !plan.has_certificate_timestamp {
            return without.der().to_vec();
        }
        let timestamp = self.certificate_timestamp(signed_part(without.der()));
        let extension = CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 11129, 2, 4, 2], timestamp);
        params.custom_extensions.push(extension);
        params.signed_by(key, &self.authority).unwrap().der().to_vec()
    }

    fn certificate_timestamp(&self, signed: &[u8]) -> Vec<u8> {
        let milliseconds = u64::try_from(TIME * 1000).unwrap().to_be_bytes();
        let issuer = sha256(&self.authority.key().subject_public_key_info());
        let length = u32::try_from(signed.len()).unwrap().to_be_bytes();
        let message = [&[0, 0][..], &milliseconds, &[0, 1], &issuer, &length[1..], signed, &[0, 0]].concat();
        let signature = self.certificate_log.sign(&message).unwrap();
        let length = u16::try_from(signature.len()).unwrap().to_be_bytes();
        let log = id(&self.certificate_log);
        let timestamp = [&[0][..], &log, &milliseconds, &[0, 0, 4, 3], &length, &signature].concat();
        let inner = u16::try_from(timestamp.len()).unwrap();
        let list = [&(inner + 2).to_be_bytes()[..], &inner.to_be_bytes(), &timestamp].concat();
        [&[0x04, u8::try_from(list.len()).unwrap()][..], &list].concat()
    }

    /// A bundle of the artifact.
    pub fn bundle(&self, plan: &Plan, artifact: &[u8]) -> Value {
        let key = KeyPair::generate().unwrap();
        let certificate = self.certificate(plan, &key);
        let signature = key.sign(artifact).unwrap();
        let body = json!({
            "apiVersion": "0.0.1",
            "kind": "hashedrekord",
            "spec": {
                "data": { "hash": { "algorithm": "sha256", "value": hex(&sha256(artifact)) } },
                "signature": {
                    "content": encode(&signature),
                    "publicKey": { "content": encode(pem(&certificate)) },
                },
            },
        });
        let mut bundle = json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": { "rawBytes": encode(&certificate) },
                "tlogEntries": [{
                    "logIndex": "1234567",
                    "logId": { "keyId": encode(id(&self.log)) },
                    "kindVersion": { "kind": "hashedrekord", "version": "0.0.1" },
                    "integratedTime": plan.time.to_string(),
                    "canonicalizedBody": encode(body.to_string()),
                }],
            },
            "messageSignature": {
                "messageDigest": { "algorithm": "SHA2_256", "digest": encode(sha256(artifact)) },
                "signature": encode(&signature),
            },
        });
        self.enter(&mut bundle, 11, 5);
        bundle
    }

    /// A bundle of a statement about the artifact.
    pub fn statement(&self, plan: &Plan, statement: &Value) -> Value {
        let key = KeyPair::generate().unwrap();
        let certificate = self.certificate(plan, &key);
        let (kind, payload) = ("application/vnd.in-toto+json", statement.to_string());
        let signature =
            key.sign(format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len()).as_bytes()).unwrap();
        let body = json!({
            "apiVersion": "0.0.1",
            "kind": "dsse",
            "spec": {
                "payloadHash": { "algorithm": "sha256", "value": hex(&sha256(payload.as_bytes())) },
                "signatures": [{ "signature": encode(&signature), "verifier": encode(pem(&certificate)) }],
            },
        });
        let mut bundle = self.bundle(plan, b"");
        let material = &mut bundle["verificationMaterial"];
        material["certificate"]["rawBytes"] = json!(encode(&certificate));
        material["tlogEntries"][0]["canonicalizedBody"] = json!(encode(body.to_string()));
        material["tlogEntries"][0]["kindVersion"]["kind"] = json!("dsse");
        bundle.as_object_mut().unwrap().remove("messageSignature");
        bundle["dsseEnvelope"] = json!({
            "payload": encode(&payload),
            "payloadType": kind,
            "signatures": [{ "sig": encode(&signature) }],
        });
        self.enter(&mut bundle, 3, 0);
        bundle
    }

    /// Enters the entry of a bundle, as it is now, into the log: a promise, and a proof for that place in a tree.
    pub fn enter(&self, bundle: &mut Value, size: usize, index: usize) {
        let entry = &mut bundle["verificationMaterial"]["tlogEntries"][0];
        entry["inclusionPromise"] = json!({ "signedEntryTimestamp": self.promise(entry, &self.log) });
        let body = decode(&entry["canonicalizedBody"]);
        let leaves: Vec<Vec<u8>> = (0..size)
            .map(|place| if place == index { body.clone() } else { format!("entry {place}").into_bytes() })
            .collect();
        let mut hashes = Vec::new();
        let root = tree(&leaves, index, &mut hashes);
        entry["inclusionProof"] = json!({
            "logIndex": index.to_string(),
            "rootHash": encode(&root),
            "treeSize": size.to_string(),
            "hashes": hashes.iter().map(encode).collect::<Vec<_>>(),
            "checkpoint": { "envelope": checkpoint(&self.log, size, &root) },
        });
    }

    /// The promise of a log for that entry.
    pub fn promise(&self, entry: &Value, log: &KeyPair) -> String {
        let message = format!(
            r#"{{"body":{},"integratedTime":{},"logID":"{}","logIndex":{}}}"#,
            entry["canonicalizedBody"],
            entry["integratedTime"].as_str().unwrap(),
            hex(&decode(&entry["logId"]["keyId"])),
            entry["logIndex"].as_str().unwrap()
        );
        encode(log.sign(message.as_bytes()).unwrap())
    }
}

/// A checkpoint over that tree.
pub fn checkpoint(log: &KeyPair, size: usize, root: &[u8]) -> String {
    let note = format!("log.example - 1234\n{size}\n{}\n", encode(root));
    let signature = [&id(log)[..4], &log.sign(note.as_bytes()).unwrap()].concat();
    format!("{note}\n\u{2014} log.example {}\n", encode(signature))
}

/// The root of a tree by RFC 6962, and the hashes beside the way to one leaf.
fn tree(leaves: &[Vec<u8>], index: usize, beside: &mut Vec<Vec<u8>>) -> Vec<u8> {
    if let [leaf] = leaves {
        return sha256(&[&[0][..], leaf].concat());
    }
    let half = leaves.len().next_power_of_two() / 2;
    let (left, right) = leaves.split_at(half);
    let (left, right) = match index < half {
        true => {
            let node = tree(left, index, beside);
            let other = tree(right, usize::MAX, &mut Vec::new());
            beside.push(other.clone());
            (node, other)
        }
        false => {
            let other = tree(left, usize::MAX, &mut Vec::new());
            let node = tree(right, index.wrapping_sub(half), beside);
            beside.push(other.clone());
            (other, node)
        }
    };
    sha256(&[&[1][..], &left, &right].concat())
}

pub fn pem(certificate: &[u8]) -> String {
    let digits = encode(certificate);
    let lines: Vec<&str> = digits.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}

/// What is signed of a certificate: its first part.
fn signed_part(certificate: &[u8]) -> &[u8] {
    // Both lengths are written in two bytes.
    assert_eq!((certificate[1], certificate[5]), (0x82, 0x82));
    let length = usize::from(u16::from_be_bytes([certificate[6], certificate[7]]));
    &certificate[4..8 + length]
}
