//! Registries and signatures that are wrong, by intent or by mistake: each is refused in one line, and what was installed
//! runs on.

use super::*;
use bub_registry::{Digest, SecretKey, Signature};
use bub_tests::listener::{Listener, response};

const HOOK: &str = "hook:build-prompt";

/// What a registry has of `acme/notes:1.0.0`.
#[derive(Clone)]
struct Content {
    manifest: Value,
    config: Vec<u8>,
    layer: Vec<u8>,
    /// Headers of the manifest.
    headers: String,
    /// Whole responses, by the beginning of the path behind `/v2/`.
    instead: Vec<(&'static str, Vec<u8>)>,
}

impl Content {
    /// What `publish` writes.
    fn new(component: &[u8]) -> Self {
        let world = bub_runtime::plugin::ComponentWorld::read(component).unwrap_or_default();
        let config = json!({
            "created": "2026-01-01T00:00:00Z", "architecture": "wasm", "os": "wasip2",
            "layerDigests": [Digest::of(component).to_string()],
            "component": { "imports": world.imports, "exports": world.exports },
        });
        let mut content = Self {
            manifest: json!({
                "schemaVersion": 2,
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": { "mediaType": "application/vnd.wasm.config.v0+json" },
                "layers": [{ "mediaType": "application/wasm", "digest": "", "size": 0 }],
                "annotations": { "bub.plugin.manifest": super::manifest("1.0.0", &[HOOK]).to_string() },
            }),
            config: Vec::new(),
            layer: Vec::new(),
            headers: String::new(),
            instead: Vec::new(),
        };
        content.set_config(&config);
        content.set_layer(component);
        content
    }

    fn set_config(&mut self, config: &Value) {
        self.config = config.to_string().into_bytes();
        self.manifest["config"]["digest"] = Digest::of(&self.config).to_string().into();
        self.manifest["config"]["size"] = self.config.len().into();
    }

    /// Changes a field of the configuration.
    fn configure(&mut self, key: &str, value: Value) {
        let mut config: Value = serde_json::from_slice(&self.config).expect("JSON");
        config[key] = value;
        self.set_config(&config);
    }

    fn set_layer(&mut self, layer: &[u8]) {
        self.layer = layer.to_vec();
        self.manifest["layers"][0]["digest"] = Digest::of(layer).to_string().into();
        self.manifest["layers"][0]["size"] = layer.len().into();
        self.configure("layerDigests", json!([Digest::of(layer).to_string()]));
    }

    fn annotate(&mut self, key: &str, value: &str) {
        self.manifest["annotations"][key] = value.into();
    }

    fn answers(&mut self, path: &'static str, response: impl Into<Vec<u8>>) {
        self.instead.push((path, response.into()));
    }

    /// Everything is answered so.
    fn only(&mut self, response: impl Into<Vec<u8>>) {
        self.answers("", response);
    }

    fn respond(&self, request: &str) -> Vec<u8> {
        let path = request.split_whitespace().nth(1).unwrap_or_default();
        let path = path.strip_prefix("/v2/").unwrap_or(path);
        if let Some((_, response)) = self.instead.iter().find(|(start, _)| path.starts_with(start)) {
            return response.clone();
        }
        let digest_of = |value: &Value| value["digest"].as_str().unwrap_or_default().to_owned();
        let body = match path {
            "acme/notes/manifests/1.0.0" => self.manifest.to_string().into_bytes(),
            _ if path.starts_with("acme/notes/manifests/sha256:") => self.manifest.to_string().into_bytes(),
            _ if path.ends_with(&digest_of(&self.manifest["config"])) => self.config.clone(),
            _ if path.ends_with(&digest_of(&self.manifest["layers"][0])) => self.layer.clone(),
            _ => return response(404, "", "").into_bytes(),
        };
        let headers = if path.contains("/manifests/") { self.headers.as_str() } else { "" };
        let head = format!("HTTP/1.1 200 OK\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
        [head.into_bytes(), body].concat()
    }
}

/// What is wrong, and a part of the line that says so.
type Case<'a> = (&'a str, &'a str, Box<dyn Fn(&mut Content) + 'a>);

/// A home with `notes` installed, which trusts a key.
struct Victim {
    home: Home,
    key: SecretKey,
    component: Vec<u8>,
}

impl Victim {
    fn new() -> Self {
        let home = new();
        let key = SecretKey::generate(None).expect("a key").0;
        trust(&home, "acme", &key.public().to_string());
        home.configure("[registry]\ntimeout_seconds = 2");
        let old = crate::plugin_add::file(&home, "notes.wasm", &component("0.9.0", &[HOOK]));
        does(&home, ["add", old.to_str().expect("UTF-8"), "--yes"]);
        Self { home, key, component: component("1.0.0", &[HOOK]) }
    }

