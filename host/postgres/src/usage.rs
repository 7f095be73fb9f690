//! Tokens of model calls: a row for each call, and budgets that are reserved before a call and settled behind it.

use std::time::Duration;

use bub_tape::{Error, Result};
use tokio_postgres::Row;

use super::database::Database;
use super::store::damaged;

/// How long a reservation lasts, unless its worker renews it.
const RESERVATION: Duration = Duration::from_secs(60);

/// The most tokens that are counted at once: far more than any budget, and sums of them fit into the database's numbers.
const MAX_TOKENS: u64 = 1 << 52;

/// Calls that the calibration of models is read from.
const CALIBRATION: i64 = 500;

const RESERVE: &str = "SELECT refused, used, reserved FROM reserve_1($1, $2, $3, $4, $5, $6, $7)";

const SETTLE: &str = "SELECT settle_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)::text";

const RELEASE: &str = "DELETE FROM reservation WHERE id = $1 RETURNING 1";

const RENEW: &str = "UPDATE reservation SET until = clock_timestamp() + $2 * interval '1 second' WHERE worker = $1 \
                     RETURNING 1";

const USED: &str = "SELECT used FROM budget WHERE day = day_1($1) AND scope = $2";

/// The sums by model, day and session of the days from `$2` days ago on. `$5`: sessions are told apart.
const REPORT: &str = "SELECT t.today - date '1970-01-01', t.today - u.day, u.model, u.session, u.workspace, u.calls, \
                      u.estimated, u.prompt, u.cached, u.completion, u.total \
                      FROM (SELECT day_1($1) AS today) t LEFT JOIN LATERAL ( \
                      SELECT day, model, CASE WHEN $5 THEN session END AS session, \
                      CASE WHEN $5 THEN workspace END AS workspace, count(*) AS calls, \
                      count(*) FILTER (WHERE estimated) AS estimated, sum(prompt)::bigint AS prompt, \
                      sum(cached)::bigint AS cached, sum(completion)::bigint AS completion, \
                      sum(total)::bigint AS total FROM usage_call \
                      WHERE day > t.today - $2::integer AND day <= t.today \
                      AND ($3::bytea IS NULL OR session = $3 AND workspace = $4::bytea) GROUP BY 1, 2, 3, 4) u ON true";

const RECENT: &str = "SELECT model, weighed, prompt FROM usage_call WHERE weighed > 0 AND NOT estimated \
                      ORDER BY at DESC LIMIT $1";

/// The calls whose tokens are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// All calls.
    All,
    /// The calls of a plugin.
    Plugin(&'a str),
    /// The calls for a caller's messages.
    Caller(&'a str),
}

impl Scope<'_> {
    fn key(self) -> Vec<u8> {
        match self {
            Self::All => b"all".to_vec(),
            Self::Plugin(name) => format!("plugin:{name}").into_bytes(),
            Self::Caller(name) => format!("caller:{name}").into_bytes(),
        }
    }
}

/// A model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRow {
    /// `provider:model`.
    pub model: String,
    /// The session.
    pub session: String,
    /// The session's directory.
    pub workspace: String,
    /// The calling plugin.
    pub plugin: String,
    /// The purpose that the plugin states.
    pub purpose: String,
    /// The principal, if not the owner; else empty.
    pub caller: String,
    /// Prompt tokens, including cached ones.
    pub prompt: u64,
    /// Prompt tokens that were read from a cache.
    pub cached: u64,
    /// Completion tokens.
    pub completion: u64,
    /// The total.
    pub total: u64,
    /// The host's estimate of the prompt.
    pub weighed: u64,
    /// Whether the tokens are an estimate.
    pub estimated: bool,
}

