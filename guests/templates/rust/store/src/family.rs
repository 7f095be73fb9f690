//! A tape with its sidecars and archives, which are read and written together.

use crate::ARCHIVE;
use bub_guest::hook::Reset;
use bub_guest::tape::Entry;
use bub_guest::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// The content of a file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Family {
    /// The key of the last write that had one: the same write is applied once.
    pub key: Option<String>,
    pub tapes: BTreeMap<String, Vec<Line>>,
}

/// An entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Line {
    id: u64,
    kind: String,
    payload: String,
    meta: String,
    date: String,
}

impl From<Entry> for Line {
    fn from(
        Entry {
            id,
            kind,
            payload,
            meta,
            date,
        }: Entry,
    ) -> Self {
        Self {
            id,
            kind,
            payload,
            meta,
            date,
        }
    }
}

impl From<Line> for Entry {
    fn from(
        Line {
            id,
            kind,
            payload,
            meta,
            date,
        }: Line,
    ) -> Self {
        Self {
            id,
            kind,
            payload,
            meta,
            date,
        }
    }
}

/// The tape that a sidecar or an archive belongs to; any other tape itself.
pub fn family_of(tape: &str) -> &str {
    let tape = tape
        .split_once("__sidecar__")
        .map_or(tape, |(family, _)| family);
    tape.split_once(ARCHIVE).map_or(tape, |(family, _)| family)
}

impl Family {
    pub fn read(dir: &Path, name: &str) -> Result<Self> {
        match fs::read(dir.join(format!("{name}.json"))) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).context(format!("the file of tape `{name}`"))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).context(format!("the file of tape `{name}`")),
        }
    }

    /// Readers see all of it or nothing: the file is complete before it gets its name.
    pub fn write(&self, dir: &Path, name: &str) -> Result<()> {
        let draft = dir.join(format!("{name}.draft"));
        let mut file = File::create(&draft)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        Ok(fs::rename(&draft, dir.join(format!("{name}.json")))?)
    }

    /// The id of a tape's last entry; 0 if it is empty.
    pub fn last(&self, tape: &str) -> u64 {
        self.tapes
            .get(tape)
            .and_then(|lines| lines.last())
            .map_or(0, |line| line.id)
    }

    pub fn append(&mut self, tape: &str, entries: Vec<Entry>) {
        self.tapes
            .entry(tape.to_owned())
            .or_default()
            .extend(entries.into_iter().map(Line::from));
    }

    /// Empties a tape, and with a tape that is no sidecar its sidecars.
    pub fn reset(&mut self, family: &str, tape: &str, reset: &Reset) {
        let mut lines = self.tapes.remove(tape).unwrap_or_default();
        if tape == family {
            self.tapes.retain(|name, _| name.contains(ARCHIVE));
        }
        if let Some(wanted) = &reset.archive {
            lines.extend(reset.kept.iter().cloned().map(Line::from));
            let name = self.free(wanted);
            self.tapes.insert(name, lines);
        }
    }

    /// The name that an archive of the tape would get.
    pub fn archive_name(&self, tape: &str) -> String {
        self.free(&format!("{tape}{ARCHIVE}1"))
    }

    /// The name itself, or with a number if it is taken.
    fn free(&self, wanted: &str) -> String {
        let numbered = (2..).map(|number| format!("{wanted}.{number}"));
        let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
        names
            .find(|name| !self.tapes.contains_key(name))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u64) -> Entry {
        let (payload, meta) = ("{}".to_owned(), "{}".to_owned());
        Entry {
            id,
            kind: "event".to_owned(),
            payload,
            meta,
            date: "2026-01-02T03:04:05Z".to_owned(),
        }
    }

    #[test]
    fn written_entries_are_read_again() {
        let dir = std::env::temp_dir().join(format!("{{name_snake}}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let mut family = Family::default();
        family.append("a__b", vec![entry(1), entry(2)]);
        family.write(&dir, "a__b").unwrap();
        assert_eq!(Family::read(&dir, "a__b").unwrap().last("a__b"), 2);
        assert_eq!(Family::read(&dir, "a__c").unwrap().last("a__c"), 0);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_reset_empties_the_sidecars_and_keeps_an_archive() {
        let mut family = Family::default();
        family.append("a__b", vec![entry(1)]);
        family.append("a__b__sidecar__notes", vec![entry(1)]);
        let archive = family.archive_name("a__b");
        family.reset(
            "a__b",
            "a__b",
            &Reset {
                archive: Some(archive.clone()),
                kept: vec![entry(2)],
            },
        );
        assert_eq!(family.tapes.keys().collect::<Vec<_>>(), [&archive]);
        assert_eq!(family.last(&archive), 2);
        assert_eq!(family_of(&archive), "a__b");
        assert_ne!(family.archive_name("a__b"), archive);
    }
}
