//! The index of one workspace: passages, full-text tables, and embedding vectors.
//!
//! It is derived from the tapes and can be deleted at any time. An unreadable file, or one of another version, is
//! rebuilt.

mod rows;
mod schema;

use super::calibration::Baseline;
use super::passages::{Fold, Passage, Step};
use super::terms;
use parking_lot::Mutex;
use rows::{COLUMNS, column, cosine, digest, insert, number, packed, quoted, remove, save, stored};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum passages of a workspace: beyond it the oldest of conversations are evicted, never memory or notes.
pub(super) const MAX_PASSAGES: u64 = 20_000;

/// Maximum candidates of each search method.
const CANDIDATES: u64 = 200;

/// Maximum trigrams of a question.
const TRIGRAMS: usize = 64;

pub(super) type Result<T> = rusqlite::Result<T>;

/// The indexed part of a tape.
#[derive(Debug, Clone, Default)]
pub(super) struct IndexedTape {
    pub(super) number: i64,
    pub(super) last: u64,
    /// Fingerprint of the entry with that id: a difference means that the tape was reset or rewritten.
    pub(super) print: String,
    pub(super) fold: Fold,
}

/// A passage in the index.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) number: i64,
    pub(super) tape: String,
    pub(super) passage: Passage,
}

/// The passages that a query may return.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    /// The turn's own tape and its sidecars.
    pub(super) own: String,
    /// The tape that all sessions of the workspace share.
    pub(super) shared: Option<String>,
    /// All other sessions too.
    pub(super) all: bool,
}

impl Scope {
    const CONDITION: &'static str =
        "(?1 OR t.name = ?2 OR t.name = ?3 OR t.name LIKE ?2 || '\\_\\_sidecar\\_\\_%' ESCAPE '\\')";

    fn values(&self) -> (bool, &str, &str) {
        (self.all, &self.own, self.shared.as_deref().unwrap_or(""))
    }
}

/// The index of a workspace. Blocking.
#[derive(Clone)]
pub(super) struct Index(Arc<Mutex<Connection>>);

impl Index {
    /// Opens or creates the file.
    pub(super) fn open(path: &Path) -> std::result::Result<Self, String> {
        schema::open(path).map(|connection| Self(Arc::new(Mutex::new(connection))))
    }