    /// Adds from registries that are wrong in these ways, with these arguments behind.
    fn refuses_all(&self, cases: &[Case<'_>]) {
        let files = || (fs::read(installed(&self.home)).ok(), fs::read(Lock::path(&self.home.bub_home())).ok());
        let before = files();
        for (what, why, change) in cases {
            let mut content = Content::new(&self.component);
            change(&mut content);
            let server = Listener::new(move |request: &str| content.respond(request));
            let host = server.base().replace("http://", "");
            let refused = plugin(&self.home, ["add", &format!("oci://{host}/acme/notes:1.0.0"), "--yes"]);
            let line = refused.stderr.trim_end();
            let is_one_line = refused.code == Some(1) && refused.stdout.is_empty() && line.lines().count() == 1;
            assert!(is_one_line && line.contains(why), "{what}: expected `{why}`\n{refused}");
            assert!(!line.contains('\u{1b}') && line.len() < 1500, "{what}\n{refused}");
            assert!(files() == before, "{what}: something has changed");
        }
        answers(&self.home, true);
    }

    fn signature(&self, name: &str, version: &str, bytes: &[u8]) -> String {
        Signature::new(&self.key, bytes, name, version).expect("it is signed").as_str().to_owned()
    }
}

fn case<'a>(what: &'a str, why: &'a str, change: impl Fn(&mut Content) + 'a) -> Case<'a> {
    (what, why, Box::new(change))
}

#[test]
fn a_good_registry_of_the_same_kind_is_accepted() {
    let victim = Victim::new();
    let mut content = Content::new(&victim.component);
    content.annotate("bub.plugin.signature", &victim.signature("notes", "1.0.0", &victim.component));
    let server = Listener::new(move |request: &str| content.respond(request));
    let host = server.base().replace("http://", "");
    let said = does(&victim.home, ["add", &format!("oci://{host}/acme/notes:1.0.0"), "--yes"]);
    assert!(said.contains("signed by `acme`") && said.contains("it replaces version 0.9.0"), "{said}");
}

#[test]
fn a_component_without_annotations_as_other_tools_push_it_is_accepted() {
    let victim = Victim::new();
    let mut content = Content::new(&victim.component);
    // As `wkg oci push` writes it: no annotations, an author and a target of `null`, and no media type of its own.
    content.manifest.as_object_mut().expect("an object").retain(|key, _| key != "annotations" && key != "mediaType");
    content.configure("author", Value::Null);
    let mut config: Value = serde_json::from_slice(&content.config).expect("JSON");
    config["component"]["target"] = Value::Null;
    content.set_config(&config);
    let server = Listener::new(move |request: &str| content.respond(request));
    let host = server.base().replace("http://", "");
    let said = does(&victim.home, ["add", &format!("oci://{host}/acme/notes:1.0.0"), "--yes"]);
    assert!(!said.contains("its author says") && said.contains("it replaces version 0.9.0"), "{said}");
    answers(&victim.home, true);
}

#[test]
fn a_registry_that_refuses_breaks_off_or_leads_elsewhere_is_one_line() {
    let bearer =
        |realm: &str| response(401, &format!("www-authenticate: Bearer realm=\"{realm}\",service=\"x\"\r\n"), "");
    let leads = |to: &str| response(302, &format!("location: {to}\r\n"), "");
    let long = "a".repeat(20 << 20);
    let cases = [
        case("it hangs up", "cannot be reached", |c| c.only("")),
        case("it speaks no HTTP", "cannot be reached", |c| c.only("SSH-2.0-OpenSSH\r\n")),
        case("there is no such version", "has no `acme/notes:1.0.0`", |c| c.only(response(404, "", ""))),
        case("it breaks", "answers with status 500", |c| {
            c.only(response(500, "", "{\"errors\":[{\"message\":\"a\\nb \\u001b[31mred\"}]}"))
        }),
        case("it is busy", "wants fewer requests", |c| c.only(response(429, "", ""))),
        case("it forbids", "does not allow", |c| c.only(response(403, "", ""))),
        case("it wants a strange login", "a kind that is unknown here", |c| {
            c.only(response(401, "www-authenticate: Negotiate\r\n", ""))
        }),
        case("it wants a password", "wants credentials", |c| {
            c.only(response(401, "www-authenticate: Basic realm=\"x\"\r\n", ""))
        }),
        case("tokens are nowhere", "names no address for tokens", |c| c.only(bearer("nowhere"))),
        case("tokens are elsewhere in the clear", "which is not over https", |c| {
            c.only(bearer("http://example.com/token"))
        }),
        case("tokens are at a metadata service", "which is not a public address", |c| {
            c.only(bearer("https://169.254.169.254/token"))
        }),
        case("tokens are a file", "which is not over https", |c| c.only(bearer("file:///etc/passwd"))),
        case("it sends in a circle", "redirects too often", |c| c.only(leads("/v2/again"))),
        case("it leads to another scheme", "which is not over https", |c| c.only(leads("ftp://example.com/x"))),
        case("it leads away in the clear", "which is not over https", |c| c.only(leads("http://example.com/x"))),
        case("it leads to a metadata service", "which is not a public address", |c| {
            c.only(leads("https://169.254.169.254/latest"))
        }),
        case("it leads nowhere", "redirects to", |c| c.only(leads("http://[::1"))),
        case("its manifest never ends", "sends more than", |c| c.only(response(200, "", &long))),
        case("its manifest is cut off", "breaks off", |c| {
            c.only("HTTP/1.1 200 OK\r\ncontent-length: 500\r\nconnection: close\r\n\r\n{\"schemaVersion\":2")
        }),
    ];
    Victim::new().refuses_all(&cases);
}