/// Sums of calls of one model and one day, and of one session where sessions are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// Days before today.
    pub days_ago: i32,
    /// The model.
    pub model: String,
    /// The session and its directory; empty where sessions are not told apart.
    pub session: String,
    /// The session's directory.
    pub workspace: String,
    /// Calls.
    pub calls: u64,
    /// Calls with estimated tokens.
    pub estimated: u64,
    /// Prompt tokens.
    pub prompt: u64,
    /// Prompt tokens that were read from a cache.
    pub cached: u64,
    /// Completion tokens.
    pub completion: u64,
    /// All tokens.
    pub total: u64,
}

/// Why tokens cannot be reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The number of the scope in which they do not fit, from 0.
    pub place: usize,
    /// Tokens that were used in that scope.
    pub used: u64,
    /// Tokens that other calls have reserved.
    pub reserved: u64,
}

/// The table of model calls, and the budgets.
#[derive(Clone)]
pub struct UsageTable {
    database: Database,
    /// Identifies the process, whose reservations are renewed together.
    worker: [u8; 16],
}

impl UsageTable {
    /// The table in that database.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system has no random numbers.
    pub fn new(database: Database) -> Result<Self> {
        Ok(Self { database, worker: random_id()? })
    }

    /// The database's address, without a password.
    pub fn name(&self) -> &str {
        self.database.name()
    }

    /// A random id for a call.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system has no random numbers.
    pub fn call_id(&self) -> Result<[u8; 16]> {
        random_id()
    }

    /// Reserves tokens for a call in each scope up to its cap, in one statement: in all of them, or in none. `ahead`: the
    /// seconds that local time is ahead of UTC, which decides on the day.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the database does not answer. The reservation may have been made: it expires.
    pub async fn reserve(
        &self,
        id: [u8; 16],
        ahead: i32,
        tokens: u64,
        scopes: &[(Scope<'_>, u64)],
    ) -> Result<std::result::Result<(), Refusal>> {
        let keys: Vec<Vec<u8>> = scopes.iter().map(|(scope, _)| scope.key()).collect();
        let caps: Vec<i64> = scopes.iter().map(|(_, cap)| clamped(*cap)).collect();
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 7] = [
            &id.as_slice(),
            &self.worker.as_slice(),
            &ahead,
            &clamped(tokens),
            &RESERVATION.as_secs_f64(),
            &keys,
            &caps,
        ];
        let rows = self.database.write("reserve tokens for a model call", RESERVE, &values, true).await?;
        let row = rows.first().ok_or_else(damaged)?;
        let refused: i32 = column(row, 0)?;
        let Some(place) = usize::try_from(refused).ok().and_then(|refused| refused.checked_sub(1)) else {
            return Ok(Ok(()));
        };
        Ok(Err(Refusal { place, used: number(row, 1)?, reserved: number(row, 2)? }))
    }

    /// Adds a call that ended `age` ago, and ends its reservation. Done once, however often it is tried.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the database does not answer or cannot be written.
    pub async fn settle(&self, id: [u8; 16], ahead: i32, age: Duration, call: &CallRow) -> Result<()> {
        let mut scopes = vec![Scope::All.key(), Scope::Plugin(&call.plugin).key()];
        scopes.extend((!call.caller.is_empty()).then(|| Scope::Caller(&call.caller).key()));
        let texts = [&call.model, &call.session, &call.workspace, &call.plugin, &call.purpose, &call.caller];
        let [model, session, workspace, plugin, purpose, caller] = texts.map(|text| text.as_bytes());
        let numbers = [call.prompt, call.cached, call.completion, call.total, call.weighed].map(clamped);
        let [prompt, cached, completion, total, weighed] = numbers;
        // Three years: older calls are of no day that anything asks for.
        let age = age.as_secs_f64().min(1e8);
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 16] = [
            &id.as_slice(),
            &ahead,
            &age,
            &model,
            &session,
            &workspace,
            &plugin,
            &purpose,
            &caller,
            &prompt,
            &cached,
            &completion,
            &total,
            &weighed,
            &call.estimated,
            &scopes,
        ];
        self.database.write("write down what a model call used", SETTLE, &values, true).await.map(drop)
    }

