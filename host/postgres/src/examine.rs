//! A database as an operator should know it: its version, its settings, its standbys, and the connection pooling in
//! front of it.

mod pooling;

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bub_tape::Result;
use tokio_postgres::SimpleQueryMessage;

use super::database::{Database, Exclusive, SILENCE};
use super::fault::{failed, silent};
use super::migrations;
use super::settings::Settings;
use super::status::SchemaStatus;
use super::store::damaged;
pub use pooling::Pooling;

/// Facts about a database and the server that has it.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The server's version, such as `15.14`.
    pub version: String,
    /// The major version.
    pub major: u32,
    /// The shortest of a few round trips.
    pub round_trip: Duration,
    /// The schema.
    pub schema: SchemaStatus,
    /// The encoding of the database.
    pub encoding: String,
    /// The collation of the database.
    pub collation: String,
    /// Columns with names that are not in the order of their bytes.
    pub wrong_collations: u32,
    /// The isolation of this program's transactions.
    pub isolation: String,
    /// Whether it is a standby.
    pub is_standby: bool,
    /// Whether transactions cannot write.
    pub is_read_only: bool,
    /// The setting `synchronous_commit`.
    pub synchronous_commit: String,
    /// The setting `synchronous_standby_names`.
    pub synchronous_standbys: String,
    /// The standbys that follow the server.
    pub standbys: Vec<Standby>,
    /// Whether the user sees the state of standbys.
    pub sees_standbys: bool,
    /// How many seconds the database's clock is ahead of this machine's.
    pub clock_ahead: f64,
    /// The connection pooling between this program and the server.
    pub pooling: Pooling,
    /// Limits that the sessions of this program do not have.
    pub unlimited: Vec<String>,
    /// Connections that the server, the database and the user allow.
    pub max_connections: u32,
    /// Connections of all programs at the moment.
    pub connections: u32,
    /// Maximum connections of one process of this program.
    pub pool: usize,
    /// The size of the database in bytes.
    pub size: u64,
    /// Free space where the server has its data, if it is on this machine and says where.
    pub free: Option<u64>,
}

/// A standby of the server.
#[derive(Clone, Debug)]
pub struct Standby {
    /// Its name.
    pub name: String,
    /// `async`, `potential`, `sync` or `quorum`; empty if the user does not see it.
    pub sync_state: String,
    /// How long it takes until the standby shows a commit, in seconds, if that is known.
    pub lag: Option<f64>,
    /// How much it has yet to replay, in bytes.
    pub behind: Option<u64>,
}

/// The settings and states, one row. Each value is text.
const FACTS: &str = "SELECT current_setting('server_version'), current_setting('server_version_num'), \
    pg_encoding_to_char(d.encoding), d.datcollate, current_setting('transaction_isolation'), pg_is_in_recovery(), \
    current_setting('transaction_read_only') = 'on', current_setting('synchronous_commit'), \
    current_setting('synchronous_standby_names'), \
    current_setting('max_connections')::int - CASE WHEN r.rolsuper THEN 0 ELSE \
    current_setting('superuser_reserved_connections')::int END, r.rolconnlimit, d.datconnlimit, \
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), pg_database_size(d.oid), \
    pg_has_role(current_user, 'pg_read_all_stats', 'usage'), \
    CASE WHEN pg_has_role(current_user, 'pg_read_all_settings', 'usage') THEN current_setting('data_directory') END, \
    (SELECT count(*) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_collation o ON \
    o.oid = a.attcollation WHERE c.relkind = 'r' AND c.relname IN ('family', 'lease', 'tape') AND \
    pg_table_is_visible(c.oid) AND a.attname = 'name' AND o.collname <> 'C') \
    FROM pg_database d, pg_roles r WHERE d.datname = current_database() AND r.rolname = current_user";

const STANDBYS: &str = "SELECT application_name, coalesce(sync_state, ''), extract(epoch FROM replay_lag), \
    CASE WHEN NOT pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint END \
    FROM pg_stat_replication ORDER BY application_name";

const LIMITS: &str = "SELECT name FROM pg_settings WHERE setting = '0' AND name IN ('statement_timeout', \
    'lock_timeout', 'idle_in_transaction_session_timeout') ORDER BY name";

