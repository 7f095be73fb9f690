//! The proxy: its socket, and what all its connections share.

use crate::connection;
use crate::directory::Directory;
use crate::limits::Limits;
use crate::policy::{Policy, Verdict};
use crate::refusal::{Kind, Refusal};
use bub_egress::{Destination, Network};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::{TcpStream, UnixListener};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

/// The socket's name in its directory.
const SOCKET: &str = "proxy";

/// A proxy for the programs of one turn. Dropping it ends all its connections; its socket
/// is removed later ([`remove_ended`](crate::remove_ended)).
pub struct Proxy {
    socket: PathBuf,
    _end: DropGuard,
    _directory: Directory,
}

/// What the connections share.
pub(crate) struct Shared {
    pub(crate) policy: Arc<dyn Policy>,
    pub(crate) network: Network,
    pub(crate) limits: Limits,
}

impl Proxy {
    /// Listens on a socket in a new directory that only this user can open. Needs a tokio runtime.
    ///
    /// # Errors
    ///
    /// The directory or the socket cannot be made.
    pub fn start(policy: Arc<dyn Policy>, network: Network, limits: Limits) -> io::Result<Self> {
        let directory = Directory::new()?;
        let socket = directory.path().join(SOCKET);
        let listener = UnixListener::bind(&socket)?;
        let end = CancellationToken::new();
        let shared = Arc::new(Shared { policy, network, limits });
        tokio::spawn(end.child_token().run_until_cancelled_owned(accept(listener, shared, end.child_token())));
        Ok(Self { socket, _end: end.drop_guard(), _directory: directory })
    }

    /// The path of the socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("socket", &self.socket).finish_non_exhaustive()
    }
}

async fn accept(listener: UnixListener, shared: Arc<Shared>, end: CancellationToken) {
    let room = Arc::new(Semaphore::new(shared.limits.connections));
    loop {
        // Further connections wait in the system's queue.
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let serve = connection::serve(stream, Arc::clone(&shared), Arc::new(permit), end.clone());
                tokio::spawn(end.clone().run_until_cancelled_owned(serve));
            }
            // Out of files: others may be closed in a moment.
            Err(_) => sleep(std::time::Duration::from_millis(100)).await,
        }
    }
}

impl Shared {
    /// Asks the policy. `Ok`: whether a rule names exactly this host.
    pub(crate) async fn decide(&self, destination: &Destination) -> Result<bool, Refusal> {
        let verdict = timeout(self.limits.decision, self.policy.decide(destination)).await;
        let refusal = match verdict {
            Ok(Verdict::Allow { exact }) => return Ok(exact),
            Ok(Verdict::Deny(why)) => Refusal::new(Kind::Denied, &why),
            Err(_) => {
                Refusal::new(Kind::Denied, &format!("nobody has answered whether `{destination}` may be reached"))
            }
        };
        Err(self.refused(destination, refusal))
    }

    /// Notes a refusal.
    pub(crate) fn refused(&self, destination: &Destination, refusal: Refusal) -> Refusal {
        if refusal.kind == Kind::Denied {
            self.policy.refused(destination, &refusal.why);
        }
        refusal
    }

    /// Asks the policy, and opens a connection.
    pub(crate) async fn connect(&self, destination: &Destination) -> Result<TcpStream, Refusal> {
        let exact = self.decide(destination).await?;
        match self.network.connect(destination, exact).await {
            Ok(stream) => {
                self.policy.reached(destination);
                Ok(stream)
            }
            Err(error) => Err(self.refused(destination, Refusal::of(&error, destination))),
        }
    }
}
