//! A tape and its sidecars as they were when the lease was claimed.

use std::collections::BTreeMap;

use bub_tape::{Lookup, Result, family};
use tokio_postgres::Row;

use super::window::Window;
use crate::store::{damaged, entry_at};

/// The rows that a turn can read without a query.
pub(crate) struct Snapshot {
    tape: String,
    windows: BTreeMap<String, Window>,
    /// Whether there are no other sidecars.
    is_complete: bool,
    /// Of what does not exist.
    nothing: Window,
}

impl Snapshot {
    /// Reads the rows of `snapshot_1`.
    pub(crate) fn read(tape: &str, lookups: &[Lookup], rows: &[Row]) -> Result<Self> {
        let mut snapshot =
            Self { tape: tape.to_owned(), windows: BTreeMap::new(), is_complete: true, nothing: Window::default() };
        let mut current: Option<(String, Window)> = None;
        for row in rows {
            let what: &str = row.try_get(0).map_err(|_| damaged())?;
            match (what, &mut current) {
                ("tape", current) => {
                    snapshot.windows.extend(current.take());
                    let name: String = row.try_get(1).map_err(|_| damaged())?;
                    *current = Some((name, Window::new(number(row, 3)?, number(row, 2)?)));
                }
                ("more", _) => snapshot.is_complete = false,
                ("entry", Some((_, window))) => window.push(entry_at(row, 3)?),
                ("first", Some((_, window))) => window.set_first(entry_at(row, 3)?),
                ("older", Some((_, window))) => {
                    let place = usize::try_from(number(row, 2)?).unwrap_or_default();
                    let lookup = place.checked_sub(1).and_then(|place| lookups.get(place)).ok_or_else(damaged)?;
                    let id: Option<i64> = row.try_get(3).map_err(|_| damaged())?;
                    let found = id.map(|_| entry_at(row, 3)).transpose()?;
                    window.set_older(lookup.clone(), found);
                }
                _ => return Err(damaged()),
            }
        }
        snapshot.windows.extend(current);
        Ok(snapshot)
    }

    /// The window of the tape or of a sidecar; `None`: it is not known.
    pub(crate) fn window(&self, tape: &str) -> Option<&Window> {
        match self.windows.get(tape) {
            Some(window) => Some(window),
            None if tape == self.tape => Some(&self.nothing),
            None if self.is_complete && family(tape) == self.tape => Some(&self.nothing),
            None => None,
        }
    }

    /// The names of all sidecars, in order.
    pub(crate) fn sidecars(&self, tape: &str) -> Option<Vec<String>> {
        let is_known = self.is_complete && tape == self.tape;
        is_known.then(|| self.windows.keys().filter(|name| **name != self.tape).cloned().collect())
    }
}

fn number(row: &Row, column: usize) -> Result<u64> {
    let number: i64 = row.try_get(column).map_err(|_| damaged())?;
    u64::try_from(number).map_err(|_| damaged())
}

/// A parameter of the type `bytea[]`.
type Column<'l> = Vec<Option<&'l [u8]>>;

/// Lookups as parameters of the schema's functions: kinds and names.
pub(crate) fn lookup_columns(lookups: &[Lookup]) -> (Column<'_>, Column<'_>) {
    lookups
        .iter()
        .map(|lookup| match lookup {
            Lookup::Phase => (None, None),
            Lookup::Anchor => (Some(&b"anchor"[..]), None),
            Lookup::Kind(kind) => (Some(kind.as_bytes()), None),
            Lookup::Named { kind, name } => (Some(kind.as_bytes()), Some(name.as_bytes())),
        })
        .unzip()
}