    /// Ends the reservation of a call that used nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the database does not answer: the reservation expires.
    pub async fn release(&self, id: [u8; 16]) -> Result<()> {
        self.database.write("release reserved tokens", RELEASE, &[&id.as_slice()], true).await.map(drop)
    }

    /// Renews the reservations of this process, and returns whether there are any.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the database does not answer.
    pub async fn renew(&self) -> Result<bool> {
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
            [&self.worker.as_slice(), &RESERVATION.as_secs_f64()];
        Ok(!self.database.write("renew reserved tokens", RENEW, &values, true).await?.is_empty())
    }

    /// Tokens that were used today in that scope.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the database does not answer.
    pub async fn used(&self, ahead: i32, scope: Scope<'_>) -> Result<u64> {
        let rows = self.database.query("read what was used today", USED, &[&ahead, &scope.key()]).await?;
        rows.first().map_or(Ok(0), |row| number(row, 0))
    }

    /// The sums of the last `days` days, optionally of one session in one directory. Returns today, in days since 1970, too.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the database does not answer.
    pub async fn report(
        &self,
        ahead: i32,
        days: u32,
        session: Option<(&str, &str)>,
        by_session: bool,
    ) -> Result<(i32, Vec<UsageRow>)> {
        let days = i32::try_from(days).unwrap_or(i32::MAX / 2).min(i32::MAX / 2);
        let of = session.map(|(session, _)| session.as_bytes());
        let workspace = session.map(|(_, workspace)| workspace.as_bytes());
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] = [&ahead, &days, &of, &workspace, &by_session];
        let rows = self.database.query("read what models have used", REPORT, &values).await?;
        let today = rows.first().map(|row| column(row, 0)).ok_or_else(damaged)??;
        let rows = rows.iter().filter_map(|row| usage_row(row).transpose()).collect::<Result<_>>()?;
        Ok((today, rows))
    }

    /// Estimated and reported prompt tokens of recent calls by model, the oldest first.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the database does not answer.
    pub async fn recent(&self) -> Result<Vec<(String, u64, u64)>> {
        let rows = self.database.query("read what models have reported", RECENT, &[&CALIBRATION]).await?;
        rows.iter().rev().map(|row| Ok((text(row, 0)?, number(row, 1)?, number(row, 2)?))).collect()
    }
}

/// `None`: there was no call.
fn usage_row(row: &Row) -> Result<Option<UsageRow>> {
    let Some(days_ago) = column::<Option<i32>>(row, 1)? else { return Ok(None) };
    let optional = |index| Ok::<_, Error>(column::<Option<&[u8]>>(row, index)?.map(lossy).unwrap_or_default());
    Ok(Some(UsageRow {
        days_ago,
        model: text(row, 2)?,
        session: optional(3)?,
        workspace: optional(4)?,
        calls: number(row, 5)?,
        estimated: number(row, 6)?,
        prompt: number(row, 7)?,
        cached: number(row, 8)?,
        completion: number(row, 9)?,
        total: number(row, 10)?,
    }))
}

/// 16 random bytes.
pub(crate) fn random_id() -> Result<[u8; 16]> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| Error::Io {
        action: "make a random id".to_owned(),
        source: std::io::Error::other(error.to_string()),
    })?;
    Ok(id)
}

fn clamped(tokens: u64) -> i64 {
    i64::try_from(tokens.min(MAX_TOKENS)).unwrap_or(i64::MAX)
}

pub(crate) fn column<'r, T: tokio_postgres::types::FromSql<'r>>(row: &'r Row, index: usize) -> Result<T> {
    row.try_get(index).map_err(|_| damaged())
}

fn number(row: &Row, index: usize) -> Result<u64> {
    Ok(u64::try_from(column::<i64>(row, index)?).unwrap_or_default())
}

pub(crate) fn text(row: &Row, index: usize) -> Result<String> {
    column::<&[u8]>(row, index).map(lossy)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
