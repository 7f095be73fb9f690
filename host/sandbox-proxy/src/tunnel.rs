//! Bytes between a program and a host, in both directions.

use crate::policy::Direction;
use crate::proxy::Shared;
use bub_egress::Destination;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::net::TcpStream;
use tokio::time::sleep;

/// Bytes that are held in each direction.
const BUFFER: usize = 16 << 10;

/// Looks within the idle time.
const LOOKS: u32 = 4;

/// Copies until both sides have ended, one fails, or nothing has moved for the idle time. An end of one direction is
/// passed on while the other goes on.
pub(crate) async fn tunnel<P>(program: P, host: TcpStream, destination: &Destination, shared: &Shared)
where
    P: AsyncRead + AsyncWrite,
{
    let moves = AtomicU64::new(0);
    let (from_program, to_program) = split(program);
    let (from_host, to_host) = host.into_split();
    let moved = |direction, bytes| {
        moves.fetch_add(1, Ordering::Relaxed);
        shared.policy.moved(destination, direction, bytes);
    };
    let sent = copy(from_program, to_host, |bytes| moved(Direction::Sent, bytes));
    let received = copy(from_host, to_program, |bytes| moved(Direction::Received, bytes));
    tokio::select! {
        // An error of one side ends the other too.
        _ = async { tokio::try_join!(sent, received) } => {}
        () = idle(&moves, shared.limits.idle) => {}
    }
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    moved: impl Fn(u64),
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        // The count is never beyond the buffer.
        to.write_all(buffer.get(..count).unwrap_or_default()).await?;
        to.flush().await?;
        moved(count as u64);
    }
}

/// Returns once nothing has moved for that time.
async fn idle(moves: &AtomicU64, limit: Duration) {
    let (mut seen, mut quiet) = (u64::MAX, 0);
    while quiet < LOOKS {
        let now = moves.load(Ordering::Relaxed);
        quiet = if now == seen { quiet + 1 } else { 0 };
        seen = now;
        if quiet < LOOKS {
            sleep(limit / LOOKS).await;
        }
    }
}
