//! Addresses, digests and versions.

use bub_registry::{Digest, Reference, is_newer, newest};

#[track_caller]
fn parsed(text: &str) -> Reference {
    Reference::parse(text, Some("oci://registry.example.com/plugins")).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn an_address_has_a_host_a_repository_and_a_version_or_a_digest() {
    let digest = Digest::of(b"something").to_string();
    for (text, host, path, version) in [
        ("oci://ghcr.io/acme/weather:1.2.0", "ghcr.io", "acme/weather", Some("1.2.0")),
        ("oci://127.0.0.1:5000/weather:1.0.0-rc.1", "127.0.0.1:5000", "weather", Some("1.0.0-rc.1")),
        ("oci://[::1]:5000/a/b/c", "[::1]:5000", "a/b/c", None),
        ("oci://LOCALHOST:5000/a_b.c-d", "localhost:5000", "a_b.c-d", None),
        ("weather@1.2.0", "registry.example.com", "plugins/weather", Some("1.2.0")),
    ] {
        let found = parsed(text);
        assert_eq!(found.repository.host.as_str(), host, "{text}");
        assert_eq!((found.repository.path.as_str(), found.version.as_deref()), (path, version), "{text}");
        // What is written into the lock is read again.
        assert_eq!(parsed(&found.to_string()), found);
        let pinned = parsed(&format!("{text}@{digest}").replace("weather@1.2.0@", "weather@"));
        assert_eq!(pinned.digest.map(|digest| digest.to_string()), Some(digest.clone()), "{text}");
    }
}

#[test]
fn a_wrong_address_is_refused_with_its_own_words() {
    let long = format!("oci://host/{}", "a".repeat(2000));
    for (text, why) in [
        ("weather", "is not in a registry"),
        ("oci://host", "names no repository"),
        ("oci:///weather:1", "is not the host of a registry"),
        ("oci://me:secret@host/weather:1", "is not a digest"),
        ("oci://host:99999/weather:1", "is not the host of a registry"),
        ("oci://ho st/weather:1", "is not the host of a registry"),
        ("oci://host/Weather:1", "is not the name of a repository"),
        ("oci://host/../etc:1", "is not the name of a repository"),
        ("oci://host/a//b:1", "is not the name of a repository"),
        ("oci://host/weather?x=1:1", "is not the name of a repository"),
        ("oci://host/weather:", "is not a version"),
        ("oci://host/weather:1/2", "is not"),
        ("oci://host/weather:../1", "is not"),
        ("oci://host/weather@sha256:12", "is not a digest"),
        ("oci://host/weather@sha512:12", "is not a digest"),
        (long.as_str(), "is too long"),
    ] {
        let error = Reference::parse(text, None).expect_err(text).to_string();
        assert!(error.contains(why) && !error.contains('\n'), "{text}: {error}");
    }
    let error = Reference::parse("weather@1.0.0", None).expect_err("no default").to_string();
    assert!(error.contains("needs a default registry: set `default = "), "{error}");
}

#[test]
fn the_newest_version_is_the_highest_release() {
    assert_eq!(newest(["1.9.0", "1.10.0", "latest", "2.0.0-rc.1", "sha256-ab.sig"]), Some("1.10.0"));
    assert_eq!(newest(["2.0.0-rc.1", "2.0.0-rc.2"]), Some("2.0.0-rc.2"));
    assert_eq!(newest(["latest", "main"]), None);
    assert!(is_newer("1.10.0", "1.9.0") && is_newer("v2.0.0", "1.0.0") && is_newer("1.0.0", "1.0.0-rc.1"));
    assert!(!is_newer("1.0.0", "1.0.0") && !is_newer("main", "1.0.0"));
}
