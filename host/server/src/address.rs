//! Where the server of a home is reached by a browser on this machine: written beside its lock, for `bub-wasm open`.

use anyhow::{Context, Result, bail};
use bub_system::files::{Draft, read_text};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// The file in `$BUB_HOME`.
const FILE: &str = "serve.address";

/// The longest file, in bytes.
const MAX_FILE: usize = 1024;

/// The address of a running server, whose file is removed when this is dropped.
pub(super) struct AddressFile(PathBuf);

impl AddressFile {
    /// Writes where a server that listens there is reached.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(super) fn write(home: &Path, scheme: &str, address: SocketAddr) -> Result<Self> {
        let path = home.join(FILE);
        let mut draft = Draft::new(&path, 0o600).with_context(|| format!("`{}` cannot be written", path.display()))?;
        writeln!(draft, "{}", origin(scheme, address))?;
        draft.publish().with_context(|| format!("`{}` cannot be written", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for AddressFile {
    fn drop(&mut self) {
        // A file that stays is not believed without the lock of a running server.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The origin of the page. A server that listens on all addresses is reached on loopback.
pub(super) fn origin(scheme: &str, address: SocketAddr) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("{scheme}://{}", SocketAddr::new(ip, address.port()))
}

/// The origin of the page of the server that runs for this home.
///
/// # Errors
///
/// None runs.
pub fn running_origin(home: &Path) -> Result<String> {
    let path = home.join(FILE);
    let text = read_text(&path, MAX_FILE).map_err(anyhow::Error::msg)?.map(|(text, _)| text.trim().to_owned());
    match text.filter(|_| bub_gateway::is_served(home)) {
        Some(origin) => Ok(origin),
        None => bail!("`serve` does not run for `{}`: start it with `bub-wasm serve`", home.display()),
    }
}

/// The link that logs a browser in with a one-time code.
pub fn login_link(origin: &str, code: &str) -> String {
    format!("{origin}/#/login/{code}")
}
