//! Rules of the user for the hosts that programs reach.

use std::fmt;
use std::str::FromStr;

use bub_types::text::escaped;
use reqwest::Url;

use crate::destination::Destination;
use crate::host::Host;
use crate::target::{ParseTargetError, Target};

/// The ports of a rule without one.
const PORTS: [u16; 2] = [443, 80];

/// `HOST`, `HOST:PORT`, `*.SUFFIX`, `*.SUFFIX:PORT`, `*` or `*:PORT`. Without a port it is for 443 and 80.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostRule {
    target: Target,
    ports: Ports,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Ports {
    Usual,
    One(u16),
}

impl HostRule {
    /// Reads a rule.
    ///
    /// # Errors
    ///
    /// [`ParseTargetError`] if the text has none of the forms above.
    pub fn parse(text: &str) -> Result<HostRule, ParseTargetError> {
        if text.contains("://") {
            let shown = escaped(text, 100);
            let help = "is a URL: name the host, as in `example.com` or `example.com:8080`";
            return Err(ParseTargetError::new(format!("`{shown}` {help}")));
        }
        let after_host = text.rsplit_once(']').map_or(text, |(_, rest)| rest);
        let target = Target::parse(text)?;
        let ports = if after_host.contains(':') { Ports::One(target.port()) } else { Ports::Usual };
        Ok(HostRule { target, ports })
    }

    /// The rule for exactly that host and port.
    pub fn exactly(destination: &Destination) -> HostRule {
        let port = destination.port();
        HostRule { target: Target::one(destination.host.clone(), port), ports: Ports::One(port) }
    }

    /// The shortest rule for that host and port: without the port where it is one of the usual.
    pub fn shortest(destination: &Destination) -> HostRule {
        let rule = HostRule::exactly(destination);
        match PORTS.contains(&destination.port()) {
            true => HostRule { target: Target::one(destination.host.clone(), PORTS[0]), ports: Ports::Usual },
            false => rule,
        }
    }

    /// The rule for exactly the host and the port of a URL.
    pub fn of_url(url: &str) -> Option<HostRule> {
        let url = Url::parse(url).ok().filter(|url| ["http", "https"].contains(&url.scheme()))?;
        Destination::from_url(&url).ok().map(|destination| HostRule::exactly(&destination))
    }

    /// Whether the rule is for that destination.
    pub fn matches(&self, destination: &Destination) -> bool {
        let has_port = match self.ports {
            Ports::Usual => PORTS.contains(&destination.port()),
            Ports::One(port) => port == destination.port(),
        };
        has_port && self.target.names(&destination.host)
    }

    /// Whether the rule names one host, which may then be on a private network.
    pub fn is_exact(&self) -> bool {
        self.target.is_one_host()
    }

    /// The port of this machine that it names, if it does so: `127.0.0.1:8080`, `localhost:5432`.
    pub fn loopback(&self) -> Option<Destination> {
        let Ports::One(port) = self.ports else { return None };
        let host = self.target.host()?;
        let is_loopback = match host {
            Host::Address(address) => address.is_loopback(),
            Host::Name(_) => host.is_localhost(),
        };
        Destination::new(&host.to_string(), port).ok().filter(|_| is_loopback)
    }
}

/// The shortest text that [`HostRule::parse`] reads as this rule.
impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.target)?;
        // A target leaves out the port of its scheme, which here is not the whole rule.
        if self.ports == Ports::One(443) { f.write_str(":443") } else { Ok(()) }
    }
}

impl FromStr for HostRule {
    type Err = ParseTargetError;

    fn from_str(text: &str) -> Result<HostRule, ParseTargetError> {
        HostRule::parse(text)
    }
}
