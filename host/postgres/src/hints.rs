//! Notifications between processes, which save waiting and are never the truth: behind each is a state in tables, which its
//! readers look at now and then in any case.

use std::future::poll_fn;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::sleep;
use tokio_postgres::tls::{MakeTlsConnect, TlsStream};
use tokio_postgres::{AsyncMessage, Connection, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::database::Database;

/// The pause before a connection that ended is made again. Longer where a pooler drops `LISTEN`, which is found by nothing.
const RETRY: Duration = Duration::from_secs(5);

/// Buffered notifications. Further ones are dropped: readers look by themselves soon.
const CAPACITY: usize = 64;

/// The notifications of a channel, through a connection of its own. A pooler that shares connections between transactions
/// loses them.
pub struct Hints {
    received: mpsc::Receiver<String>,
    task: AbortHandle,
}

impl Hints {
    /// Listens from now on, and again after each loss of the connection.
    pub fn listen(database: &Database, channel: &'static str) -> Self {
        let (sender, received) = mpsc::channel(CAPACITY);
        let database = database.clone();
        let task = tokio::spawn(async move {
            loop {
                if let Err(error) = listen_once(&database, channel, &sender).await {
                    tracing::debug!("notifications of the database are not received: {error}");
                }
                sleep(RETRY).await;
            }
        });
        Self { received, task: task.abort_handle() }
    }

    /// The payload of the next notification. Cancel safe.
    pub async fn next(&mut self) -> Option<String> {
        self.received.recv().await
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

async fn listen_once(
    database: &Database,
    channel: &str,
    sender: &mpsc::Sender<String>,
) -> std::result::Result<(), Failed> {
    let settings = database.settings();
    if settings.is_encrypted() {
        let tls = MakeRustlsConnect::new(bub_tls::client_config(settings.roots.as_deref())?);
        listen_over(settings, tls, channel, sender).await
    } else {
        listen_over(settings, NoTls, channel, sender).await
    }
}

async fn listen_over<T>(
    settings: &super::Settings,
    tls: T,
    channel: &str,
    sender: &mpsc::Sender<String>,
) -> std::result::Result<(), Failed>
where
    T: MakeTlsConnect<Socket> + Send,
    T::Stream: TlsStream + Send + Unpin,
{
    let (client, connection) = settings.config.connect(tls).await?;
    let received = std::pin::pin!(receive(connection, sender));
    let statement = format!("LISTEN {channel}");
    let listening = std::pin::pin!(client.batch_execute(&statement));
    // The connection answers the statement only while it is polled.
    match select(received, listening).await {
        Either::Left((ended, _)) => ended,
        Either::Right((listening, received)) => {
            listening?;
            // A state that changed before the first notification could arrive is found by the reader's own look.
            received.await
        }
    }
}

async fn receive<S, T>(
    mut connection: Connection<S, T>,
    sender: &mpsc::Sender<String>,
) -> std::result::Result<(), Failed>
where
    Connection<S, T>: Unpin,
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notification(notification) = message? {
            // A full buffer has made the reader look already.
            let _full = sender.try_send(notification.payload().to_owned());
        }
    }
    Ok(())
}
