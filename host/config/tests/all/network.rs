//! The network of programs.

use super::write;
use bub_config::{Config, Registry};
use bub_egress::HostRule;
use bub_permissions::policy::NetworkMode;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

fn load(process: &str) -> anyhow::Result<Config> {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "config.toml", &format!("model = \"openai:x\"\n[process]\n{process}\n"));
    Config::load(Some(home.path()))
}

#[test]
fn rules_are_read_and_what_is_none_is_refused_at_the_start() {
    let process = load("network = \"hosts\"\nregistries = []\nallow_hosts = [\"*.example.com\", \"127.0.0.1:8080\"]")
        .unwrap()
        .process;
    assert_eq!(process.network, NetworkMode::Hosts);
    assert_eq!(
        process.allowed_hosts().iter().map(HostRule::to_string).collect::<Vec<_>>(),
        ["*.example.com", "127.0.0.1:8080"]
    );
    assert_eq!(load("").unwrap().process.network, NetworkMode::Ask);
    for (text, why) in [
        (
            "allow_hosts = [\"https://example.com/\"]",
            "`process.allow_hosts` of config.toml: `https://example.com/` is a URL",
        ),
        ("deny_hosts = [\"a b\"]", "`process.deny_hosts` of config.toml: `a b` contains a space"),
        ("network = \"open\"", "open"),
        ("registries = [\"gem\"]", "gem"),
    ] {
        let refused = format!("{:#}", load(text).expect_err(text));
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn a_host_is_added_to_the_rules_and_the_rest_of_the_file_stays() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("config.toml");
    write(home.path(), "config.toml", "# mine\nmodel = \"openai:x\"\n\n[process]\nenv = [\"A\"] # why\n");
    for host in ["a.example.com", "b.example.com:22", "a.example.com"] {
        bub_config::edit::edit(&path, |document| bub_config::edit::allow_host(document, host)).unwrap();
    }
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("# mine\n") && text.contains("env = [\"A\"] # why"), "{text}");
    assert!(text.contains("allow_hosts = [\"a.example.com\", \"b.example.com:22\"]"), "{text}");
    write(home.path(), "config.toml", "process = 1\n");
    bub_config::edit::edit(&path, |document| bub_config::edit::allow_host(document, "a.example.com"))
        .expect_err("no table");
}

/// The hosts of a manager in that home, with these variables; those that the machine names for all users are left out.
fn hosts(registry: Registry, home: &Path, variables: &[(&str, &str)]) -> Vec<String> {
    let home = [("HOME".to_owned(), home.to_string_lossy().into_owned())];
    let named = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let variables = home.into_iter().chain(named).map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let hosts = registry.hosts(variables).iter().map(HostRule::to_string).collect::<Vec<_>>();
    hosts.into_iter().filter(|host| host.contains("example.com") || host.starts_with("127.0.0.1")).collect()
}

#[test]
fn registries_are_those_of_the_managers_own_configuration() {
    let home = tempfile::tempdir().unwrap();
    let at = |path: &str, text: &str| {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    at(
        ".cargo/config.toml",
        "[source.crates-io]\nreplace-with = \"mirror\"\n[source.mirror]\nregistry = \"sparse+https://crates.example.com/index/\"\n\
         [registries.own]\nindex = \"https://git.example.com:8443/index\"\n[source.vendored]\ndirectory = \"vendor\"\n",
    );
    at(
        ".npmrc",
        "; comment\nregistry=https://npm.example.com/\n@mine:registry = \"http://127.0.0.1:4873\"\n//npm.example.com/:_authToken=x\n",
    );
    at(
        ".config/pip/pip.conf",
        "[global]\nindex-url = https://pip.example.com/simple\nextra-index-url = https://a.example.com/simple https://b.example.com/simple\ntrusted-host = evil.example.com\n",
    );
    at(".config/go/env", "GOPROXY=https://go.example.com|https://go2.example.com,direct\n");
    let home = home.path();
    assert_eq!(hosts(Registry::Cargo, home, &[]), ["git.example.com:8443", "crates.example.com:443"]);
    assert_eq!(hosts(Registry::Npm, home, &[]), ["npm.example.com:443", "127.0.0.1:4873"]);
    assert_eq!(hosts(Registry::Pip, home, &[]), ["pip.example.com:443", "a.example.com:443", "b.example.com:443"]);
    assert_eq!(hosts(Registry::Go, home, &[]), ["go.example.com:443", "go2.example.com:443"]);
    for (registry, name, value, host) in [
        (Registry::Cargo, "CARGO_REGISTRIES_X_INDEX", "sparse+http://127.0.0.1:9000/", "127.0.0.1:9000"),
        (Registry::Npm, "npm_config_registry", "https://n.example.com", "n.example.com:443"),
        (Registry::Pip, "PIP_INDEX_URL", "https://user:word@p.example.com/simple", "p.example.com:443"),
        (Registry::Go, "GOPROXY", "off,https://g.example.com", "g.example.com:443"),
    ] {
        let found = hosts(registry, home, &[(name, value)]);
        assert!(found.contains(&host.to_owned()), "{found:?}");
    }
}

#[test]
fn what_is_missing_broken_or_endless_names_no_host() {
    let home = tempfile::tempdir().unwrap();
    for registry in Registry::ALL {
        assert_eq!(hosts(registry, home.path(), &[("HOME", "")]).len(), 0);
    }
    fs::create_dir_all(home.path().join(".cargo")).unwrap();
    for text in [
        "[source",
        "source = 1",
        "[source]\nx = 1",
        "[source.x]\nregistry = 5",
        "[registries.x]\nindex = \"file:///etc\"",
    ] {
        fs::write(home.path().join(".cargo/config.toml"), text).unwrap();
        assert!(hosts(Registry::Cargo, home.path(), &[]).is_empty(), "{text}");
    }
    let many: String =
        (0..10_000).map(|number| format!("@s{number}:registry=https://h{number}.example.com\n")).collect();
    fs::write(home.path().join(".npmrc"), many).unwrap();
    assert_eq!(hosts(Registry::Npm, home.path(), &[]).len(), 64);
}
