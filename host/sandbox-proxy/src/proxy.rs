//! The proxy: its socket, and what all its connections share.

use crate::connection;
use crate::directory::Directory;
use crate::limits::Limits;
use crate::policy::{Policy, Verdict};
use crate::refusal::{Kind, Refusal};
use crate::tunnel::tunnel;
use bub_egress::{Destination, Network};
use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

/// The socket's name in its directory.
const SOCKET: &str = "proxy";

/// A proxy for the programs of one turn. Dropping it ends all its connections; its socket
/// is removed later ([`remove_ended`](crate::remove_ended)).
pub struct Proxy {
    shared: Arc<Shared>,
    /// Connections of all ways to it.
    room: Arc<Semaphore>,
    end: CancellationToken,
    socket: Mutex<Option<(PathBuf, Directory)>>,
    _end: DropGuard,
}

/// A way to a proxy. Dropping it closes the way; connections that came by it go on.
#[derive(Debug)]
pub struct Way(#[expect(dead_code, reason = "what counts is when it is dropped")] DropGuard);

/// What the connections share.
pub(crate) struct Shared {
    pub(crate) policy: Arc<dyn Policy>,
    pub(crate) network: Network,
    pub(crate) limits: Limits,
}

impl Proxy {
    /// A proxy to which no way leads yet.
    pub fn new(policy: Arc<dyn Policy>, network: Network, limits: Limits) -> Self {
        let end = CancellationToken::new();
        let room = Arc::new(Semaphore::new(limits.connections));
        let shared = Arc::new(Shared { policy, network, limits });
        Self { shared, room, socket: Mutex::new(None), _end: end.clone().drop_guard(), end }
    }

    /// The path of its socket, in a directory that only this user can open. It listens there from the first call on. Needs a
    /// tokio runtime.
    ///
    /// # Errors
    ///
    /// The directory or the socket cannot be made.
    pub fn socket(&self) -> io::Result<PathBuf> {
        let mut socket = self.socket.lock();
        if let Some((path, _)) = &*socket {
            return Ok(path.clone());
        }
        let directory = Directory::new()?;
        let path = directory.path().join(SOCKET);
        let listener = UnixListener::bind(&path)?;
        let (shared, room, end) = (Arc::clone(&self.shared), Arc::clone(&self.room), self.end.clone());
        tokio::spawn(self.end.clone().run_until_cancelled_owned(accept(room, async move || {
            let (stream, _) = listener.accept().await?;
            let (shared, end) = (Arc::clone(&shared), end.clone());
            Ok(move |permit| spawn(end.clone(), connection::serve(stream.into_split(), shared, Arc::new(permit), end)))
        })));
        *socket = Some((path.clone(), directory));
        Ok(path)
    }

    /// Serves the connections of that listener until the result is dropped: as a proxy, or as if each had asked for a tunnel to
    /// `destination`. Needs a tokio runtime.
    ///
    /// # Errors
    ///
    /// The runtime cannot have it.
    pub fn listen(&self, listener: std::net::TcpListener, destination: Option<Destination>) -> io::Result<Way> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let (shared, room, end) = (Arc::clone(&self.shared), Arc::clone(&self.room), self.end.clone());
        let closed = self.end.child_token();
        tokio::spawn(closed.clone().run_until_cancelled_owned(accept(room, async move || {
            let (stream, _) = listener.accept().await?;
            let (shared, end, destination) = (Arc::clone(&shared), end.clone(), destination.clone());
            Ok(move |permit| match destination {
                None => spawn(end.clone(), connection::serve(stream.into_split(), shared, Arc::new(permit), end)),
                Some(destination) => spawn(end, async move {
                    let _permit: OwnedSemaphorePermit = permit;
                    // A refusal is noted, and closes the connection.
                    if let Ok(host) = shared.connect(&destination).await {
                        tunnel(stream, host, &destination, &shared).await;
                    }
                }),
            })
        })));
        Ok(Way(closed.drop_guard()))
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").finish_non_exhaustive()
    }
}

/// Accepts connections one after the other, and begins to serve each.
async fn accept<B: FnOnce(OwnedSemaphorePermit)>(room: Arc<Semaphore>, mut next: impl AsyncFnMut() -> io::Result<B>) {
    loop {
        // Further connections wait in the system's queue.
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        match next().await {
            Ok(begin) => begin(permit),
            // Out of files: others may be closed in a moment.
            Err(_) => sleep(std::time::Duration::from_millis(100)).await,
        }
    }
}

/// Serves a connection until the proxy ends.
fn spawn(end: CancellationToken, served: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(end.run_until_cancelled_owned(served));
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
