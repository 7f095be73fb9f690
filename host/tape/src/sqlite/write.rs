//! Writes within a transaction.

use rusqlite::{Connection, OptionalExtension};

use super::super::entry::Entry;
use super::super::erase::{Erasure, Verdict};
use super::super::error::{Error, Result};
use super::super::info::Info;
use super::super::name::{SIDECAR, is_listed};
use super::super::transaction::{ErasingTransaction, StoreTransaction};
use super::grams;
use super::read::{self, LARGEST_ID, TapeReader, columns};

/// Maximum entries of a tape that are not in the full-text index yet. A search scans each of them.
const BATCH: u64 = 128;

/// Entries per step.
const PAGE: usize = 256;

/// Tapes by name, within a transaction.
pub(super) struct WriteTransaction<'c> {
    pub(super) connection: &'c Connection,
    pub(super) failed: &'c dyn Fn(rusqlite::Error) -> Error,
}

impl WriteTransaction<'_> {
    fn execute(&self, statement: &str, values: impl rusqlite::Params) -> Result<()> {
        let run = || self.connection.prepare_cached(statement)?.execute(values);
        run().map(drop).map_err(self.failed)
    }

    fn text(&self, query: &str, value: &str) -> Result<Option<String>> {
        let run = || self.connection.prepare_cached(query)?.query_row([value], |row| row.get(0)).optional();
        run().map_err(self.failed)
    }

    fn number(&self, name: &str) -> Result<Option<i64>> {
        read::number(self.connection, name).map_err(self.failed)
    }

    fn insert(&self, seen: &TapeReader<'_>, entry: &Entry) -> rusqlite::Result<()> {
        let statement =
            "INSERT INTO entry (place, kind, payload, meta, date, name, phase) VALUES (?, ?, ?, ?, ?, ?, ?)";
        let (place, phase) = (seen.place(entry.id), entry.begins_phase());
        let values = (place, &entry.kind, &entry.payload, &entry.meta, &entry.date, entry.name(), phase);
        self.connection.prepare_cached(statement)?.execute(values).map(drop)
    }

    /// Adds entries up to the id `last` to the full-text index, if there are enough for a batch. Adding one at a time
    /// would cost twenty times an append.
    fn index(&self, seen: &TapeReader<'_>, last: u64) -> rusqlite::Result<()> {
        let indexed = seen.indexed()?;
        if last.saturating_sub(indexed) < BATCH {
            return Ok(());
        }
        let query = concat!("SELECT ", columns!(), " FROM entry WHERE place > ? AND place <= ? ORDER BY place");
        let mut entries = self.connection.prepare_cached(query)?;
        let mut insert = self.connection.prepare_cached("INSERT INTO gram (rowid, grams) VALUES (?, ?)")?;
        for entry in entries.query_map((seen.place(indexed), seen.place(last)), read::entry)? {
            let entry = entry?;
            insert.execute((seen.place(entry.id), grams::from_entry(&entry)))?;
        }
        let statement = "UPDATE tape SET indexed = ? WHERE number = ?";
        self.connection.prepare_cached(statement)?.execute((read::column(last), seen.number)).map(drop)
    }

    fn append(&self, seen: &TapeReader<'_>, entries: &[Entry]) -> rusqlite::Result<()> {
        let mut info: Info = read::info(seen)?;
        for entry in entries {
            self.insert(seen, entry)?;
            info.count(entry);
        }
        let info = serde_json::to_string(&info).unwrap_or_default();
        let statement = "UPDATE tape SET info = ? WHERE number = ?";
        self.connection.prepare_cached(statement)?.execute((info, seen.number))?;
        self.index(seen, entries.last().map_or(0, |last| last.id))
    }
}

