//! The thread that writes the inbox database.

use anyhow::{Context, Result};
use rusqlite::{Connection, TransactionBehavior};
use std::sync::mpsc;
use tokio::sync::oneshot;

/// Jobs of one transaction, at most.
const MAX_BATCH: usize = 256;

type Reporter = Box<dyn FnOnce(Result<(), String>) + Send>;
type Job = Box<dyn FnOnce(&Connection) -> Reporter + Send>;

/// A handle to the thread.
pub(super) struct Writer {
    jobs: mpsc::Sender<Job>,
}

impl Writer {
    /// Starts the thread, which ends with the last handle.
    pub(super) fn start(mut connection: Connection) -> Result<Self> {
        let (jobs, waiting) = mpsc::channel::<Job>();
        std::thread::Builder::new().name("inbox-db".to_owned()).spawn(move || {
            while let Ok(first) = waiting.recv() {
                let jobs = std::iter::once(first).chain(waiting.try_iter().take(MAX_BATCH - 1)).collect();
                commit_batch(&mut connection, jobs);
            }
        })?;
        Ok(Self { jobs })
    }

    /// Runs a job in a transaction, and returns after the commit.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // A job that fails does not affect the others of its transaction.
            let done = in_savepoint(connection, job);
            Box::new(move |committed| {
                let _ = sender.send(match (committed, done) {
                    (Ok(()), Ok(value)) => Ok(value),
                    (Err(error), _) => Err(error),
                    (_, Err(error)) => Err(error.to_string()),
                });
            })
        });
        let closed = "the inbox database is closed";
        self.jobs.send(job).ok().context(closed)?;
        receiver
            .await
            .context(closed)?
            .map_err(|error| anyhow::anyhow!("the inbox database cannot be written: {error}"))
    }
}

/// Runs jobs in one transaction and reports to each of them.
fn commit_batch(connection: &mut Connection, jobs: Vec<Job>) {
    let (reporters, outcome) = match connection.transaction_with_behavior(TransactionBehavior::Immediate) {
        Ok(transaction) => {
            let reporters: Vec<Reporter> = jobs.into_iter().map(|job| job(&transaction)).collect();
            (reporters, transaction.commit().map_err(|error| error.to_string()))
        }
        // The jobs are dropped, which closes the channels that their callers wait for.
        Err(error) => {
            tracing::error!("the inbox database cannot be written: {error}");
            return;
        }
    };
    reporters.into_iter().for_each(|report| report(outcome.clone()));
}

fn in_savepoint<T>(
    connection: &Connection,
    job: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.prepare_cached("SAVEPOINT job")?.execute([])?;
    let done = job(connection);
    if done.is_err() {
        connection.prepare_cached("ROLLBACK TO job")?.execute([])?;
    }
    connection.prepare_cached("RELEASE job")?.execute([])?;
    done
}