    /// Runs a write transaction.
    pub(super) fn with<T>(&self, act: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut connection = self.0.lock();
        let transaction = connection.transaction()?;
        let done = act(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }

    /// The state of a tape.
    pub(super) fn known(&self, tape: &str) -> Result<IndexedTape> {
        self.with(|connection| {
            let query = "SELECT number, last, print, fold FROM tape WHERE name = ?";
            let known = connection.query_row(query, [tape], |row| {
                let fold: String = row.get(3)?;
                Ok(IndexedTape {
                    number: row.get(0)?,
                    last: row.get::<_, i64>(1)?.unsigned_abs(),
                    print: row.get(2)?,
                    fold: serde_json::from_str(&fold).unwrap_or_default(),
                })
            });
            if let Some(known) = known.optional()? {
                return Ok(known);
            }
            connection.execute("INSERT INTO tape (name, last, print, fold) VALUES (?, 0, '', '{}')", [tape])?;
            Ok(IndexedTape { number: connection.last_insert_rowid(), ..IndexedTape::default() })
        })
    }

    /// Removes all passages of a tape.
    pub(super) fn forget_tape(&self, tape: &str) -> Result<()> {
        self.with(|connection| {
            remove(connection, "tape IN (SELECT number FROM tape WHERE name = ?1)", params![tape])?;
            connection.execute("DELETE FROM tape WHERE name = ?", [tape]).map(drop)
        })
    }

    /// Adds the passages of a page of the tape.
    pub(super) fn add(&self, known: &IndexedTape, steps: &[Step]) -> Result<()> {
        self.with(|connection| {
            for step in steps {
                for passage in &step.passages {
                    insert(connection, known.number, passage)?;
                }
                if let Some(from) = step.taints_from {
                    let taint = serde_json::to_string(&known.fold.taint).unwrap_or_default();
                    let update = "UPDATE passage SET taint = ? WHERE tape = ? AND entry >= ? AND source = 2";
                    connection.execute(update, params![taint, known.number, column(from)])?;
                }
            }
            save(connection, known)
        })
    }

    /// Replaces the passages of the tape's memory.
    pub(super) fn replace_memory(&self, known: &IndexedTape, passages: &[Passage]) -> Result<()> {
        self.with(|connection| {
            remove(connection, "tape = ?1 AND source < 2", params![known.number])?;
            for passage in passages {
                insert(connection, known.number, passage)?;
            }
            save(connection, known)
        })
    }

    /// Evicts the oldest passages of conversations beyond the maximum, and unused vectors.
    pub(super) fn evict(&self, most: u64) -> Result<()> {
        self.with(|connection| {
            let count: u64 = connection.query_row("SELECT count(*) FROM passage", [], number)?;
            if count > most {
                let oldest = "number IN (SELECT number FROM passage WHERE source = 2 ORDER BY date, number LIMIT ?1)";
                remove(connection, oldest, params![column(count - most + most / 20)])?;
            }
            Ok(())
        })
    }

    /// Removes the passages of these entries of a tape.
    pub(super) fn forget_entries(&self, tape: &str, entries: &[u64]) -> Result<()> {
        self.with(|connection| {
            for entry in entries {
                let which = "entry = ?2 AND tape IN (SELECT number FROM tape WHERE name = ?1)";
                remove(connection, which, params![tape, column(*entry)])?;
            }
            Ok(())
        })
    }

    /// Removes every passage that contains the text, ignoring case, and overwrites it in the file.
    pub(super) fn forget_text(&self, text: &str) -> Result<usize> {
        let text = text.to_lowercase();
        let removed = self.with(|connection| {
            let mut statement = connection.prepare("SELECT number, text FROM passage")?;
            let mut rows = statement.query([])?;
            let mut gone = Vec::new();
            while let Some(row) = rows.next()? {
                if row.get_ref(1)?.as_str().unwrap_or_default().to_lowercase().contains(&text) {
                    gone.push(row.get::<_, i64>(0)?);
                }
            }
            for number in &gone {
                remove(connection, "number = ?1", params![number])?;
            }
            connection.execute("INSERT INTO term (term) VALUES ('optimize')", [])?;
            connection.execute("INSERT INTO gram (gram) VALUES ('optimize')", [])?;
            Ok(gone.len())
        })?;
        if removed > 0 {
            self.0.lock().execute_batch(
                // The write-ahead log contains pages too.
                "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)",
            )?;
        }
        Ok(removed)
    }

    /// The number of passages in scope.
    pub(super) fn passages(&self, reach: &Scope) -> Result<u64> {
        let query =
            format!("SELECT count(*) FROM passage p JOIN tape t ON t.number = p.tape WHERE {}", Scope::CONDITION);
        self.with(|connection| connection.query_row(&query, reach.values(), number))
    }

    /// For each term, the number of passages that contain it.
    pub(super) fn holding(&self, terms: &[String]) -> Result<Vec<u64>> {
        self.with(|connection| {
            let mut statement = connection.prepare_cached("SELECT count(*) FROM term WHERE term MATCH ?")?;
            terms.iter().map(|term| statement.query_row([quoted(term)], number)).collect()
        })
    }

    /// Passages that share words or trigrams with the question.
    pub(super) fn by_words(&self, question: &str, terms: &[String], reach: &Scope) -> Result<Vec<Stored>> {
        let widened: Vec<String> = terms.iter().flat_map(|term| terms::widened(term)).map(quoted).collect();
        let folded: Vec<char> = question.to_lowercase().chars().collect();
        let whole = |gram: &&[char]| gram.iter().all(|c| c.is_alphanumeric());
        let mut grams: Vec<String> =
            folded.windows(3).filter(whole).map(|gram| quoted(gram.iter().collect::<String>())).collect();
        grams.dedup();
        grams.truncate(TRIGRAMS);
        let mut found = Vec::new();
        for (table, wanted) in [("term", widened), ("gram", grams)] {
            if !wanted.is_empty() {
                found.extend(self.matching(table, &wanted.join(" OR "), reach)?);
            }
        }
        Ok(found)
    }

    fn matching(&self, table: &str, expression: &str, reach: &Scope) -> Result<Vec<Stored>> {
        let query = format!(
            "SELECT {COLUMNS} FROM {table} JOIN passage p ON p.number = {table}.rowid \
             JOIN tape t ON t.number = p.tape WHERE {table} MATCH ?4 AND {} ORDER BY rank LIMIT {CANDIDATES}",
            Scope::CONDITION
        );
        let (all, own, shared) = reach.values();
        self.with(|connection| {
            connection.prepare_cached(&query)?.query_map(params![all, own, shared, expression], stored)?.collect()
        })
    }

    /// The passages with the nearest vectors, with their cosines, and the number of vectors compared.
    pub(super) fn by_meaning(&self, model: &str, vector: &[f32], reach: &Scope) -> Result<Vec<(Stored, f64)>> {
        let query = format!(
            "SELECT p.number, v.vector FROM passage p JOIN tape t ON t.number = p.tape \
             JOIN vector v ON v.digest = p.digest AND v.model = ?4 WHERE {}",
            Scope::CONDITION
        );
        let (all, own, shared) = reach.values();
        self.with(|connection| {
            let mut near: Vec<(i64, f64)> = Vec::new();
            let mut statement = connection.prepare_cached(&query)?;
            let mut rows = statement.query(params![all, own, shared, model])?;
            while let Some(row) = rows.next()? {
                if let Some(cosine) = cosine(vector, row.get_ref(1)?.as_blob().unwrap_or_default()) {
                    near.push((row.get(0)?, cosine));
                }
            }
            near.sort_by(|a, b| b.1.total_cmp(&a.1));
            near.truncate(CANDIDATES as usize);
            let query = format!("SELECT {COLUMNS} FROM passage p JOIN tape t ON t.number = p.tape WHERE p.number = ?");
            let mut statement = connection.prepare_cached(&query)?;
            near.into_iter().map(|(number, cosine)| Ok((statement.query_row([number], stored)?, cosine))).collect()
        })
    }

    /// Texts without a vector of the model; memory first, then newest first.
    pub(super) fn texts_without_vector(&self, model: &str, most: usize) -> Result<Vec<String>> {
        let query = "SELECT text FROM passage p WHERE NOT EXISTS \
                     (SELECT 1 FROM vector v WHERE v.digest = p.digest AND v.model = ?) \
                     GROUP BY digest ORDER BY min(source), max(number) DESC LIMIT ?";
        self.with(|connection| {
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            connection.prepare_cached(query)?.query_map(params![model, most], |row| row.get(0))?.collect()
        })
    }

    /// Stores the vectors of these texts.
    pub(super) fn keep_vectors(&self, model: &str, vectors: &[(String, Vec<f32>)]) -> Result<()> {
        self.with(|connection| {
            let insert = "INSERT OR REPLACE INTO vector (digest, model, vector) VALUES (?, ?, ?)";
            let mut statement = connection.prepare_cached(insert)?;
            for (text, vector) in vectors {
                statement.execute(params![digest(text), model, packed(vector)])?;
            }
            Ok(())
        })
    }

    /// The model's baseline.
    pub(super) fn baseline(&self, model: &str) -> Result<Option<Baseline>> {
        self.with(|connection| {
            let query = "SELECT median, spread FROM baseline WHERE model = ?";
            let found =
                connection.query_row(query, [model], |row| Ok(Baseline { median: row.get(0)?, spread: row.get(1)? }));
            found.optional()
        })
    }

    /// Stores the model's baseline with its sample, and removes the data of other models.
    pub(super) fn keep_baseline(&self, model: &str, baseline: Baseline, sample: &[f64]) -> Result<()> {
        let sample = sample.iter().map(|cosine| format!("{cosine:.3}")).collect::<Vec<_>>().join(" ");
        self.with(|connection| {
            connection.execute("DELETE FROM vector WHERE model <> ?", [model])?;
            connection.execute("DELETE FROM baseline WHERE model <> ?", [model])?;
            let insert = "INSERT OR REPLACE INTO baseline (model, median, spread, sample) VALUES (?, ?, ?, ?)";
            connection.execute(insert, params![model, baseline.median, baseline.spread, sample]).map(drop)
        })
    }
}

/// The path of a workspace's index.
pub(super) fn path(dir: &Path, workspace: &Path) -> PathBuf {
    let digest = Sha256::digest(workspace.as_os_str().as_encoded_bytes());
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    dir.join(format!("{name}.sqlite"))
}
