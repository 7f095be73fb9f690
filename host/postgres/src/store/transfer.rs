//! The whole content of a database, archives included.

use bub_tape::transfer::{Holding, PAGE, PAGE_BYTES, Transfer, check_order};
use bub_tape::{Entry, Error, Future, Result, is_listed};

use super::index;
use super::read::check_characters;
use super::row::{COLUMNS, NewRows, TAPE, column, damaged, entries, limit, number};
use super::snapshot::insert;
use crate::PostgresStore;
use crate::lease::Fence;
use crate::transaction::{Attempts, Failed, Transaction, within};

impl Transfer for PostgresStore {
    fn holdings<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<Holding>> {
        Box::pin(async move {
            let action = format!("list the tapes in `{}`", self.database.name());
            // No name contains this character, which `text` cannot.
            let after = after.unwrap_or_default().replace('\0', "\u{1}");
            let statement = "SELECT name, archive FROM tape WHERE name > $1 ORDER BY name LIMIT $2";
            let rows = self.database.query(&action, statement, &[&after, &limit(max)]).await?;
            let holding = |row: &tokio_postgres::Row| {
                Ok(Holding {
                    name: row.try_get(0).map_err(|_| damaged())?,
                    is_archive: row.try_get(1).map_err(|_| damaged())?,
                })
            };
            rows.iter().map(holding).collect()
        })
    }

    fn last_of<'a>(&'a self, holding: &'a Holding) -> Future<'a, u64> {
        Box::pin(async move {
            check_characters(&holding.name)?;
            let action = format!("read tape `{}`", holding.name);
            let rows = self.database.query(&action, STATE, &[&holding.name]).await?;
            match rows.first() {
                Some(row) => last_of(row, holding),
                None => Ok(0),
            }
        })
    }

    fn page<'a>(&'a self, holding: &'a Holding, after: u64) -> Future<'a, Vec<Entry>> {
        Box::pin(async move {
            check_characters(&holding.name)?;
            let action = format!("read tape `{}`", holding.name);
            // The lengths are known without reading the values. The first entry is on the page however long it is.
            let statement = format!(
                "SELECT {COLUMNS} FROM (SELECT p.*, sum(length(p.payload) + length(p.meta)) OVER (ORDER BY p.id) \
                 - length(p.payload) - length(p.meta) AS before FROM (SELECT * FROM entry WHERE tape = {TAPE} AND \
                 id > $2 ORDER BY id LIMIT $3) p) e WHERE e.before < $4 ORDER BY e.id"
            );
            let bytes = limit(PAGE_BYTES);
            let values: crate::database::Values<'_> = &[&holding.name, &column(after), &limit(PAGE), &bytes];
            entries(&self.database.query(&action, &statement, values).await?)
        })
    }

    fn add<'a>(&'a self, holding: &'a Holding, after: u64, entries: Vec<Entry>) -> Future<'a, ()> {
        Box::pin(async move {
            check_characters(&holding.name)?;
            check_order(holding, after, &entries)?;
            if let Some(last) = entries.last().filter(|last| i64::try_from(last.id).is_err()) {
                return Err(Error::invalid(format!(
                    "ids of a tape in PostgreSQL are at most {}, not {}",
                    i64::MAX,
                    last.id
                )));
            }
            let action = format!("append to tape `{}`", holding.name);
            let mut rows = NewRows::default();
            entries.into_iter().for_each(|entry| rows.add(entry));
            let mut attempts = Attempts::new(&self.database, &action);
            loop {
                let transaction = attempts.begin().await?;
                let done = within(add(&transaction, self.fence.as_ref(), holding, after, &rows)).await;
                if attempts.end(transaction, done).await?.is_some() {
                    return Ok(());
                }
            }
        })
    }

    fn key<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>> {
        Box::pin(async move {
            check_characters(tape)?;
            let action = format!("read tape `{tape}`");
            let rows = self.database.query(&action, "SELECT key FROM family WHERE name = $1", &[&tape]).await?;
            let key: Option<Vec<u8>> = match rows.first() {
                Some(row) => row.try_get(0).map_err(|_| damaged())?,
                None => None,
            };
            // A key that is no text was written by another program.
            Ok(key.and_then(|key| String::from_utf8(key).ok()))
        })
    }

    fn set_key<'a>(&'a self, tape: &'a str, key: &'a str) -> Future<'a, ()> {
        Box::pin(async move {
            check_characters(tape)?;
            let action = format!("append to tape `{tape}`");
            let statement = "INSERT INTO family (name, key) VALUES ($1, $2) \
                             ON CONFLICT (name) DO UPDATE SET key = excluded.key";
            self.database.write(&action, statement, &[&tape, &key.as_bytes()], true).await.map(drop)
        })
    }

    fn copied<'a>(&'a self, holding: &'a Holding) -> Future<'a, ()> {
        Box::pin(async move {
            match holding.is_archive {
                true => Ok(()),
                false => index::index(&self.database, &holding.name).await,
            }
        })
    }
}

/// Whether a name is an archive's, and its last id.
const STATE: &str = "SELECT t.archive, (SELECT max(e.id) FROM entry e WHERE e.tape = t.number) FROM tape t \
                     WHERE t.name = $1";

fn last_of(row: &tokio_postgres::Row, holding: &Holding) -> Result<u64> {
    match row.try_get::<_, bool>(0) {
        Ok(is_archive) if holding.is_archive == is_archive => number(row, 1),
        Ok(_) => Err(holding.is_of_other_kind()),
        Err(_) => Err(damaged()),
    }
}

async fn add(
    client: &Transaction,
    fence: Option<&Fence>,
    holding: &Holding,
    after: u64,
    rows: &NewRows,
) -> std::result::Result<(), Failed> {
    client.check(fence).await?;
    let family = holding.family();
    client.execute("INSERT INTO family (name) VALUES ($1) ON CONFLICT DO NOTHING", &[&family]).await?;
    client.query_one("SELECT 1 FROM family WHERE name = $1 FOR UPDATE", &[&family]).await?;
    let found = client.query_opt(STATE, &[&holding.name]).await?;
    let last = found.map_or(Ok(0), |row| last_of(&row, holding))?;
    if last != after {
        return Err(Error::Conflict { last }.into());
    }
    let listed = !holding.is_archive && is_listed(&holding.name);
    let statement = "INSERT INTO tape (name, archive, listed) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING";
    client.execute(statement, &[&holding.name, &holding.is_archive, &listed]).await?;
    insert(client, &holding.name, rows).await
}