/// Examines a database. Changes nothing, and needs no schema.
///
/// # Errors
///
/// [`Error::Io`](bub_tape::Error::Io) if the database cannot be reached.
pub async fn examine(settings: Settings) -> Result<Facts> {
    let (pool, is_local) = (settings.connections, settings.is_local());
    let database = Database::unchecked(settings)?;
    let action = format!("open the tapes in `{}`", database.name());
    let connection = database.connection(&action).await?;
    let (round_trip, clock_ahead) = clock(&connection, &action).await?;
    let rows = rows(&connection, &action, FACTS).await?;
    let row = rows.into_iter().next().ok_or_else(damaged)?;
    let text = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    let number = |at: usize| text(at).parse::<i64>().unwrap_or_default();
    let is = |at: usize| text(at) == "t";
    let standbys = self::rows(&connection, &action, STANDBYS).await?;
    let unlimited = self::rows(&connection, &action, LIMITS).await?;
    connection.give_back();
    let pooling = pooling::find(&database, &action).await?;
    // Last: without prepared statements it is not readable.
    let schema = match pooling {
        Pooling::Transactions { keeps_statements: Some(false) } => migrations::Status { version: 0, oldest: 0 },
        _ => migrations::status(&database).await?,
    };
    let limits = [number(9), number(10), number(11)].into_iter().filter(|limit| *limit >= 0);
    let free = Some(text(15)).filter(|dir| is_local && !dir.is_empty()).and_then(|dir| free_space(Path::new(&dir)));
    Ok(Facts {
        version: text(0),
        major: u32::try_from(number(1) / 10_000).unwrap_or_default(),
        round_trip,
        schema: SchemaStatus::new(schema),
        encoding: text(2),
        collation: text(3),
        wrong_collations: u32::try_from(number(16)).unwrap_or_default(),
        isolation: text(4),
        is_standby: is(5),
        is_read_only: is(6),
        synchronous_commit: text(7),
        synchronous_standbys: text(8),
        standbys: standbys.into_iter().map(Standby::new).collect(),
        sees_standbys: is(14),
        clock_ahead,
        pooling,
        unlimited: unlimited.into_iter().flatten().flatten().collect(),
        max_connections: limits.min().and_then(|limit| u32::try_from(limit).ok()).unwrap_or_default(),
        connections: u32::try_from(number(12)).unwrap_or_default(),
        pool,
        size: u64::try_from(number(13)).unwrap_or_default(),
        free,
    })
}

impl Standby {
    fn new(row: Vec<Option<String>>) -> Self {
        let mut values = row.into_iter();
        let mut next = || values.next().flatten();
        Self {
            name: next().unwrap_or_default(),
            sync_state: next().unwrap_or_default(),
            lag: next().and_then(|lag| lag.parse().ok()),
            behind: next().and_then(|behind| behind.parse().ok()),
        }
    }
}

/// The shortest of three round trips, and how far the database's clock was ahead of this machine's in its middle.
async fn clock(connection: &Exclusive, action: &str) -> Result<(Duration, f64)> {
    let mut best: Option<(Duration, f64)> = None;
    for _ in 0..3 {
        let (asked, began) = (SystemTime::now(), Instant::now());
        let rows = rows(connection, action, "SELECT extract(epoch FROM clock_timestamp())").await?;
        let took = began.elapsed();
        let there: f64 =
            rows.into_iter().flatten().flatten().next().and_then(|time| time.parse().ok()).ok_or_else(damaged)?;
        let here = asked.duration_since(UNIX_EPOCH).unwrap_or_default() + took / 2;
        if best.is_none_or(|(shortest, _)| took < shortest) {
            best = Some((took, there - here.as_secs_f64()));
        }
    }
    best.ok_or_else(damaged)
}

/// The rows of a query, as text. No statement is prepared, since a pooler may lose those.
async fn rows(connection: &Exclusive, action: &str, query: &str) -> Result<Vec<Vec<Option<String>>>> {
    let asked = tokio::time::timeout(SILENCE, connection.simple_query(query));
    let messages = asked.await.map_err(|_| silent(action))?.map_err(failed(action))?;
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|at| row.try_get(at).ok().flatten().map(str::to_owned)).collect())
        }
        _ => None,
    });
    Ok(rows.collect())
}

fn free_space(dir: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(dir).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}
