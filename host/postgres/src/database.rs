//! The connections to PostgreSQL.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use bub_tape::{Error, Result};
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{NoTls, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failover::{Marks, TIMELINE};
use super::fault::{failed, is_collision, is_lost, no_connection, silent};
use super::migrations;
use super::settings::Settings;
use super::store::damaged;

/// How long a free connection is waited for, and a new one.
const POOL_TIMEOUT: Duration = Duration::from_secs(5);
const CREATE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an action may take. Longer than the server allows a statement, so that the server ends it first.
pub(crate) const SILENCE: Duration = Duration::from_secs(45);

/// How often an action is tried, if other transactions collide with it.
pub(crate) const ATTEMPTS: usize = 5;

/// The parameters of a statement.
pub type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The parameters of a statement with their types.
pub(crate) type TypedValues<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// How a statement is sent.
#[derive(Clone, Copy)]
enum Parameters<'a> {
    /// Prepared once on each connection, which takes a round trip, and planned there.
    Prepared(Values<'a>),
    /// Always in one round trip.
    Typed(TypedValues<'a>),
}

/// A database that several processes share: a pool of connections, with the schema that this program knows.
#[derive(Clone)]
pub struct Database {
    pool: Pool,
    name: Arc<str>,
    settings: Arc<Settings>,
    marks: Arc<Marks>,
}

impl Database {
    /// Connects, and makes or extends the schema if it is missing or older.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the database cannot be reached, refuses the user, or cannot be written while its schema is missing;
    /// [`Error::InvalidInput`] if the schema is that of a newer program or needs `store migrate`, a pooler drops the isolation that this program
    /// asks for, or a certificate file cannot be read.
    pub async fn connect(settings: Settings) -> Result<Self> {
        let database = Self::unchecked(settings)?;
        migrations::migrate_at_start(&database).await?;
        database.check_isolation().await?;
        Ok(database)
    }

    /// A pool that has not connected yet.
    pub(crate) fn unchecked(settings: Settings) -> Result<Self> {
        let name = settings.to_string().into();
        let kept = Arc::new(settings.clone());
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = match settings.is_encrypted() {
            true => {
                let tls = bub_tls::client_config(settings.roots.as_deref()).map_err(|source| Error::Io {
                    action: "read the certificates for the database".to_owned(),
                    source,
                })?;
                Manager::from_config(settings.config, MakeRustlsConnect::new(tls), recycling)
            }
            false => Manager::from_config(settings.config, NoTls, recycling),
        };
        let pool = Pool::builder(manager)
            .max_size(settings.connections)
            .wait_timeout(Some(POOL_TIMEOUT))
            .create_timeout(Some(CREATE_TIMEOUT))
            .recycle_timeout(Some(POOL_TIMEOUT))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| Error::invalid(error.to_string()))?;
        Ok(Self { pool, name, settings: kept, marks: Arc::new(Marks::new()) })
    }

    /// A pooler may ignore what the connection asks for.
    async fn check_isolation(&self) -> Result<()> {
        let action = format!("open the tapes in `{}`", self.name);
        let rows = self.query(&action, "SELECT current_setting('transaction_isolation')", &[]).await?;
        match rows.first().map(|row| row.try_get(0)) {
            Some(Ok("read committed")) => Ok(()),
            Some(Ok(other)) => Err(Error::invalid(format!(
                "the database's pooler ignores the option `default_transaction_isolation`, and the database prefers \
                 `{other}`: `ALTER ROLE` its user `SET default_transaction_isolation = 'read committed'`"
            ))),
            _ => Err(damaged()),
        }
    }

    /// The address of the database, without a password.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How the connections are made.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A connection that nothing else uses.
    pub(crate) async fn connection(&self, action: &str) -> Result<Exclusive> {
        let connection = self.pool.get().await.map_err(|error| no_connection(action, error))?;
        let is_new = Object::metrics(&connection).recycle_count == 0;
        let connection = Exclusive { connection: Some(connection) };
        if is_new && self.marks.has_failed_over() {
            self.check_timeline(action, &connection).await?;
        }
        Ok(connection)
    }

    /// After a failover the former primary may be back, and take writes.
    async fn check_timeline(&self, action: &str, connection: &Exclusive) -> Result<()> {
        let asked = tokio::time::timeout(SILENCE, connection.query_typed(TIMELINE, &[]));
        let rows = asked.await.map_err(|_| silent(action))?.map_err(failed(action))?;
        let timeline: Option<&str> = rows.first().ok_or_else(damaged)?.try_get(0).map_err(|_| damaged())?;
        timeline.map_or(Ok(()), |timeline| self.marks.check(action, timeline))
    }

    /// How many failovers have lost writes that this process had made. Changes as soon as one is noticed.
    pub fn losses(&self) -> tokio::sync::watch::Receiver<u64> {
        self.marks.losses()
    }

    /// Closes the connections that nothing uses. After one of them has ended unnoticed, as at a restart of the server, the
    /// others probably have as well, and a repetition must not meet those.
    pub(crate) fn close_idle(&self) {
        self.pool.retain(|_, _| false);
    }

    /// The rows of a query that changes nothing. Asked again if the connection turns out to have ended, since an idle one
    /// may have ended unnoticed.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the database does not answer, or refuses the statement.
    pub async fn query(&self, action: &str, statement: &str, values: Values<'_>) -> Result<Vec<Row>> {
        let values = Parameters::Prepared(values);
        match self.rows(action, statement, values).await? {
            Err(error) if is_lost(&error) => {
                self.close_idle();
                self.rows(action, statement, values).await?.map_err(failed(action))
            }
            found => found.map_err(failed(action)),
        }
    }

    /// The rows of a statement that is a transaction by itself. `repeats`: it may be done twice without harm, and is, if
    /// the connection ends before the answer. After a collision it has not been done, and is tried again.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the database does not answer, so that the outcome may be unknown, or refuses the statement.
    pub async fn write(&self, action: &str, statement: &str, values: Values<'_>, repeats: bool) -> Result<Vec<Row>> {
        self.attempts(action, statement, Parameters::Prepared(values), repeats).await
    }

    /// Like [`write`](Self::write), in one round trip also on a new connection: for what turns wait for, as a call of a
    /// function of the schema, which needs no plan.
    pub(crate) async fn call(
        &self,
        action: &str,
        statement: &str,
        values: TypedValues<'_>,
        repeats: bool,
    ) -> Result<Vec<Row>> {
        self.attempts(action, statement, Parameters::Typed(values), repeats).await
    }

    async fn attempts(&self, action: &str, statement: &str, values: Parameters<'_>, repeats: bool) -> Result<Vec<Row>> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            match self.rows(action, statement, values).await? {
                Err(error) if attempt < ATTEMPTS && is_collision(&error) => {}
                Err(error) if attempt < ATTEMPTS && repeats && is_lost(&error) => self.close_idle(),
                done => {
                    let rows = done.map_err(failed(action))?;
                    let noted = self.marks.note(self, action, &rows).await;
                    return match noted {
                        Ok(()) => Ok(rows),
                        Err(error) => {
                            // They may lead to a former primary.
                            self.close_idle();
                            Err(error)
                        }
                    };
                }
            }
        }
    }

    /// The outer error: there is no connection, or no answer.
    async fn rows(
        &self,
        action: &str,
        statement: &str,
        values: Parameters<'_>,
    ) -> Result<std::result::Result<Vec<Row>, tokio_postgres::Error>> {
        let connection = self.connection(action).await?;
        let asked = async {
            match values {
                Parameters::Prepared(values) => {
                    let statement = connection.prepare_cached(statement).await?;
                    connection.query(&statement, values).await
                }
                Parameters::Typed(values) => connection.query_typed(statement, values).await,
            }
        };
        let answer = tokio::time::timeout(SILENCE, asked).await.map_err(|_| silent(action))?;
        connection.give_back();
        Ok(answer)
    }
}

/// A connection out of the pool. It goes back by [`Exclusive::give_back`] alone: dropped before, as when a turn is stopped,
/// it is closed, which rolls back what it has begun, and nothing else waits for the answers that it still owes.
pub(crate) struct Exclusive {
    connection: Option<Object>,
}

impl Exclusive {
    /// Gives the connection back. Nothing may be open on it.
    pub(crate) fn give_back(mut self) {
        drop(self.connection.take());
    }
}

impl Deref for Exclusive {
    type Target = Object;

    fn deref(&self) -> &Object {
        #[expect(clippy::expect_used, reason = "only `give_back` takes it, and consumes the connection")]
        self.connection.as_ref().expect("it was not given back")
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        self.connection.take().map(Object::take);
    }
}
