//! The rows that a commit depends on, read at once, and its changes, in order.

use std::collections::BTreeMap;

use bub_tape::transaction::StoreTransaction;
use bub_tape::{Entry, Result, family, is_listed};

use super::row::{NewRows, bytes, number};
use crate::transaction::{Failed, Transaction};

/// A tape, a sidecar or an archive.
#[derive(Clone, Copy, Debug)]
struct Known {
    is_archive: bool,
    last_id: u64,
}

/// A change of the database.
#[derive(Debug)]
enum Change {
    Archive { tape: String, archive: String },
    Remove { tape: String },
    Add { tape: String, is_archive: bool, entries: Vec<Entry> },
    Remember { tape: String, key: String },
}

/// All names that a commit to a tape can concern, as they are and as its changes so far leave them.
pub(super) struct Snapshot {
    names: BTreeMap<String, Known>,
    key: Option<Vec<u8>>,
    changes: Vec<Change>,
}

impl Snapshot {
    /// Reads the snapshot. With `locks` no other process can write the tape or its sidecars before the transaction ends.
    pub(super) async fn read(client: &Transaction, tape: &str, locks: bool) -> std::result::Result<Self, Failed> {
        let family = family(tape);
        if locks {
            client.execute("INSERT INTO family (name) VALUES ($1) ON CONFLICT DO NOTHING", &[&family]).await?;
        }
        let key = format!("SELECT key FROM family WHERE name = $1 {}", if locks { "FOR UPDATE" } else { "" });
        let key = client.query_opt(&key, &[&family]).await?.map_or(Ok(None), |row| row.try_get(0))?;
        // Names are ASCII, so the second is after all names with the prefix. An archive's name may be any of those.
        let statement = "SELECT t.name, t.archive, (SELECT max(e.id) FROM entry e WHERE e.tape = t.number) \
                         FROM tape t WHERE t.name >= $1 AND t.name < $2";
        let mut names = BTreeMap::new();
        for row in client.query(statement, &[&family, &format!("{family}\u{7f}")]).await? {
            names.insert(row.try_get(0)?, Known { is_archive: row.try_get(1)?, last_id: number(&row, 2)? });
        }
        Ok(Self { names, key, changes: Vec::new() })
    }

    /// Makes the changes in the database, in order.
    pub(super) async fn write(self, client: &Transaction) -> std::result::Result<(), Failed> {
        for change in self.changes {
            match change {
                Change::Archive { tape, archive } => {
                    let statement = "UPDATE tape SET name = $2, archive = true, listed = false WHERE name = $1";
                    client.execute(statement, &[&tape, &archive]).await?;
                }
                Change::Remove { tape } => remove(client, &tape).await?,
                Change::Add { tape, is_archive, entries } => {
                    let listed = !is_archive && is_listed(&tape);
                    let statement =
                        "INSERT INTO tape (name, archive, listed) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING";
                    client.execute(statement, &[&tape, &is_archive, &listed]).await?;
                    let mut rows = NewRows::default();
                    entries.into_iter().for_each(|entry| rows.add(entry));
                    insert(client, &tape, &rows).await?;
                }
                Change::Remember { tape, key } => {
                    client.execute("UPDATE family SET key = $2 WHERE name = $1", &[&tape, &key.as_bytes()]).await?;
                }
            }
        }
        Ok(())
    }
}

async fn remove(client: &Transaction, tape: &str) -> std::result::Result<(), Failed> {
    let Some(row) = client.query_opt("DELETE FROM tape WHERE name = $1 RETURNING number", &[&tape]).await? else {
        return Ok(());
    };
    let number: i64 = row.try_get(0)?;
    client.execute("DELETE FROM gram WHERE tape = $1", &[&number]).await?;
    client.execute("DELETE FROM entry WHERE tape = $1", &[&number]).await?;
    Ok(())
}

/// Inserts entries of a tape that exists.
pub(super) async fn insert(client: &Transaction, tape: &str, rows: &NewRows) -> std::result::Result<(), Failed> {
    let statement = "INSERT INTO entry (tape, id, kind, payload, meta, date, name, phase) SELECT t.number, d.* FROM tape t, \
                     unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bool[]) d \
                     WHERE t.name = $1";
    let (kinds, payloads) = (bytes(&rows.kinds), bytes(&rows.payloads));
    let (metas, dates) = (bytes(&rows.metas), bytes(&rows.dates));
    client
        .execute(statement, &[&tape, &rows.ids, &kinds, &payloads, &metas, &dates, &rows.names, &rows.phases])
        .await?;
    Ok(())
}

impl StoreTransaction for Snapshot {
    fn holds(&mut self, name: &str) -> Result<bool> {
        Ok(self.names.contains_key(name))
    }

    fn is_archive(&mut self, name: &str) -> Result<bool> {
        Ok(self.names.get(name).is_some_and(|known| known.is_archive))
    }

    fn last_id(&mut self, name: &str) -> Result<u64> {
        Ok(self.names.get(name).map_or(0, |known| known.last_id))
    }

    fn sidecars(&mut self, tape: &str) -> Result<Vec<String>> {
        let is_beside = |name: &&String| name.as_str() != tape && family(name) == tape;
        let names = self.names.iter().filter(|(_, known)| !known.is_archive).map(|(name, _)| name);
        Ok(names.filter(is_beside).cloned().collect())
    }

    fn archive(&mut self, tape: &str, archive: &str) -> Result<()> {
        if let Some(known) = self.names.remove(tape) {
            self.names.insert(archive.to_owned(), Known { is_archive: true, ..known });
            self.changes.push(Change::Archive { tape: tape.to_owned(), archive: archive.to_owned() });
        }
        Ok(())
    }

    fn remove(&mut self, tape: &str) -> Result<()> {
        if self.names.remove(tape).is_some() {
            self.changes.push(Change::Remove { tape: tape.to_owned() });
        }
        Ok(())
    }

    fn add(&mut self, name: &str, archive: bool, entries: Vec<Entry>) -> Result<()> {
        let known = self.names.entry(name.to_owned()).or_insert(Known { is_archive: archive, last_id: 0 });
        known.last_id = entries.last().map_or(known.last_id, |last| last.id);
        self.changes.push(Change::Add { tape: name.to_owned(), is_archive: archive, entries });
        Ok(())
    }

    fn merged(&mut self, _tape: &str) -> Result<Option<String>> {
        // A key that is no text was written by another program, and belongs to no commit of this one.
        Ok(self.key.clone().and_then(|key| String::from_utf8(key).ok()))
    }

    fn remember(&mut self, tape: &str, key: &str) -> Result<()> {
        self.key = Some(key.as_bytes().to_vec());
        self.changes.push(Change::Remember { tape: tape.to_owned(), key: key.to_owned() });
        Ok(())
    }
}
