//! The hosts of package registries, from what the package managers themselves are configured with.
//!
//! The program knows no host by heart. It reads the files of the user's home that the managers read, and their variables;
//! files of a workspace are not read. A manager that is configured with nothing uses a host that is built into it, which
//! the user names in `allow_hosts`.

use bub_egress::HostRule;
use bub_system::files::read_regular;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The largest file that is read, in bytes.
const MAX_FILE: usize = 1 << 20;

/// Hosts of one manager.
const MAX_HOSTS: usize = 64;

/// A package manager whose registries programs may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Registry {
    /// `[registries]` and `[source]` of Cargo's `config.toml`, and `CARGO_REGISTRIES_*_INDEX`.
    Cargo,
    /// `GOPROXY`, also of `go env -w`.
    Go,
    /// `registry` of `.npmrc`, also of scopes, and `NPM_CONFIG_REGISTRY`.
    Npm,
    /// `index-url` and `extra-index-url` of `pip.conf`, and the variables of pip and uv.
    Pip,
}

impl Registry {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Cargo, Self::Go, Self::Npm, Self::Pip];

    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Go => "go",
            Self::Npm => "npm",
            Self::Pip => "pip",
        }
    }

    /// Rules for exactly the hosts that the manager is configured with, where the user's variables are these.
    pub fn hosts(self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<HostRule> {
        let places = Places::new(variables);
        let urls = match self {
            Self::Cargo => cargo(&places),
            Self::Go => go(&places),
            Self::Npm => npm(&places),
            Self::Pip => pip(&places),
        };
        let mut hosts: Vec<HostRule> = Vec::new();
        for rule in urls.iter().filter_map(|url| HostRule::of_url(plain(url))) {
            if hosts.len() < MAX_HOSTS && !hosts.contains(&rule) {
                hosts.push(rule);
            }
        }
        hosts
    }
}

/// Where the user's configuration is.
struct Places {
    home: Option<PathBuf>,
    variables: BTreeMap<String, String>,
}

impl Places {
    fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let variables = variables.into_iter().filter_map(|(name, value)| {
            Some((name.into_string().ok()?.to_ascii_uppercase(), value.into_string().ok().filter(|v| !v.is_empty())?))
        });
        let variables: BTreeMap<String, String> = variables.collect();
        Self { home: variables.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute()), variables }
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// That directory, or the one below the home.
    fn directory(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let named = self.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        named.or_else(|| Some(self.home.as_ref()?.join(below_home)))
    }

    fn in_home(&self, path: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(path))
    }
}

/// A file's text; empty where it cannot be read, which is the manager's own matter.
fn text(path: Option<impl AsRef<Path>>) -> String {
    let read = path.and_then(|path| read_regular(path.as_ref(), MAX_FILE).ok());
    read.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The URL of an index without the words in front of it that only its manager understands.
fn plain(url: &str) -> &str {
    ["sparse+", "registry+", "git+"].iter().find_map(|prefix| url.strip_prefix(prefix)).unwrap_or(url)
}

/// The values of a key in lines `KEY = VALUE`, which are the same in INI files and in npm's.
fn values<'a>(text: &'a str, is_key: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = &'a str> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.filter(move |(key, _)| is_key(key.trim())).map(|(_, value)| value.trim().trim_matches(['"', '\'']))
}

fn cargo(places: &Places) -> Vec<String> {
    let directory = places.directory("CARGO_HOME", ".cargo");
    let of_file = |name: &str| {
        let table = text(directory.as_ref().map(|path| path.join(name))).parse::<Table>().unwrap_or_default();
        let tables = [("registries", ["index", "index"]), ("source", ["registry", "git"])];
        let mut urls = Vec::new();
        for (section, keys) in tables {
            let entries = table.get(section).and_then(Value::as_table).into_iter().flat_map(Table::values);
            for entry in entries {
                urls.extend(keys.iter().filter_map(|key| Some(entry.get(key)?.as_str()?.to_owned())));
            }
        }
        urls
    };
    let is_index = |name: &str| name.starts_with("CARGO_REGISTRIES_") && name.ends_with("_INDEX");
    let named = places.variables.iter().filter(|(name, _)| is_index(name)).map(|(_, value)| value.clone());
    ["config.toml", "config"].into_iter().flat_map(of_file).chain(named).collect()
}

fn go(places: &Places) -> Vec<String> {
    let config = places.directory("XDG_CONFIG_HOME", ".config").map(|path| path.join("go/env"));
    let written = text(places.variable("GOENV").map(PathBuf::from).or(config));
    let written = values(&written, |key| key == "GOPROXY").map(str::to_owned).collect::<Vec<_>>();
    let all = written.into_iter().chain(places.variable("GOPROXY").map(str::to_owned));
    all.flat_map(|list| list.split([',', '|']).map(|url| url.trim().to_owned()).collect::<Vec<_>>()).collect()
}

fn npm(places: &Places) -> Vec<String> {
    let file = places.variable("NPM_CONFIG_USERCONFIG").map(PathBuf::from).or_else(|| places.in_home(".npmrc"));
    let written = text(file);
    let is_registry = |key: &str| key == "registry" || (key.starts_with('@') && key.ends_with(":registry"));
    let written = values(&written, is_registry).map(str::to_owned).collect::<Vec<_>>();
    written.into_iter().chain(places.variable("NPM_CONFIG_REGISTRY").map(str::to_owned)).collect()
}

fn pip(places: &Places) -> Vec<String> {
    let files = [
        Some(PathBuf::from("/etc/pip.conf")),
        places.directory("XDG_CONFIG_HOME", ".config").map(|path| path.join("pip/pip.conf")),
        places.in_home(".pip/pip.conf"),
        places.variable("PIP_CONFIG_FILE").map(PathBuf::from),
    ];
    let mut urls = Vec::new();
    for file in files {
        let written = text(file);
        urls.extend(values(&written, |key| matches!(key, "index-url" | "extra-index-url")).map(str::to_owned));
    }
    let names = ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX"];
    urls.extend(names.iter().filter_map(|name| places.variable(name)).map(str::to_owned));
    urls.iter().flat_map(|list| list.split_whitespace().map(str::to_owned)).collect()
}
