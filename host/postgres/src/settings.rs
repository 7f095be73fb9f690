//! The address of a database.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use bub_tape::{Error, Result};
use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// The schemes of addresses.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The parameter of an address that names a file of certificates, as in PostgreSQL's own clients.
const ROOTS: &str = "sslrootcert";

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long sent data may stay unacknowledged, and a silent connection unanswered.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(15);

/// The server's limits for each session, unless the address gives others. A statement that lasts longer than the first is
/// ended; a lock is waited for as long as in SQLite.
const LIMITS: &str = "-c statement_timeout=30s -c lock_timeout=5s -c idle_in_transaction_session_timeout=30s";

/// Settings that the address cannot change: after a lock was waited for, a stricter isolation would not see what its last owner
/// wrote.
const FIXED: &str = "-c default_transaction_isolation=read\\ committed";

/// The address of the database, and how to reach it. Its `Debug` output has no password.
#[derive(Clone)]
pub struct Settings {
    pub(crate) config: Config,
    /// Certificates that vouch for the server, instead of the system's.
    pub(crate) roots: Option<PathBuf>,
    /// The address, as the user wrote it.
    address: String,
    /// Maximum connections of this process.
    pub(crate) connections: usize,
}

impl Settings {
    /// Parses an address such as `postgres://bub@db.example.com/bub` or `postgres:///bub?host=/run/postgresql`. The
    /// parameters are those of `libpq` that tokio-postgres knows, and `sslrootcert=FILE`.
    ///
    /// Over a network the connection is always encrypted, and the server's certificate checked.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if the address is invalid, contains a password, or turns encryption off for a server that
    /// is not on this machine.
    pub fn parse(address: &str) -> Result<Self> {
        if !Self::is_address(address) {
            return Err(Error::invalid("the address of a database begins with `postgres://`"));
        }
        let (rest, roots) = without_roots(address);
        // The parser's message quotes no value.
        let mut config: Config = rest.parse().map_err(|error: tokio_postgres::Error| {
            let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            Error::invalid(format!("the address of the database is invalid: {why}"))
        })?;
        if config.get_password().is_some() {
            return Err(Error::invalid(
                "the address of the database contains a password: store it with `bub-wasm secret set postgres --host \
                 HOST` and leave it out of the address",
            ));
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(Error::invalid(
                "the address of the database names no host: `postgres://HOST/NAME`, or `postgres:///NAME?host=DIRECTORY` \
                 for a socket",
            ));
        }
        match (is_local(&config), config.get_ssl_mode()) {
            (true, SslMode::Require) | (false, SslMode::Prefer | SslMode::Require) => config.ssl_mode(SslMode::Require),
            (true, _) => config.ssl_mode(SslMode::Disable),
            _ => {
                return Err(Error::invalid(
                    "the address of the database has `sslmode=disable`, which only a server on this machine may have: \
                     leave it out",
                ));
            }
        };
        // The last one counts.
        let options = config.get_options().unwrap_or_default();
        config.options(format!("{LIMITS} {options} {FIXED}"));
        if config.get_application_name().is_none() {
            config.application_name("bub-wasm");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.tcp_user_timeout(NETWORK_TIMEOUT).keepalives_idle(NETWORK_TIMEOUT / 3);
        config.keepalives_interval(NETWORK_TIMEOUT / 3).keepalives_retries(2);
        Ok(Self { config, roots, address: address.to_owned(), connections: 8 })
    }

    /// Whether a text is meant as an address for [`Settings::parse`].
    pub fn is_address(text: &str) -> bool {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }

    /// Sets the password.
    pub fn with_password(mut self, password: impl AsRef<[u8]>) -> Self {
        self.config.password(password);
        self
    }

    /// Sets the maximum number of connections of this process; at least one.
    pub fn with_connections(self, connections: usize) -> Self {
        Self { connections: connections.max(1), ..self }
    }

    /// The hosts to which a password is sent: those whose certificates are checked, or without encryption the addresses.
    /// A socket is none.
    pub fn hosts(&self) -> Vec<String> {
        let names = self.config.get_hosts().iter().filter_map(|host| match host {
            Host::Tcp(name) => Some(name.clone()),
            Host::Unix(_) => None,
        });
        let (names, addresses): (Vec<String>, _) = (names.collect(), self.config.get_hostaddrs());
        match names.is_empty() || (!self.is_encrypted() && !addresses.is_empty()) {
            true => addresses.iter().map(IpAddr::to_string).collect(),
            false => names,
        }
    }

    /// Whether the server is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        is_local(&self.config)
    }

    /// Whether the connection is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.config.get_ssl_mode() == SslMode::Require
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Settings").field(&self.address).finish()
    }
}

/// Whether each host is a socket, or an address of this machine.
fn is_local(config: &Config) -> bool {
    // An address beside the name is the one that is connected to.
    if !config.get_hostaddrs().is_empty() {
        return config.get_hostaddrs().iter().all(IpAddr::is_loopback);
    }
    config.get_hosts().iter().all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
    })
}

/// The address without the parameter [`ROOTS`], which tokio-postgres does not know, and its value.
fn without_roots(address: &str) -> (String, Option<PathBuf>) {
    let Some((base, query)) = address.split_once('?') else { return (address.to_owned(), None) };
    let mut roots = None;
    let others: Vec<&str> = query
        .split('&')
        .filter(|pair| match pair.split_once('=') {
            Some((ROOTS, path)) => {
                roots = Some(PathBuf::from(&*percent_decode_str(path).decode_utf8_lossy()));
                false
            }
            _ => true,
        })
        .collect();
    (if others.is_empty() { base.to_owned() } else { format!("{base}?{}", others.join("&")) }, roots)
}
