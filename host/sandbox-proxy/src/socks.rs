//! SOCKS5 (RFC 1928): `CONNECT` without authentication. Names are looked up here.

use crate::proxy::Shared;
use crate::refusal::{Kind, Refusal};
use crate::tunnel::tunnel;
use bub_egress::Destination;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;
const SUCCEEDED: u8 = 0;
const UNKNOWN_COMMAND: u8 = 7;
const UNKNOWN_ADDRESS: u8 = 8;

/// Serves a connection whose first byte, the version, is read.
///
/// # Errors
///
/// The program has broken the protocol, is too slow, or is gone.
pub(crate) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, shared: &Shared) -> io::Result<()> {
    let asked = timeout(shared.limits.head, request(&mut stream)).await??;
    let destination = match asked {
        Ok(destination) => destination,
        Err(code) => return reply(&mut stream, code).await,
    };
    let destination = match destination {
        Ok(destination) => destination,
        Err(error) => return reply(&mut stream, Refusal::new(Kind::Invalid, &error.to_string()).reply()).await,
    };
    match shared.connect(&destination).await {
        Ok(host) => {
            reply(&mut stream, SUCCEEDED).await?;
            tunnel(stream, host, &destination, shared).await;
            Ok(())
        }
        Err(refusal) => reply(&mut stream, refusal.reply()).await,
    }
}

/// The destination that is asked for, or the code of a reply where it cannot be read.
async fn request<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
) -> io::Result<Result<Result<Destination, bub_egress::Error>, u8>> {
    let count = stream.read_u8().await?;
    let mut methods = vec![0; usize::from(count)];
    stream.read_exact(&mut methods).await?;
    if !methods.contains(&NO_AUTHENTICATION) {
        stream.write_all(&[VERSION, NO_METHOD]).await?;
        return Err(io::ErrorKind::InvalidData.into());
    }
    stream.write_all(&[VERSION, NO_AUTHENTICATION]).await?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let [version, command, _, kind] = head;
    if version != VERSION {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let host = match kind {
        IPV4 => {
            let mut octets = [0; 4];
            stream.read_exact(&mut octets).await?;
            Ipv4Addr::from(octets).to_string()
        }
        IPV6 => {
            let mut octets = [0; 16];
            stream.read_exact(&mut octets).await?;
            Ipv6Addr::from(octets).to_string()
        }
        NAME => {
            let length = stream.read_u8().await?;
            let mut name = vec![0; usize::from(length)];
            stream.read_exact(&mut name).await?;
            String::from_utf8_lossy(&name).into_owned()
        }
        _ => return Ok(Err(UNKNOWN_ADDRESS)),
    };
    let port = stream.read_u16().await?;
    match command {
        CONNECT => Ok(Ok(Destination::new(&host, port))),
        _ => Ok(Err(UNKNOWN_COMMAND)),
    }
}

/// A reply. The address of our end of the connection is nothing that a program needs.
async fn reply(stream: &mut (impl AsyncWrite + Unpin), code: u8) -> io::Result<()> {
    stream.write_all(&[VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]).await?;
    stream.flush().await
}
