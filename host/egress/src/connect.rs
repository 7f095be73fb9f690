//! Connections of programs: the same address rules, without HTTP.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::destination::Destination;
use crate::error::Error;
use crate::host::Host;
use crate::network::Network;
use crate::resolve::is_allowed;

/// For a lookup, and for all attempts to connect.
const TIMEOUT: Duration = Duration::from_secs(10);

/// For the attempt to connect to one of several addresses.
const ATTEMPT: Duration = Duration::from_secs(4);

/// Addresses of one name that are tried.
const MAX_ADDRESSES: usize = 8;

impl Network {
    /// Opens a connection. The name is looked up here, every address of it is checked, and one of these is connected to.
    /// `exact`: a rule names exactly this host, so that it may be on a private network.
    ///
    /// # Errors
    ///
    /// [`Error::Private`], before any connection was opened; [`Error::TimedOut`] and [`Error::Failed`].
    pub async fn connect(&self, destination: &Destination, exact: bool) -> Result<TcpStream, Error> {
        let host = destination.to_string();
        let private = || Error::Private { host: host.clone(), named: exact };
        let failed = |reason: &str| Error::Failed { host: host.clone(), reason: reason.to_owned() };
        let timed_out = |_| Error::TimedOut { host: host.clone() };
        let addresses: Vec<IpAddr> = match &destination.host {
            // An address is its own exact name.
            Host::Address(address) if exact || is_allowed(*address, false) => vec![*address],
            Host::Address(_) => return Err(private()),
            Host::Name(_) if destination.host.is_localhost() && !exact => return Err(private()),
            Host::Name(name) => {
                let found = timeout(TIMEOUT, self.lookup(name)).await.map_err(timed_out)?;
                found.map_err(|_| failed("the name cannot be resolved"))?
            }
        };
        if addresses.is_empty() {
            return Err(failed("the name cannot be resolved"));
        }
        // One forbidden address rejects the whole answer: such an answer is an attack.
        let is_name = matches!(destination.host, Host::Name(_));
        if is_name && !addresses.iter().all(|address| is_allowed(*address, exact)) {
            return Err(private());
        }
        let attempts = async {
            let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
            for address in addresses.into_iter().take(MAX_ADDRESSES) {
                match timeout(ATTEMPT, TcpStream::connect(SocketAddr::new(address, destination.port()))).await {
                    Ok(Ok(stream)) => return Ok(stream),
                    Ok(Err(error)) => last = error,
                    Err(_) => last = io::ErrorKind::TimedOut.into(),
                }
            }
            Err(last)
        };
        match timeout(TIMEOUT, attempts).await.map_err(timed_out)? {
            Ok(stream) => {
                // Without it a small message may wait; that it cannot be set is no reason to fail.
                let _ = stream.set_nodelay(true);
                Ok(stream)
            }
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(Error::TimedOut { host }),
            Err(error) => Err(failed(&error.kind().to_string())),
        }
    }
}
