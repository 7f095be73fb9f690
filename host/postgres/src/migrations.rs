//! The versions of the schema.
//!
//! Workers of two neighbouring versions of the program run on one database at the same time, so a schema is changed in two
//! steps (*expand, then contract*):
//!
//! - A migration to version N only *expands*: it adds tables, nullable columns or columns with a default, indexes, and
//!   functions under names of their own (`append_1`, then `append_2`). Nothing that version N-1 of the program reads or
//!   calls changes its meaning, and no constraint refuses what that program writes.
//! - The migration to N+1 is the earliest that drops objects which version N no longer uses; it raises `oldest` to N.
//! - An index of a table that may be large is made `CONCURRENTLY`, outside of the migration's transaction.
//!
//! The row of `bub_schema` says which version the schema has, and which is the oldest program that may use it. A program of
//! version V extends an older schema, works on V and on every newer one whose `oldest` is at most V, and is refused by any
//! other. So a new program can be rolled out and back one version while others run. A start makes only migrations that exclude
//! no program that could use the schema before; others are made by `store migrate`.
//!
//! Each migration is one transaction under an advisory lock of that transaction: programs that start together migrate one
//! after the other, and one that is killed leaves the schema as it was.

use std::io::{self, ErrorKind};

use bub_tape::{Error, Result};

use super::database::Database;
use super::fault::failed;
use super::transaction::{Attempts, Failed, Transaction, within};

/// A migration of the schema.
struct Migration {
    /// The oldest version of the program that can work with the schema afterwards.
    oldest: i32,
    statements: &'static str,
}

/// Migrations in order; the first makes version 1.
const MIGRATIONS: [Migration; 6] = [
    Migration { oldest: 1, statements: include_str!("../migrations/001.sql") },
    Migration { oldest: 1, statements: include_str!("../migrations/002.sql") },
    Migration { oldest: 1, statements: include_str!("../migrations/003.sql") },
    Migration { oldest: 1, statements: include_str!("../migrations/004.sql") },
    Migration { oldest: 1, statements: include_str!("../migrations/005.sql") },
    Migration { oldest: 1, statements: include_str!("../migrations/006.sql") },
];

/// The version of the schema that this program makes.
pub const VERSION: i32 = MIGRATIONS.len() as i32;

/// The key of the lock: `bubw` as a number, as in SQLite's files.
const LOCK: i64 = 0x6275_6277;

/// The state of a database's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The version; 0 without a schema.
    pub version: i32,
    /// The oldest version of the program that may use it.
    pub oldest: i32,
}

/// The schema that the database has.
///
/// # Errors
///
/// [`Error::Io`] if it cannot be read.
pub async fn status(database: &Database) -> Result<Status> {
    let action = format!("open the tapes in `{}`", database.name());
    let connection = database.connection(&action).await?;
    read(&connection).await.map_err(failed(&action))
}

/// The versions that a migration of this schema makes, in order.
pub fn pending(found: Status) -> Vec<i32> {
    (found.version + 1..=VERSION).collect()
}

/// For each version in order, the oldest program that may use it.
pub fn oldest() -> [i32; VERSION as usize] {
    MIGRATIONS.map(|migration| migration.oldest)
}

/// Whether a migration of this schema excludes programs that can use it now, so that a start leaves it to the operator.
/// `oldest` has an element for each version that the migration can make.
pub fn needs_consent(found: Status, oldest: &[i32]) -> bool {
    let made = usize::try_from(found.version).unwrap_or_default();
    found.version > 0 && oldest.iter().skip(made).any(|oldest| *oldest > found.oldest)
}

/// Makes or extends the schema, if it is older than [`VERSION`]. Programs that use the database may go on, unless the new
/// version excludes them.
///
/// # Errors
///
/// [`Error::InvalidInput`] if it is too new for this program; [`Error::Io`] if it cannot be read or changed.
pub async fn migrate(database: &Database) -> Result<()> {
    upgrade(database, true).await
}

/// The same when a program starts, which excludes no other.
pub(crate) async fn migrate_at_start(database: &Database) -> Result<()> {
    upgrade(database, false).await
}

async fn upgrade(database: &Database, has_consent: bool) -> Result<()> {
    let action = format!("open the tapes in `{}`", database.name());
    loop {
        let found = status(database).await?;
        if found.oldest > VERSION {
            let (name, version) = (database.name(), found.version);
            return Err(Error::invalid(format!(
                "the tapes in `{name}` are of version {version}, and this program reads up to version {VERSION}: use the \
                 program that wrote them"
            )));
        }
        if found.version >= VERSION {
            return Ok(());
        }
        if !has_consent && needs_consent(found, &oldest()) {
            let (name, version) = (database.name(), found.version);
            return Err(Error::invalid(format!(
                "the tapes in `{name}` are of version {version}, and version {VERSION} excludes programs that can use them \
                 now: end those, then run `bub-wasm store migrate`"
            )));
        }
        let mut attempts = Attempts::new(database, &action);
        loop {
            let transaction = attempts.begin().await?;
            let done = within(extend(&transaction)).await;
            if attempts.end(transaction, done).await.map_err(for_owner)?.is_some() {
                break;
            }
        }
    }
}

/// Says who may change the tables, if this user may not.
fn for_owner(error: Error) -> Error {
    match error {
        Error::Io { action, source } if source.kind() == ErrorKind::PermissionDenied => {
            let text = format!("{source}; the owner of the tables can run `bub-wasm store migrate`");
            Error::Io { action, source: io::Error::new(ErrorKind::PermissionDenied, text) }
        }
        other => other,
    }
}

/// Makes the next version, unless another program is faster.
async fn extend(transaction: &Transaction) -> std::result::Result<(), Failed> {
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    let next = read(transaction).await?.version;
    let Some(migration) = usize::try_from(next).ok().and_then(|next| MIGRATIONS.get(next)) else { return Ok(()) };
    transaction.batch_execute(migration.statements).await?;
    let statement = "UPDATE bub_schema SET version = $1, oldest = $2";
    transaction.execute(statement, &[&(next + 1), &migration.oldest]).await?;
    tracing::info!("the schema of the database has version {} now", next + 1);
    Ok(())
}

async fn read(client: &tokio_postgres::Client) -> std::result::Result<Status, tokio_postgres::Error> {
    // No table: there is no schema yet. From the table of tables, since PostgreSQL caches names that were missing.
    let exists = "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'bub_schema' AND pg_table_is_visible(oid))";
    if !client.query_one(exists, &[]).await?.try_get::<_, bool>(0)? {
        return Ok(Status { version: 0, oldest: 0 });
    }
    let row = client.query_one("SELECT version, oldest FROM bub_schema", &[]).await?;
    Ok(Status { version: row.try_get(0)?, oldest: row.try_get(1)? })
}
