//! The listener and its connections, each within bounds: a slow, idle or endless peer does not affect the others.

use super::address::{AddressFile, login_link};
use super::routes::router;
use super::{Api, AuthState, address, logins, metrics};
use anyhow::{Context, Result};
use axum::Router;
use bub_gateway::Gateway;
use bub_telemetry::Sample;
use futures_util::future::BoxFuture;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

/// Connections at once. Further ones wait in the system's queue.
const MAX_CONNECTIONS: usize = 1024;

/// The largest head of a request, in bytes.
const MAX_HEAD: usize = 64 << 10;

/// Headers of one request.
const MAX_HEADERS: usize = 100;

/// How long open connections may take to finish their requests after a stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// A running HTTP server.
pub struct Server {
    address: SocketAddr,
    is_encrypted: bool,
    stopping: CancellationToken,
    task: JoinHandle<()>,
    api: Arc<Api>,
    _file: AddressFile,
}

impl Server {
    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https` if connections are encrypted, else `http`.
    pub fn scheme(&self) -> &'static str {
        if self.is_encrypted { "https" } else { "http" }
    }

    /// A link that logs a browser of this machine in as the owner. It can be used once.
    ///
    /// # Errors
    ///
    /// The folder of logins cannot be written.
    pub fn login_link(&self) -> Result<String> {
        let code = logins::issue_code(&self.api.gateway.host().config, None)?;
        Ok(login_link(&address::origin(self.scheme(), self.address), &code))
    }

    /// Answers the values of all metrics, each time that it is called.
    pub fn metrics(&self) -> impl Fn() -> BoxFuture<'static, Vec<Sample>> + Send + use<> {
        let api = Arc::clone(&self.api);
        move || {
            let api = Arc::clone(&api);
            Box::pin(async move { metrics::samples(&api).await })
        }
    }

    /// Says that plugins are compiled, on which readiness waits.
    pub fn set_plugins_prepared(&self) {
        self.api.readiness.set_plugins_prepared();
    }

    /// Accepts no further connection, and waits up to two seconds for the requests in progress.
    pub async fn stop(self) {
        self.stopping.cancel();
        self.api.mcp.stop();
        let _ = self.task.await;
    }
}

/// Listens on `serve.listen`, and serves requests that `auth` accepts.
///
/// # Errors
///
/// The address is in use, or does not belong to this machine.
pub async fn listen(gateway: Arc<Gateway>, auth: AuthState) -> Result<Server> {
    let wanted = gateway.host().config.serve.listen;
    let listener = TcpListener::bind(wanted).await.with_context(|| {
        format!("`{wanted}` is not available to listen on; `serve.listen` of config.toml or `--listen` names another address")
    })?;
    let address = listener.local_addr()?;
    let is_encrypted = auth.rules().tls.is_some();
    let scheme = if is_encrypted { "https" } else { "http" };
    let file = AddressFile::write(&gateway.host().config.home, scheme, address)?;
    let api = Arc::new(Api::new(gateway, auth)?);
    let service = TowerToHyperService::new(router(Arc::clone(&api)));
    let stopping = CancellationToken::new();
    let (stopped, shared) = (stopping.clone(), Arc::clone(&api));
    let task = tokio::spawn(async move {
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let open = GracefulShutdown::new();
        loop {
            // The semaphore is never closed.
            let permit = stopped.run_until_cancelled(Arc::clone(&permits).acquire_owned());
            let Some(Ok(permit)) = permit.await else { break };
            let Some(stream) = stopped.run_until_cancelled(accept(&listener)).await else { break };
            let (api, service, watcher) = (Arc::clone(&api), service.clone(), open.watcher());
            tokio::spawn(async move {
                // A peer that disconnects or sends no HTTP affects its own connection only.
                if let Err(error) = serve(&api, stream, service, watcher).await {
                    tracing::debug!("a connection ended: {error}");
                }
                drop(permit);
            });
        }
        drop(listener);
        let _ = timeout(SHUTDOWN_TIMEOUT, open.shutdown()).await;
    });
    Ok(Server { address, is_encrypted, stopping, task, api: shared, _file: file })
}

/// Serves the requests of one connection.
async fn serve(
    api: &Api,
    stream: TcpStream,
    service: TowerToHyperService<Router>,
    watcher: Watcher,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut stream = TimeoutStream::new(stream);
    // A peer that reads nothing of its response is disconnected; each byte that it reads restarts the timeout.
    stream.set_write_timeout(Some(api.peer_timeout()));
    let stream = Box::pin(stream);
    let tls = api.auth.rules().tls.clone();
    match tls {
        Some(tls) => {
            let stream = timeout(api.peer_timeout(), tls.acceptor().accept(stream)).await??;
            serve_http(api, stream, service, watcher).await?;
        }
        None => serve_http(api, stream, service, watcher).await?,
    }
    Ok(())
}

async fn serve_http<S>(
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
        .header_read_timeout(api.peer_timeout())
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    watcher.watch(connection).await
}

/// The next connection. A failure of the system is retried.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Responses are small, and clients wait for them.
                let _ = stream.set_nodelay(true);
                return stream;
            }
            Err(error) => {
                tracing::debug!("a connection was not accepted: {error}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}
