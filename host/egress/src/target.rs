//! Hosts of grants.

use std::fmt;
use std::str::FromStr;

use bub_types::text::escaped;
use reqwest::Url;

use crate::host::Host;

/// The target of a grant `http:TARGET`: `HOST`, `HOST:PORT`, `*.SUFFIX` or `*`, optionally with `http://` or
/// `https://`. The default is HTTPS and the scheme's default port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    scheme: Scheme,
    hosts: Hosts,
    port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Scheme {
    Http,
    Https,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Hosts {
    One(Host),
    /// Subdomains of the name, without the name itself.
    Below(String),
    All,
}

/// Why a text is not a target, worded for the user who wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseTargetError(String);

impl Target {
    /// Parses the target of a grant `http:TARGET`.
    ///
    /// # Errors
    ///
    /// [`ParseTargetError`] if the text has none of the forms above: a path, a query, a user name, another scheme, a
    /// `*` in the middle of a name, port 0.
    pub fn parse(grant: &str) -> Result<Target, ParseTargetError> {
        let wrong = |reason: &str| ParseTargetError(format!("`{}` {reason}", shown(grant)));
        let (scheme, rest) = match grant.split_once("://") {
            None => (Scheme::Https, grant),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (Scheme::Https, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (Scheme::Http, rest),
            Some(_) => return Err(wrong("has another scheme than `http` and `https`")),
        };
        if rest.is_empty() {
            return Err(wrong("names no host"));
        }
        if rest.contains(['/', '\\', '?', '#']) {
            return Err(wrong("has a path or query: a grant is for a whole host"));
        }
        if rest.contains('@') {
            return Err(wrong("contains a user name"));
        }
        // A URL parser drops some of these silently.
        if rest.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(wrong("contains a space or control character"));
        }
        if !rest.starts_with('[') && rest.matches(':').count() > 1 {
            return Err(wrong("has more than one `:`: an IPv6 address is written in brackets, as in `[::1]:8080`"));
        }
        // Any name serves to parse the port of `*`.
        let (below, probe) = match rest.strip_prefix('*') {
            Some("") => return Ok(Target { scheme, hosts: Hosts::All, port: scheme.port() }),
            Some(port) if port.starts_with(':') => (None, format!("all{port}")),
            Some(suffix) if suffix.starts_with('.') => (Some(true), suffix.trim_start_matches('.').to_owned()),
            Some(_) => return Err(wrong("has a `*` that is neither alone nor in front of a dot")),
            None => (Some(false), rest.to_owned()),
        };
        if probe.contains('*') || rest.starts_with("*..") {
            return Err(wrong("has a `*` that is neither alone nor in front of a dot"));
        }
        let url = Url::parse(&format!("{}://{probe}/", scheme.name())).map_err(|_| wrong("names no host"))?;
        let port = url
            .port_or_known_default()
            .filter(|port| *port != 0)
            .ok_or_else(|| wrong("has port 0, which is not a valid port"))?;
        let host = Host::from_url(&url).ok_or_else(|| wrong("names no host"))?;
        let hosts = match (below, host) {
            (None, _) => Hosts::All,
            (Some(false), host) => Hosts::One(host),
            (Some(true), Host::Name(name)) => Hosts::Below(name),
            (Some(true), Host::Address(_)) => return Err(wrong("asks for subdomains of an address")),
        };
        Ok(Target { scheme, hosts, port })
    }

    /// The narrowest target that allows `url`; none for a URL that no target allows.
    pub fn from_url(url: &Url) -> Option<Target> {
        let scheme = Scheme::parse(url)?;
        if !url.username().is_empty() || url.password().is_some() {
            return None;
        }
        let port = url.port_or_known_default().filter(|port| *port != 0)?;
        Some(Target { scheme, hosts: Hosts::One(Host::from_url(url)?), port })
    }

    /// Whether this target allows a request for `url`. Never for a URL with a user name in it.
    pub fn allows(&self, url: &Url) -> bool {
        let Some(Target { scheme, hosts: Hosts::One(host), port }) = Target::from_url(url) else {
            return false;
        };
        scheme == self.scheme && port == self.port && self.names(&host)
    }

    /// Whether this is for that host, whatever the scheme and the port.
    pub(crate) fn names(&self, host: &Host) -> bool {
        match (&self.hosts, host) {
            (Hosts::All, _) => true,
            (Hosts::One(one), host) => one == host,
            (Hosts::Below(suffix), Host::Name(name)) => {
                name.strip_suffix(suffix.as_str()).is_some_and(|front| front.len() > 1 && front.ends_with('.'))
            }
            (Hosts::Below(_), Host::Address(_)) => false,
        }
    }

    /// The target for one host over HTTPS.
    pub(crate) fn one(host: Host, port: u16) -> Target {
        Target { scheme: Scheme::Https, hosts: Hosts::One(host), port }
    }

    /// The one host that it names, if it names one.
    pub(crate) fn host(&self) -> Option<&Host> {
        match &self.hosts {
            Hosts::One(host) => Some(host),
            Hosts::Below(_) | Hosts::All => None,
        }
    }

    /// Whether it names one host.
    pub(crate) fn is_one_host(&self) -> bool {
        self.host().is_some()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Whether this allows `url` by its exact host, which may then be on a private network.
    pub fn names_private(&self, url: &Url) -> bool {
        matches!(self.hosts, Hosts::One(_)) && self.allows(url)
    }
}

/// The shortest text that [`Target::parse`] reads as this target.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scheme == Scheme::Http {
            f.write_str("http://")?;
        }
        match &self.hosts {
            Hosts::One(host) => write!(f, "{host}")?,
            Hosts::Below(suffix) => write!(f, "*.{suffix}")?,
            Hosts::All => f.write_str("*")?,
        }
        match self.port == self.scheme.port() {
            true => Ok(()),
            false => write!(f, ":{}", self.port),
        }
    }
}

impl FromStr for Target {
    type Err = ParseTargetError;

    fn from_str(grant: &str) -> Result<Target, ParseTargetError> {
        Target::parse(grant)
    }
}

impl ParseTargetError {
    pub(crate) fn new(why: String) -> ParseTargetError {
        ParseTargetError(why)
    }
}

impl fmt::Display for ParseTargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseTargetError {}

impl Scheme {
    fn parse(url: &Url) -> Option<Scheme> {
        match url.scheme() {
            "http" => Some(Scheme::Http),
            "https" => Some(Scheme::Https),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// The user's text, shortened to one line.
fn shown(text: &str) -> String {
    escaped(text, 100)
}
