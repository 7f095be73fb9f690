//! Tapes in PostgreSQL, and what several processes on several machines share besides.
//!
//! A [`Database`] is the one way to the server: a pool of connections, the time limits, the errors in words, and the
//! [`migrations`] of the schema. A [`PostgresStore`] keeps tapes in it and is a [`Store`](bub_tape::Store) like any other.
//! [`Leases`] decide which process may write in the name of something, and a store with a [`Fence`] writes nothing after its
//! lease was lost. [`PostgresJournals`] are the leases and the journals of turns. [`UsageTable`], [`BreakerTable`],
//! [`PluginTable`], [`WorkerTable`], [`ApprovalTable`], [`LoginTable`] and [`WordTables`] are tables whose rows have a meaning elsewhere:
//! here they are names, numbers and bytes.
//!
//! **Invariant**: the crate knows PostgreSQL and tapes, not turns, channels or plugins. No transaction waits for
//! anything but PostgreSQL, and no state depends on a connection, so that a pooler between the two may share them.

#![warn(missing_docs, unreachable_pub)]

/// See [`MARK`].
macro_rules! mark {
    () => {
        concat!(mark!(expression), " AS mark")
    };
    (expression) => {
        concat!("concat_ws(' ', coalesce(pg_current_xact_id_if_assigned()::text, '0'), ", mark!(place), ")")
    };
    (place) => {
        "pg_current_wal_insert_lsn(), left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)"
    };
}

mod approvals;
mod breakers;
mod database;
pub mod examine;
mod failover;
mod fault;
mod hints;
mod journal;
mod lease;
mod logins;
pub mod migrations;
mod plugins;
mod settings;
pub mod status;
mod store;
mod transaction;
mod turn_store;
mod usage;
mod words;
mod workers;

pub use approvals::ApprovalTable;
pub use breakers::{BreakerRow, BreakerTable, Swap};
pub use database::{Database, Values};
pub use failover::MARK;
pub use hints::Hints;
pub use journal::{PostgresJournals, TurnSettings};
pub use lease::{Fence, Held, Lease, Leases, Terms};
pub use logins::LoginTable;
pub use plugins::{NewPlugin, PluginKind, PluginRow, PluginTable, PluginVersion, Written};
pub use settings::Settings;
pub use store::PostgresStore;
pub use tokio_postgres::{Row, types::ToSql};
pub use usage::{CallRow, Refusal, Scope, UsageRow, UsageTable};
pub use words::{APPROVAL, MESSAGE, WordRow, WordTables};
pub use workers::{Worker, WorkerTable, workers};