#[test]
fn a_login_that_gives_no_token_or_too_much_is_one_line() {
    for (answer, why) in [
        (response(200, "", "{}"), "gives no token"),
        (response(200, "", "{\"token\":\"a b\\r\\nx: y\"}"), "gives no token"),
        (response(200, "", &"x".repeat(1 << 20)), "sends more than 65536 bytes"),
        (response(403, "", ""), "is refused with status 403"),
    ] {
        let victim = Victim::new();
        let tokens = Listener::new(move |_: &str| answer.clone());
        let challenge = response(401, &format!("www-authenticate: Bearer realm=\"{}/token\"\r\n", tokens.base()), "");
        victim.refuses_all(&[case("the login is wrong", why, |c| c.only(challenge.clone()))]);
    }
}

#[test]
fn a_slow_registry_is_given_up() {
    let victim = Victim::new();
    let slow = std::time::Duration::from_secs(4);
    let server = Listener::new(move |_: &str| {
        std::thread::sleep(slow);
        response(404, "", "")
    });
    let host = server.base().replace("http://", "");
    let refused = plugin(&victim.home, ["add", &format!("oci://{host}/acme/notes:1.0.0")]);
    refused.refuses(&["does not answer in time; `timeout_seconds` in `[registry]` of config.toml says how long"]);
}

#[test]
fn content_that_is_not_what_it_says_is_one_line() {
    let victim = Victim::new();
    let layer = |c: &mut Content, key: &str, value: Value| c.manifest["layers"][0][key] = value;
    let other = component("1.0.0", &[HOOK, "tape:read"]);
    let cases = [
        case("no JSON", "its manifest is not one of an image", |c| c.manifest = "hello".into()),
        case("an index", "an index of several images", |c| c.manifest = json!({ "schemaVersion": 2, "manifests": [] })),
        case("an old manifest", "has the version 1, not 2", |c| c.manifest["schemaVersion"] = 1.into()),
        case("a manifest of another kind", "has the media type `application/vnd.docker", |c| {
            c.manifest["mediaType"] = "application/vnd.docker.distribution.manifest.v2+json".into();
        }),
        case("an image", "it is not a component: its configuration has the media type", |c| {
            c.manifest["config"]["mediaType"] = "application/vnd.oci.image.config.v1+json".into();
        }),
        case("the header lies", "lies about", |c| {
            c.headers = format!("docker-content-digest: sha256:{}\r\n", "0".repeat(64));
        }),
        case("no layer", "it has 0 layers", |c| c.manifest["layers"] = json!([])),
        case("two layers", "it has 2 layers", |c| {
            let layer = c.manifest["layers"][0].clone();
            c.manifest["layers"] = json!([layer, layer]);
        }),
        case("a layer of another kind", "its layer has the media type `application/vnd.oci.image.layer.v1.tar`", |c| {
            layer(c, "mediaType", "application/vnd.oci.image.layer.v1.tar".into());
        }),
        case("10 GB", "is larger than 64 MiB", |c| layer(c, "size", 10_000_000_000_u64.into())),
        case("nothing", "its layer is empty", |c| layer(c, "size", 0.into())),
        case("less than nothing", "not one of an image", |c| layer(c, "size", (-1).into())),
        case("another hash", "is not a digest", |c| layer(c, "digest", "sha512:00".into())),
        case("a path as digest", "is not a digest", |c| layer(c, "digest", "sha256:../../../etc/passwd".into())),
        case("a configuration that was changed", "lies about the configuration", |c| c.config[5] ^= 1),
        case("a large configuration", "its configuration is larger than 1 MiB", |c| {
            c.manifest["config"]["size"] = (2_u64 << 20).into();
        }),
        case("machine code by name", "made for `amd64`", |c| c.configure("architecture", "amd64".into())),
        case("a core module by name", "it is a core module", |c| c.configure("component", Value::Null)),
        case("a configuration of another layer", "is for another layer", |c| {
            c.configure("layerDigests", json!([Digest::of(b"other").to_string()]));
        }),
        case("another world", "none of this host's contracts", |c| {
            c.configure("component", json!({ "imports": [], "exports": ["wasi:cli/run@0.2.0"] }));
        }),
        case("a later contract", "which this host does not know", |c| {
            c.configure(
                "component",
                json!({ "imports": ["bub:tape/read@9.0.0"], "exports": ["bub:hooks/build-prompt@0.1.0"] }),
            );
        }),
        case("a changed layer", "lies about the component", |c| *c.layer.last_mut().expect("bytes") ^= 1),
        case("half a layer", "as the component", |c| c.layer.truncate(100)),
        case("a longer layer", "sends more than", |c| c.layer.extend([0; 100])),
        case("machine code", "is not WebAssembly", |c| c.set_layer(b"\x7fELF and more")),
        case("a core module", "it is no component", |c| c.set_layer(b"\0asm\x01\0\0\0")),
        case("hidden imports", "which its configuration does not say", |c| {
            let config: Value = serde_json::from_slice(&c.config).expect("JSON");
            c.configure("component", json!({ "imports": [], "exports": config["component"]["exports"] }));
        }),
        case("hidden wants", "it wants `tape:read`, which its annotations do not say", |c| c.set_layer(&other)),
        case("a nicer description", "its manifest is another than its annotations say", |c| {
            let mut manifest = super::manifest("1.0.0", &[HOOK]);
            manifest["about"] = "Does nothing.".into();
            c.annotate("bub.plugin.manifest", &manifest.to_string());
        }),
        case("another version", "it is version `1.1.0`, and it is stored as `1.0.0`", |c| {
            let other = component("1.1.0", &[HOOK]);
            c.set_layer(&other);
            c.annotate("bub.plugin.manifest", &super::manifest("1.1.0", &[HOOK]).to_string());
        }),
        case("a manifest that is none", "its manifest is no JSON", |c| c.annotate("bub.plugin.manifest", "{")),
        case("a grant that is none", "its manifest wants", |c| {
            c.annotate("bub.plugin.manifest", &super::manifest("1.0.0", &["everything"]).to_string());
        }),
    ];
    victim.refuses_all(&cases);
}

