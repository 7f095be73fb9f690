//! One connection of a program: its first byte tells the protocol.

use crate::proxy::Shared;
use crate::{http, socks};
use std::io::Cursor;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, join};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// The first bytes of SOCKS.
const SOCKS5: u8 = 5;
const SOCKS4: u8 = 4;

/// Serves the connection until it ends. The permit is held as long as anything of it is open.
pub(crate) async fn serve<R, W>(
    (mut reader, writer): (R, W),
    shared: Arc<Shared>,
    permit: Arc<OwnedSemaphorePermit>,
    end: CancellationToken,
) where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let mut first = [0];
    match timeout(shared.limits.head, reader.read_exact(&mut first)).await {
        Ok(Ok(_)) => {}
        _ => return,
    }
    match first {
        [SOCKS5] => {
            // Whatever its peer does wrong ends the connection, and nothing else.
            let _ = socks::serve(join(reader, writer), &shared).await;
        }
        // It knows no names, and its clients have no message for that.
        [SOCKS4] => {}
        first => http::serve(join(Cursor::new(first).chain(reader), writer), shared, permit, end).await,
    }
}