impl StoreTransaction for WriteTransaction<'_> {
    fn holds(&mut self, name: &str) -> Result<bool> {
        Ok(self.number(name)?.is_some())
    }

    fn is_archive(&mut self, name: &str) -> Result<bool> {
        let found = self.text("SELECT name FROM tape WHERE name = ? AND archive = 1", name)?;
        Ok(found.is_some())
    }

    fn last_id(&mut self, name: &str) -> Result<u64> {
        match self.number(name)? {
            Some(number) => read::last_id(&TapeReader { connection: self.connection, number }).map_err(self.failed),
            None => Ok(0),
        }
    }

    fn sidecars(&mut self, tape: &str) -> Result<Vec<String>> {
        let run = || {
            // Names are ASCII, so this is after all names with the prefix.
            let first = format!("{tape}{SIDECAR}");
            let behind = format!("{first}\u{7f}");
            let query = "SELECT name FROM tape WHERE name >= ? AND name < ? AND archive = 0 ORDER BY name";
            let mut statement = self.connection.prepare_cached(query)?;
            let names = statement.query_map([first, behind], |row| row.get(0))?;
            names.collect::<rusqlite::Result<Vec<String>>>()
        };
        run().map_err(self.failed)
    }

    fn archive(&mut self, tape: &str, archive: &str) -> Result<()> {
        self.execute("UPDATE tape SET name = ?2, archive = 1, listed = 0 WHERE name = ?1", (tape, archive))
    }

    fn remove(&mut self, tape: &str) -> Result<()> {
        let Some(number) = self.number(tape)? else {
            return Ok(());
        };
        let seen = TapeReader { connection: self.connection, number };
        let (first, last) = (seen.place(0), seen.place(LARGEST_ID));
        self.execute("DELETE FROM gram WHERE rowid BETWEEN ? AND ?", (first, last))?;
        self.execute("DELETE FROM entry WHERE place BETWEEN ? AND ?", (first, last))?;
        self.execute("DELETE FROM tape WHERE number = ?", (number,))
    }

    fn add(&mut self, name: &str, archive: bool, entries: Vec<Entry>) -> Result<()> {
        if let Some(last) = entries.last()
            && last.id > LARGEST_ID
        {
            return Err(Error::invalid(format!("ids of a tape in SQLite are at most {LARGEST_ID}")));
        }
        if self.number(name)?.is_none() {
            let listed = !archive && is_listed(name);
            let statement = "INSERT INTO tape (name, archive, listed, info, indexed) VALUES (?, ?, ?, '', 0)";
            self.execute(statement, (name, archive, listed))?;
        }
        match self.number(name)? {
            Some(number) => {
                self.append(&TapeReader { connection: self.connection, number }, &entries).map_err(self.failed)
            }
            None => Ok(()),
        }
    }

    fn merged(&mut self, tape: &str) -> Result<Option<String>> {
        self.text("SELECT key FROM merged WHERE tape = ?", tape)
    }

    fn remember(&mut self, tape: &str, key: &str) -> Result<()> {
        self.execute("INSERT OR REPLACE INTO merged (tape, key) VALUES (?, ?)", (tape, key))
    }
}

impl ErasingTransaction for WriteTransaction<'_> {
    fn erase(&mut self, tape: &str, erasure: &Erasure) -> Result<u64> {
        let Some(number) = self.number(tape)? else { return Ok(0) };
        let seen = TapeReader { connection: self.connection, number };
        let last = read::last_id(&seen).map_err(self.failed)?;
        let (mut erased, mut after) = (0, 0);
        loop {
            let page = seen.page(after, PAGE).map_err(self.failed)?;
            let Some(end) = page.last() else { break };
            after = end.id;
            for entry in &page {
                let place = seen.place(entry.id);
                let blank = match erasure.verdict(entry) {
                    Verdict::Stays => continue,
                    Verdict::Goes => None,
                    Verdict::Blanked(blank) => Some(blank),
                };
                erased += 1;
                self.execute("DELETE FROM gram WHERE rowid = ?", (place,))?;
                self.execute("DELETE FROM entry WHERE place = ?", (place,))?;
                if let Some(blank) = blank {
                    self.insert(&seen, &blank).map_err(self.failed)?;
                }
            }
        }
        if erased > 0 {
            // Recomputed by the next query.
            self.execute("UPDATE tape SET info = '' WHERE number = ?", (number,))?;
            self.execute("INSERT INTO gram (gram) VALUES ('optimize')", ())?;
            if let Some(receipt) = erasure.receipt() {
                self.append(&seen, &[receipt.clone().numbered(last + 1)]).map_err(self.failed)?;
            }
        }
        Ok(erased)
    }
}