#[test]
fn signatures_that_are_wrong_are_one_line() {
    let victim = Victim::new();
    let good = victim.signature("notes", "1.0.0", &victim.component);
    let other = SecretKey::generate(None).expect("a key").0;
    let by_other = Signature::new(&other, &victim.component, "notes", "1.0.0").expect("it is signed");
    let sign = |c: &mut Content, text: &str| c.annotate("bub.plugin.signature", text);
    let cases = [
        case("rubbish", "its signature is not one of minisign", |c| sign(c, "rubbish")),
        case("half a signature", "its signature is not one of minisign", |c| sign(c, &good[..good.len() / 2])),
        case("a long signature", "its signature is not one of minisign", |c| sign(c, &"x".repeat(100_000))),
        case("for other bytes", "is not for these bytes", |c| sign(c, &victim.signature("notes", "1.0.0", b"other"))),
        case("for another plugin", "is signed as `memo`", |c| {
            sign(c, &victim.signature("memo", "1.0.0", &victim.component))
        }),
        case("for another version", "is signed as version `0.1.0`", |c| {
            sign(c, &victim.signature("notes", "0.1.0", &victim.component));
        }),
        case("with a changed comment", "is not for these bytes", |c| {
            let changed =
                victim.signature("notes", "0.1.0", &victim.component).replace("version:0.1.0", "version:1.0.0");
            sign(c, &changed);
        }),
        case("by an unknown key that is not there", "comes without the key", |c| sign(c, by_other.as_str())),
        case("by an unknown key with a wrong one", "its signature is by key", |c| {
            sign(c, by_other.as_str());
            c.annotate("bub.plugin.signer", &victim.key.public().to_string());
        }),
        case("with a key that is none", "is not a public key of minisign", |c| {
            sign(c, by_other.as_str());
            c.annotate("bub.plugin.signer", "RWnone");
        }),
    ];
    victim.refuses_all(&cases);
    // The same content, when its key is revoked.
    victim.home.configure("[trust.keys.acme]\nrevoked = true");
    victim.refuses_all(&[case("by a revoked key", "which is revoked", |c| sign(c, &good))]);
    victim.home.configure("[trust.keys.acme]\nrevoked = false\nexpires = \"2020-01-01\"");
    victim.refuses_all(&[case("by an expired key", "which has expired", |c| sign(c, &good))]);
}
