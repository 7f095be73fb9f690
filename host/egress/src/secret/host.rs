//! The hosts that a secret is bound to.

use crate::secret::Error;
use std::fmt;
use std::net::IpAddr;

/// Maximum length of a host name, in characters.
const MAX_HOST: usize = 253;

/// One host, or all subdomains of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    Name(String),
    Address(IpAddr),
    /// `*.suffix`, stored without the star and the dot: every subdomain, not the suffix itself.
    Below(String),
}

impl Pattern {
    /// Parses `api.example.com`, `*.example.com`, `127.0.0.1` or `[::1]`, ignoring case.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |why: &str| Err(Error::Invalid(format!("host `{}` {why}", text.escape_debug())));
        if let Some(address) = address(text) {
            return Ok(Self::Address(address));
        }
        let name = text.to_ascii_lowercase();
        let (below, bare) = match name.strip_prefix("*.") {
            Some(suffix) => (true, suffix),
            None => (false, name.as_str()),
        };
        if bare.len() > MAX_HOST || !bare.split('.').all(is_label) {
            return invalid("is not a host: write `api.example.com` or `*.example.com`, without scheme, port and path");
        }
        match below {
            true if !bare.contains('.') => invalid("is too wide: name at least two labels after the star"),
            // `*.0.0.1` would look like a pattern for addresses.
            true if bare.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit())) => {
                invalid("is part of an address: name each address as a whole")
            }
            true => Ok(Self::Below(bare.to_owned())),
            false => Ok(Self::Name(bare.to_owned())),
        }
    }

    /// Whether the pattern matches `host` (without a port). Names are compared literally: `example.com.` is not
    /// `example.com`.
    pub(super) fn matches(&self, host: &str) -> bool {
        match (self, address(host)) {
            (Self::Address(bound), Some(address)) => *bound == address,
            (Self::Address(_), None) | (_, Some(_)) => false,
            (Self::Name(name), None) => host.eq_ignore_ascii_case(name),
            (Self::Below(suffix), None) => host
                .to_ascii_lowercase()
                .strip_suffix(suffix.as_str())
                .and_then(|rest| rest.strip_suffix('.'))
                .is_some_and(|below| below.split('.').all(is_label)),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
            Self::Below(suffix) => write!(f, "*.{suffix}"),
        }
    }
}

/// Parses a list of hosts, without duplicates.
pub(super) fn parse_all<'a>(hosts: impl IntoIterator<Item = &'a str>) -> Result<Vec<Pattern>, Error> {
    let mut patterns = Vec::new();
    for host in hosts {
        let pattern = Pattern::parse(host)?;
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    Ok(patterns)
}

/// Whether a request to `host` stays on this machine, whatever a resolver answers.
pub(super) fn is_loopback(host: &str) -> bool {
    address(host).map_or_else(|| host.eq_ignore_ascii_case("localhost"), |address| address.is_loopback())
}

fn address(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len()) && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}
