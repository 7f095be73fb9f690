//! Random changes of good bundles: nothing panics, and no other identity becomes their signer.

use crate::world::{IDENTITY, Plan, World, decode, encode};
use bub_sigstore::{Bundle, TrustedRoot};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const ARTIFACT: &[u8] = b"\0asm and more";
const TIME: Duration = Duration::from_secs(2);

/// Pseudorandom numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            match self.below(4) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = [0x00, 0x30, 0x7f, 0x80, 0x81, 0x84, 0xff][self.below(7)],
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, 0x30),
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
    }
}

fn verify(bundle: &[u8], root: &TrustedRoot) -> bool {
    let verified = Bundle::parse(bundle).and_then(|bundle| bundle.verify(ARTIFACT, root));
    if let Ok(signer) = &verified {
        assert_eq!(signer.identity, IDENTITY);
    }
    verified.is_ok()
}

/// The fields with DER, where a change of a single bit has to be noticed.
const DER: [&str; 4] = [
    "/verificationMaterial/certificate/rawBytes",
    "/messageSignature/signature",
    "/verificationMaterial/tlogEntries/0/inclusionPromise/signedEntryTimestamp",
    "/verificationMaterial/tlogEntries/0/canonicalizedBody",
];

#[test]
fn changed_bytes_anywhere_make_no_panic_and_no_other_signer() {
    let world = World::new();
    let root_text = world.trusted_root().to_string();
    let root = TrustedRoot::parse(root_text.as_bytes()).expect("a trusted root");
    let good = world.bundle(&Plan::default(), ARTIFACT);
    let text = good.to_string();
    let staging = TrustedRoot::parse(include_bytes!("../fixtures/staging_root.json")).expect("a trusted root");
    let timestamped: Value =
        serde_json::from_slice(include_bytes!("../fixtures/timestamp.sigstore.json")).expect("JSON");
    let timestamp = "/verificationMaterial/timestampVerificationData/rfc3161Timestamps/0/signedTimestamp";
    let mut random = Random(0x5eed_0000_0060);
    let (started, mut rounds) = (Instant::now(), 0);
    while started.elapsed() < TIME {
        let mut changed = text.clone().into_bytes();
        random.change(&mut changed);
        verify(&changed, &root);
        for field in DER {
            let mut bundle = good.clone();
            let value = bundle.pointer_mut(field).expect("a field");
            let before = decode(value);
            let mut bytes = before.clone();
            random.change(&mut bytes);
            *value = json!(encode(&bytes));
            let is_right = verify(bundle.to_string().as_bytes(), &root);
            assert!(!is_right || bytes == before, "{field}: {bytes:02x?}");
        }
        let mut bundle = timestamped.clone();
        let value = bundle.pointer_mut(timestamp).expect("a field");
        let mut bytes = decode(value);
        random.change(&mut bytes);
        *value = json!(encode(&bytes));
        let bundle = Bundle::parse(bundle.to_string().as_bytes()).expect("its timestamp is not read yet");
        if let Ok(signer) = bundle.verify(include_bytes!("../fixtures/a.txt"), &staging) {
            assert!(signer.time.is_some_and(|time| time.to_string().starts_with("2025-06-12T12:02:")), "{signer:?}");
        }
        let mut changed = root_text.clone().into_bytes();
        random.change(&mut changed);
        if let Ok(root) = TrustedRoot::parse(&changed) {
            verify(text.as_bytes(), &root);
        }
        rounds += 1;
    }
    assert!(rounds > 20, "{rounds}");
}
