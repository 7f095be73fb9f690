//! The secrets of a plugin against the fakes.

use bub_guest::{ErrorKind, test};

bub_guest::plugin! {
    about: "Signs.",
    grants: {
        /// to sign what it sends
        KEY: Secret("signing_key"),
    },
}

#[test]
fn the_harness_computes_the_hmac_that_the_host_computes() {
    // The second case of RFC 4231.
    let _host = test::Host::new().secret("signing_key", "Jefe");
    let mac: String =
        KEY.hmac_sha256(b"what do ya want for nothing?").unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(mac, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

#[test]
fn a_secret_that_is_not_set_is_missing() {
    let _host = test::Host::new();
    assert_eq!(KEY.hmac_sha256(b"").unwrap_err().kind, ErrorKind::NotFound);
}
