//! Passes connections to a port of the loopback interface on to the socket of the proxy.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Connections at once; the proxy has a limit of its own.
const MAX_CONNECTIONS: usize = 256;

/// Stack of a thread that copies, in bytes.
const STACK: usize = 64 << 10;

/// Begins to pass on connections, on threads of its own. Returns the port.
pub(super) fn start(socket: &Path) -> io::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    let socket = socket.to_owned();
    thread::Builder::new().stack_size(STACK).spawn(move || accept(&listener, &socket))?;
    Ok(port)
}

fn accept(listener: &TcpListener, socket: &Path) {
    let running = Arc::new(AtomicUsize::new(0));
    for client in listener.incoming() {
        let Ok(client) = client else {
            // Too many files are open, for example: the next one may succeed.
            thread::sleep(std::time::Duration::from_millis(10));
            continue;
        };
        if running.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            running.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (socket, running): (PathBuf, _) = (socket.to_owned(), Arc::clone(&running));
        let counted = Arc::clone(&running);
        let began = thread::Builder::new().stack_size(STACK).spawn(move || {
            // A connection that breaks is the client's to notice.
            let _ = pass(client, &socket);
            running.fetch_sub(1, Ordering::Relaxed);
        });
        if began.is_err() {
            counted.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Copies in both directions until both have ended.
fn pass(client: TcpStream, socket: &Path) -> io::Result<()> {
    let proxy = UnixStream::connect(socket)?;
    let (mut from_client, mut to_proxy) = (client.try_clone()?, proxy.try_clone()?);
    let up = thread::Builder::new().stack_size(STACK).spawn(move || {
        let copied = io::copy(&mut from_client, &mut to_proxy);
        let _ = to_proxy.shutdown(Shutdown::Write);
        copied
    })?;
    let (mut from_proxy, mut to_client) = (proxy, client);
    let copied = io::copy(&mut from_proxy, &mut to_client);
    let _ = to_client.shutdown(Shutdown::Write);
    let _ = up.join();
    copied.map(drop)
}
