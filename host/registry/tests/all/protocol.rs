//! The protocol, with Debian's `docker-registry`.

use bub_registry::manifest::World;
use bub_registry::{Credentials, Digest, Publication, Reference, Registry, SecretKey, Settings, Signature};
use bub_test_support::docker_registry::{DockerRegistry, HTPASSWD, PASSWORD};
use std::time::Duration;

const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0 and more";

fn settings() -> Settings {
    Settings { timeout: Duration::from_secs(20), max_component: 1 << 20 }
}

fn reference(server: &DockerRegistry, version: &str) -> Reference {
    Reference::parse(&format!("oci://{}/acme/weather:{version}", server.address()), None).expect("an address")
}

async fn registry<'a>(server: &DockerRegistry, credentials: Option<Credentials<'a>>) -> Registry<'a> {
    Registry::new(&reference(server, "1").repository.host, credentials, settings()).await.expect("a client")
}

fn publication<'a>(reference: Reference, component: &'a [u8]) -> Publication<'a> {
    Publication {
        reference,
        name: "weather",
        about: "says the weather",
        component,
        plugin_manifest: "{}",
        world: World { exports: vec!["a:b/c@1.0.0".to_owned()], imports: vec!["d:e/f@1.0.0".to_owned()], target: None },
        readme: Some("# Weather"),
        signature: None,
        bundle: None,
    }
}

#[tokio::test]
async fn a_published_component_is_listed_described_and_fetched() {
    let dir = tempfile::tempdir().expect("a directory");
    let Some(server) = DockerRegistry::start(dir.path(), None) else { return };
    let registry = registry(&server, None).await;
    let key = SecretKey::generate(None).expect("a key").0;
    let signature = Signature::new(&key, COMPONENT, "weather", "1.0.0").expect("signed");
    let mut publication = publication(reference(&server, "1.0.0"), COMPONENT);
    publication.signature = Some((&signature, key.public()));
    let pushed = registry.publish(&publication).await.expect("it is pushed");
    assert!(!pushed.was_there);
    let again = registry.publish(&publication).await.expect("it is there");
    assert!(again.was_there && again.digest == pushed.digest);
    let other = Publication { component: b"\0asm other", ..publication };
    let error = registry.publish(&other).await.expect_err("a version is never replaced").to_string();
    assert!(error.contains("is there with another content"), "{error}");

    assert_eq!(registry.repositories().await.expect("a list"), ["acme/weather"]);
    assert_eq!(registry.tags("acme/weather").await.expect("a list"), ["1.0.0"]);
    for text in [reference(&server, "1.0.0").to_string(), format!("oci://{}/acme/weather", server.address())] {
        let found = registry.describe(&Reference::parse(&text, None).expect("it is one")).await.expect("it is there");
        assert_eq!((found.reference.version.as_deref(), &found.digest), (Some("1.0.0"), &pushed.digest));
        assert_eq!(found.config.world().imports, ["d:e/f@1.0.0"]);
        assert_eq!(found.manifest.annotation("bub.plugin.readme"), Some("# Weather"));
        assert_eq!(registry.component(&found).await.expect("it is fetched"), COMPONENT);
    }
    let missing = registry.describe(&reference(&server, "9.0.0")).await.expect_err("it is not there").to_string();
    assert!(missing.contains("has no `acme/weather:9.0.0`"), "{missing}");

    server.tamper(Digest::of(COMPONENT).hex(), b"\0asm\x0d\0\x01\0 and evil");
    let found = registry.describe(&reference(&server, "1.0.0")).await.expect("it is there");
    let error = registry.component(&found).await.expect_err("it was changed").to_string();
    assert!(error.contains("lies about the component") || error.contains("as the component"), "{error}");
}

#[tokio::test]
async fn a_private_registry_takes_credentials_that_may_go_there() {
    let dir = tempfile::tempdir().expect("a directory");
    let Some(server) = DockerRegistry::start(dir.path(), Some(HTPASSWD)) else { return };
    let publication = publication(reference(&server, "1.0.0"), COMPONENT);
    let error = registry(&server, None).await.publish(&publication).await.expect_err("it is private").to_string();
    assert!(error.contains("wants credentials: store `USER:PASSWORD`"), "{error}");
    let wrong = Credentials::new("me:wrong".to_owned(), |_, _| Ok(()));
    let error =
        registry(&server, Some(wrong)).await.publish(&publication).await.expect_err("it is private").to_string();
    assert!(error.contains("refuses the credentials") && !error.contains("wrong"), "{error}");
    let bound = Credentials::new(format!("me:{PASSWORD}"), |_, _| anyhow::bail!("the secret is not bound to it"));
    let error = registry(&server, Some(bound)).await.publish(&publication).await.expect_err("not bound").to_string();
    assert_eq!(error, "the secret is not bound to it");
    let right = Credentials::new(format!("me:{PASSWORD}"), |host, _| {
        assert_eq!(host, "127.0.0.1");
        Ok(())
    });
    let registry = registry(&server, Some(right)).await;
    assert!(!registry.publish(&publication).await.expect("it is pushed").was_there);
    let found = registry.describe(&reference(&server, "1.0.0")).await.expect("it is there");
    assert_eq!(registry.component(&found).await.expect("it is fetched"), COMPONENT);
}
