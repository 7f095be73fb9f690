//! The whole content of a database of tapes.

use rusqlite::{Connection, OptionalExtension};

use super::super::entry::Entry;
use super::super::error::Error;
use super::super::store::Future;
use super::super::transaction::StoreTransaction;
use super::super::transfer::{Holding, PAGE, PAGE_BYTES, Transfer, check_order, size};
use super::SqliteStore;
use super::read::{self, LARGEST_ID, TapeReader, columns};

impl Transfer for SqliteStore {
    fn holdings<'a>(&'a self, after: Option<&'a str>, max: usize) -> Future<'a, Vec<Holding>> {
        Box::pin(async move {
            let action = format!("list the tapes in `{}`", self.path().display());
            let (after, max) = (after.unwrap_or_default().to_owned(), i64::try_from(max).unwrap_or(i64::MAX));
            let list = move |connection: &Connection| {
                let query = "SELECT name, archive FROM tape WHERE name > ? ORDER BY name LIMIT ?";
                let mut statement = connection.prepare_cached(query)?;
                let rows = statement
                    .query_map((after, max), |row| Ok(Holding { name: row.get(0)?, is_archive: row.get(1)? }))?;
                rows.collect::<rusqlite::Result<Vec<_>>>()
            };
            self.database.read(action, move |connection, failed| list(connection).map_err(failed)).await
        })
    }

    fn last_of<'a>(&'a self, holding: &'a Holding) -> Future<'a, u64> {
        Box::pin(async move {
            let (of, action) = (holding.clone(), format!("read tape `{}`", holding.name));
            let is_same = move |connection: &Connection| {
                let query = "SELECT archive FROM tape WHERE name = ?";
                connection.query_row(query, [&of.name], |row| row.get(0)).optional()
            };
            let found: Option<bool> =
                self.database.read(action, move |connection, failed| is_same(connection).map_err(failed)).await?;
            match found {
                None => Ok(0),
                Some(is_archive) if is_archive != holding.is_archive => Err(holding.is_of_other_kind()),
                Some(_) => self.database.look(&holding.name, read::last_id).await,
            }
        })
    }

    fn page<'a>(&'a self, holding: &'a Holding, after: u64) -> Future<'a, Vec<Entry>> {
        Box::pin(async move { self.database.look(&holding.name, move |seen| page(seen, after)).await })
    }

    fn add<'a>(&'a self, holding: &'a Holding, after: u64, entries: Vec<Entry>) -> Future<'a, ()> {
        Box::pin(async move {
            check_order(holding, after, &entries)?;
            let (of, action) = (holding.clone(), format!("append to tape `{}`", holding.name));
            let write = move |transaction: &mut dyn super::super::transaction::ErasingTransaction| {
                let transaction: &mut dyn StoreTransaction = transaction;
                if transaction.holds(&of.name)? && transaction.is_archive(&of.name)? != of.is_archive {
                    return Err(of.is_of_other_kind());
                }
                match transaction.last_id(&of.name)? {
                    last if last == after => transaction.add(&of.name, of.is_archive, entries),
                    last => Err(Error::Conflict { last }),
                }
            };
            self.database.write(action, write).await
        })
    }

    fn key<'a>(&'a self, tape: &'a str) -> Future<'a, Option<String>> {
        Box::pin(async move {
            let (of, action) = (tape.to_owned(), format!("read tape `{tape}`"));
            self.database.peek(action, move |transaction| transaction.merged(&of)).await
        })
    }

    fn set_key<'a>(&'a self, tape: &'a str, key: &'a str) -> Future<'a, ()> {
        Box::pin(async move {
            let (of, key, action) = (tape.to_owned(), key.to_owned(), format!("append to tape `{tape}`"));
            self.database.write(action, move |transaction| transaction.remember(&of, &key)).await
        })
    }
}

/// A page that is bounded in bytes.
fn page(seen: &TapeReader<'_>, after: u64) -> rusqlite::Result<Vec<Entry>> {
    let query = concat!("SELECT ", columns!(), " FROM entry WHERE place > ? AND place <= ? ORDER BY place LIMIT ?");
    let mut statement = seen.connection.prepare_cached(query)?;
    let mut rows = statement.query((seen.place(after), seen.place(LARGEST_ID), PAGE as i64))?;
    let (mut page, mut bytes) = (Vec::new(), 0);
    while bytes < PAGE_BYTES
        && let Some(row) = rows.next()?
    {
        let entry = read::entry(row)?;
        bytes += size(&entry);
        page.push(entry);
    }
    Ok(page)
}
