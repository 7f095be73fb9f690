//! The end of a proxy inside of a sandbox.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Connections at once; further ones are closed.
const MAX_CONNECTIONS: usize = 128;

/// The stack of a thread that copies, in bytes.
const STACK: usize = 64 << 10;

/// The longest head of the proxy's answer, in bytes.
const MAX_HEAD: usize = 8 << 10;

/// Passes connections to the loopback of a sandbox on to the socket of a proxy, which is bound into the sandbox. It needs no runtime, and runs on threads until its process ends.
#[derive(Debug, Clone)]
pub struct Relay {
    socket: PathBuf,
    forwards: Vec<String>,
}

impl Relay {
    /// A relay to that socket.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into(), forwards: Vec::new() }
    }

    /// With ports of the machine outside that are reached at the same port inside, as `127.0.0.1:5432`: also by programs
    /// that know of no proxy.
    #[must_use]
    pub fn forwarding<S: Into<String>>(mut self, destinations: impl IntoIterator<Item = S>) -> Self {
        self.forwards.extend(destinations.into_iter().map(Into::into));
        self
    }

    /// Listens, and returns the port for [`variables`](crate::variables). A forwarded port that is taken, or that only
    /// root may use, is left out.
    ///
    /// # Errors
    ///
    /// The loopback has no free port, or no thread can be started.
    pub fn start(self) -> io::Result<u16> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let open = Arc::new(AtomicUsize::new(0));
        listen(listener, self.socket.clone(), None, &open)?;
        for destination in self.forwards {
            let Some(port) = destination.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()) else {
                continue;
            };
            let listeners =
                [TcpListener::bind((Ipv4Addr::LOCALHOST, port)), TcpListener::bind((Ipv6Addr::LOCALHOST, port))];
            for listener in listeners.into_iter().flatten() {
                listen(listener, self.socket.clone(), Some(destination.clone()), &open)?;
            }
        }
        Ok(port)
    }
}

/// Accepts connections on a thread of its own.
fn listen(
    listener: TcpListener,
    socket: PathBuf,
    destination: Option<String>,
    open: &Arc<AtomicUsize>,
) -> io::Result<()> {
    let open = Arc::clone(open);
    let accept = move || {
        loop {
            let Ok((program, _)) = listener.accept() else {
                // Out of files: others may be closed in a moment.
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            if open.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (socket, destination, held) = (socket.clone(), destination.clone(), Arc::clone(&open));
            let serve = move || {
                // Whatever goes wrong ends this connection alone.
                let _ = serve(program, &socket, destination.as_deref());
                held.fetch_sub(1, Ordering::Relaxed);
            };
            if start(serve).is_err() {
                open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    };
    start(accept)
}

fn start(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().stack_size(STACK).spawn(work).map(drop)
}

fn serve(program: TcpStream, socket: &Path, destination: Option<&str>) -> io::Result<()> {
    let mut proxy = UnixStream::connect(socket)?;
    if let Some(destination) = destination {
        connect(&mut proxy, destination)?;
    }
    let (from_program, to_proxy) = (program.try_clone()?, proxy.try_clone()?);
    start(move || {
        match io::copy(&mut &from_program, &mut &to_proxy) {
            Ok(_) => drop(to_proxy.shutdown(Shutdown::Write)),
            Err(_) => drop((to_proxy.shutdown(Shutdown::Both), from_program.shutdown(Shutdown::Both))),
        };
    })?;
    match io::copy(&mut &proxy, &mut &program) {
        Ok(_) => program.shutdown(Shutdown::Write),
        Err(_) => program.shutdown(Shutdown::Both).and(proxy.shutdown(Shutdown::Both)),
    }
}

/// Asks the proxy for a tunnel. Its answer is read byte by byte: what follows belongs to the program.
fn connect(proxy: &mut UnixStream, destination: &str) -> io::Result<()> {
    write!(proxy, "CONNECT {destination} HTTP/1.1\r\nHost: {destination}\r\n\r\n")?;
    let (mut head, mut byte) = (Vec::new(), [0]);
    while head.len() < MAX_HEAD {
        proxy.read_exact(&mut byte)?;
        head.extend(byte);
        if head.ends_with(b"\r\n\r\n") {
            let is_open = head.starts_with(b"HTTP/1.1 200");
            return if is_open { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) };
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}
