//! Where a plugin is: `oci://HOST/NAME:VERSION`.

use crate::Digest;
use anyhow::{Context, Result, bail, ensure};
use bub_types::text::escaped;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// What every address of a registry begins with.
pub const SCHEME: &str = "oci://";

/// The longest address that is read, in bytes.
const MAX_LENGTH: usize = 1024;

/// The longest name of a repository, as the protocol says, in bytes.
const MAX_NAME: usize = 255;

/// The longest tag, as the protocol says, in bytes.
const MAX_TAG: usize = 128;

/// The host of a registry, with its port if it is not that of its scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host(String);

impl Host {
    /// The name or the address without the port.
    pub fn name(&self) -> &str {
        let end = match self.0.rfind(']') {
            Some(end) => end + 1,
            None => self.0.rfind(':').unwrap_or(self.0.len()),
        };
        &self.0[..end]
    }

    /// Whether it is this machine by its own name: then plain HTTP is used.
    pub fn is_loopback(&self) -> bool {
        let name = self.name().trim_matches(['[', ']']);
        name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// `HOST:PORT` as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Host {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || format!("`{}` is not the host of a registry: write `HOST` or `HOST:PORT`", escaped(text, 100));
        let is_bracketed = text.starts_with('[');
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) if !is_bracketed || name.ends_with(']') => (name, Some(port)),
            _ => (text, None),
        };
        let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
        ensure!(port.is_none_or(is_port), wrong());
        let is_name = match name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => {
                let is_label = |label: &str| {
                    !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                };
                name.len() <= 253 && name.split('.').all(is_label)
            }
        };
        ensure!(is_name, wrong());
        Ok(Self(text.to_ascii_lowercase()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A repository of a registry, `HOST/PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The registry.
    pub host: Host,
    /// The path in it, as in `acme/weather`.
    pub path: String,
}

impl Repository {
    /// The last part of the path: the name that a plugin has unless it is given another.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

impl FromStr for Repository {
    type Err = anyhow::Error;

    /// Parses `oci://HOST/PATH`, or the same without the scheme.
    fn from_str(text: &str) -> Result<Self> {
        let rest = text.strip_prefix(SCHEME).unwrap_or(text);
        let (host, path) = rest.split_once('/').with_context(|| {
            format!("`{}` names no repository: write `oci://HOST/NAME:VERSION`", escaped(text, 100))
        })?;
        let host = host.parse()?;
        ensure!(
            path.len() <= MAX_NAME && path.split('/').all(is_path_part),
            "`{}` is not the name of a repository, which has parts of `a-z`, `0-9`, `.`, `_` and `-` between `/`",
            escaped(path, 100)
        );
        Ok(Self { host, path: path.to_owned() })
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.host, self.path)
    }
}

/// A part between two slashes: lower case, and separators only between letters and digits.
fn is_path_part(part: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let (first, last) = (part.bytes().next(), part.bytes().last());
    first.is_some_and(is_plain)
        && last.is_some_and(is_plain)
        && part.bytes().all(|byte| is_plain(byte) || b"._-".contains(&byte))
        && !part.contains("..")
}

/// Whether the text can be a tag.
pub(crate) fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= MAX_TAG
        && text.bytes().next().is_some_and(is_word)
        && text.bytes().all(|byte| is_word(byte) || b".-".contains(&byte))
}

/// A plugin in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The repository.
    pub repository: Repository,
    /// The tag; none: the newest version, or the one with the digest.
    pub version: Option<String>,
    /// The digest of the manifest, if the user pins it.
    pub digest: Option<Digest>,
}

impl Reference {
    /// Parses `oci://HOST/NAME`, with `:VERSION` and `@sha256:…` behind it, or `NAME@VERSION` below `default`.
    ///
    /// # Errors
    ///
    /// The text is none of these, or there is no default.
    pub fn parse(text: &str, default: Option<&str>) -> Result<Self> {
        ensure!(text.len() <= MAX_LENGTH, "`{}` is too long for an address", escaped(text, 60));
        if let Some(rest) = text.strip_prefix(SCHEME) {
            let (rest, digest) = match rest.split_once('@') {
                Some((rest, digest)) => (rest, Some(digest.parse()?)),
                None => (rest, None),
            };
            let slash = rest.find('/').unwrap_or(0);
            let (repository, version) = match rest[slash..].rfind(':') {
                Some(colon) => (&rest[..slash + colon], Some(&rest[slash + colon + 1..])),
                None => (rest, None),
            };
            return Self::new(repository.parse()?, version, digest);
        }
        let Some((name, version)) = text.split_once('@') else {
            bail!("`{}` is not in a registry: write `oci://HOST/NAME:VERSION` or `NAME@VERSION`", escaped(text, 100));
        };
        let default = default.with_context(|| {
            format!(
                "`{}` needs a default registry: set `default = \"oci://HOST/PATH\"` in `[registry]` of config.toml, or \
                 write `oci://HOST/NAME:VERSION`",
                escaped(text, 100)
            )
        })?;
        let repository = format!("{}/{name}", default.trim_end_matches('/')).parse()?;
        match version.starts_with("sha256:") {
            true => Self::new(repository, None, Some(version.parse()?)),
            false => Self::new(repository, Some(version), None),
        }
    }

    fn new(repository: Repository, version: Option<&str>, digest: Option<Digest>) -> Result<Self> {
        if let Some(version) = version.filter(|version| !is_tag(version)) {
            bail!("`{}` is not a version that a registry can have", escaped(version, 100));
        }
        Ok(Self { repository, version: version.map(str::to_owned), digest })
    }

    /// The same with that version.
    #[must_use]
    pub fn at(&self, version: &str) -> Self {
        Self { version: Some(version.to_owned()), digest: None, ..self.clone() }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.repository)?;
        if let Some(version) = &self.version {
            write!(f, ":{version}")?;
        }
        self.digest.as_ref().map_or(Ok(()), |digest| write!(f, "@{digest}"))
    }
}
