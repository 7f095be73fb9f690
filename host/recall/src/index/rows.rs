//! Passages, terms and vectors as rows of the database.

use super::super::passages::{Passage, Source};
use super::super::terms;
use super::{IndexedTape, Result, Stored};
use rusqlite::{Row, Transaction, params};
use sha2::{Digest, Sha256};

/// The columns that [`stored`] reads.
pub(super) const COLUMNS: &str = "p.number, t.name, p.entry, p.source, p.text, p.date, p.taint";

pub(super) fn stored(row: &Row<'_>) -> Result<Stored> {
    let taint: String = row.get(6)?;
    Ok(Stored {
        number: row.get(0)?,
        tape: row.get(1)?,
        passage: Passage {
            entry: row.get::<_, i64>(2)?.unsigned_abs(),
            source: Source::of_number(row.get(3)?),
            text: row.get(4)?,
            date: row.get(5)?,
            // Unreadable taint counts as taint.
            taint: serde_json::from_str(&taint).unwrap_or_else(|_| vec!["outside".to_owned()]),
        },
    })
}

pub(super) fn insert(connection: &Transaction<'_>, tape: i64, passage: &Passage) -> Result<()> {
    let taint = serde_json::to_string(&passage.taint).unwrap_or_default();
    let insert = "INSERT INTO passage (tape, entry, source, text, date, taint, digest) VALUES (?, ?, ?, ?, ?, ?, ?)";
    let values = params![
        tape,
        column(passage.entry),
        passage.source.number(),
        passage.text,
        passage.date,
        taint,
        digest(&passage.text)
    ];
    connection.prepare_cached(insert)?.execute(values)?;
    let number = connection.last_insert_rowid();
    let terms = terms::terms(&passage.text).join(" ");
    connection.prepare_cached("INSERT INTO term (rowid, terms) VALUES (?, ?)")?.execute(params![number, terms])?;
    let text = passage.text.to_lowercase();
    connection.prepare_cached("INSERT INTO gram (rowid, text) VALUES (?, ?)")?.execute(params![number, text])?;
    Ok(())
}

/// Removes passages and all data derived from them.
pub(super) fn remove(connection: &Transaction<'_>, which: &str, values: impl rusqlite::Params + Clone) -> Result<()> {
    for table in ["term", "gram"] {
        let delete = format!("DELETE FROM {table} WHERE rowid IN (SELECT number FROM passage WHERE {which})");
        connection.execute(&delete, values.clone())?;
    }
    let removed = connection.execute(&format!("DELETE FROM passage WHERE {which}"), values)?;
    if removed > 0 {
        connection.execute("DELETE FROM vector WHERE digest NOT IN (SELECT digest FROM passage)", [])?;
    }
    Ok(())
}

pub(super) fn save(connection: &Transaction<'_>, known: &IndexedTape) -> Result<()> {
    let fold = serde_json::to_string(&known.fold).unwrap_or_default();
    let update = "UPDATE tape SET last = ?, print = ?, fold = ? WHERE number = ?";
    connection.execute(update, params![column(known.last), known.print, fold, known.number]).map(drop)
}

pub(super) fn number(row: &Row<'_>) -> Result<u64> {
    row.get(0).map(i64::unsigned_abs)
}

/// Quotes a term for FTS5: no term contains a quote.
pub(super) fn quoted(term: impl AsRef<str>) -> String {
    format!("\"{}\"", term.as_ref().replace('"', ""))
}

pub(super) fn column(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}

/// The key of a text.
pub(super) fn digest(text: &str) -> Vec<u8> {
    Sha256::digest(text.as_bytes()).get(..16).unwrap_or_default().to_vec()
}

/// A unit vector quantized to bytes, after its largest component: exact to a hundredth of a cosine.
pub(super) fn packed(vector: &[f32]) -> Vec<u8> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    let most = vector.iter().map(|x| (x / length).abs()).fold(f32::MIN_POSITIVE, f32::max);
    let bytes = vector.iter().map(|x| (x / length / most * 127.0).round() as i8 as u8);
    most.to_le_bytes().into_iter().chain(bytes).collect()
}

/// The cosine of a unit vector and a packed one; `None` if their lengths differ.
pub(super) fn cosine(vector: &[f32], packed: &[u8]) -> Option<f64> {
    let (most, bytes) = packed.split_at_checked(4)?;
    let most = f32::from_le_bytes(most.try_into().ok()?);
    if bytes.len() != vector.len() {
        return None;
    }
    let dot: f32 = vector.iter().zip(bytes).map(|(x, byte)| x * f32::from(*byte as i8)).sum();
    Some(f64::from(dot * most / 127.0))
}
