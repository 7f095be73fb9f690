//! Connections, each within bounds: what is slow, idle or endless takes nothing from the others.

use super::routes::router;
use super::{Api, Door};
use anyhow::{Context, Result};
use axum::Router;
use bub_gateway::Gateway;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;

/// Connections at once. The next ones wait in the system's queue.
const CONNECTIONS: usize = 1024;

/// A head with its headers, in bytes.
const HEAD_BYTES: usize = 64 << 10;

/// Headers of one request.
const HEADERS: usize = 100;

/// How long connections may take to end once the program does.
const PARTING: Duration = Duration::from_secs(2);

/// Answers requests until it is told to stop.
pub struct Server {
    address: SocketAddr,
    is_encrypted: bool,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Server {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https` where connections are encrypted, else `http`.
    pub fn scheme(&self) -> &'static str {
        if self.is_encrypted { "https" } else { "http" }
    }

    /// Takes no connection more, and waits a moment for those that are there.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        let _ = self.task.await;
    }
}

/// Listens where the configuration says, and lets in whom the door does.
///
/// # Errors
///
/// Somebody else listens there, or there is no such address here.
pub async fn listen(gateway: Arc<Gateway>, door: Door) -> Result<Server> {
    let wanted = gateway.host().config.serve.listen;
    let listener = TcpListener::bind(wanted).await.with_context(|| {
        format!("`{wanted}` cannot be listened at; `serve.listen` of config.toml or `--listen` names another address")
    })?;
    let address = listener.local_addr()?;
    let is_encrypted = door.rules().tls.is_some();
    let api = Arc::new(Api::new(gateway, door)?);
    let service = TowerToHyperService::new(router(Arc::clone(&api)));
    let (stop, mut stopped) = watch::channel(false);
    let task = tokio::spawn(async move {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let open = GracefulShutdown::new();
        loop {
            // The semaphore is never closed.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let stream = tokio::select! {
                stream = accept(&listener) => stream,
                _ = stopped.wait_for(|stop| *stop) => break,
            };
            let (api, service, watcher) = (Arc::clone(&api), service.clone(), open.watcher());
            tokio::spawn(async move {
                // A peer that breaks off or sends what is no HTTP has ended its connection, and nothing else.
                if let Err(error) = serve(&api, stream, service, watcher).await {
                    tracing::debug!("a connection ended: {error}");
                }
                drop(place);
            });
        }
        drop(listener);
        let _ = tokio::time::timeout(PARTING, open.shutdown()).await;
    });
    Ok(Server { address, is_encrypted, stop, task })
}

/// Answers the requests of one connection.
async fn serve(
    api: &Api,
    stream: TcpStream,
    service: TowerToHyperService<Router>,
    watcher: Watcher,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut stream = TimeoutStream::new(stream);
    // A peer that reads nothing of its answer loses the connection; each byte that it takes gives it as much again.
    stream.set_write_timeout(Some(api.patience()));
    let stream = Box::pin(stream);
    let tls = api.door.rules().tls.clone();
    match tls {
        Some(tls) => {
            let stream = timeout(api.patience(), tls.acceptor().accept(stream)).await??;
            exchange(api, stream, service, watcher).await?;
        }
        None => exchange(api, stream, service, watcher).await?,
    }
    Ok(())
}

async fn exchange<S>(
    api: &Api,
    stream: S,
    service: TowerToHyperService<Router>,
    watcher: Watcher,
) -> Result<(), hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(api.patience())
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    watcher.watch(connection).await
}

/// The next connection. Where the system has none to give, there is one later.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are small, and waited for.
                let _ = stream.set_nodelay(true);
                return stream;
            }
            Err(error) => {
                tracing::debug!("a connection was not taken: {error}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}
