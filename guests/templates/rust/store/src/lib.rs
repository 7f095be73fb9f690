//! A tape store: each tape with its sidecars is one file of JSON in the workspace.

mod family;

use bub_guest::Result;
use bub_guest::grant::Grant;
use bub_guest::hook::{Batch, Lookup, Outcome, Page, Store};
use bub_guest::tape::Entry;
use family::{Family, family_of};
use serde_json::Value;
use std::fs;
use std::path::Path;

bub_guest::plugin! {
    about: "Keeps tapes as files of the workspace.",
    grants: {
        /// to write the tapes there
        WORKSPACE: Directory("<workspace>:rw"),
    },
    hooks: {
        /// to keep the tapes in place of the host
        store: Files,
    },
}

/// The directory of the tapes, in the workspace.
const DIR: &str = "{{name}}-tapes";

/// The separator between a tape and the suffix of its archives.
const ARCHIVE: &str = ".jsonl.";

struct Files;

impl Store for Files {
    fn commit(batches: Vec<Batch>, key: Option<String>) -> Result<Outcome> {
        // All batches belong to one tape and its sidecars.
        let Some(first) = batches.first() else {
            return Ok(Outcome::Stored);
        };
        let (dir, name) = (dir()?, family_of(&first.tape).to_owned());
        let mut family = Family::read(dir, &name)?;
        if key.is_some() && family.key == key {
            return Ok(Outcome::Already);
        }
        let lasts: Vec<u64> = batches
            .iter()
            .map(|batch| family.last(&batch.tape))
            .collect();
        if batches
            .iter()
            .zip(&lasts)
            .any(|(batch, last)| batch.last.is_some_and(|expected| expected != *last))
        {
            return Ok(Outcome::Conflict(lasts));
        }
        for batch in &batches {
            if let Some(reset) = &batch.reset {
                family.reset(&name, &batch.tape, reset);
            }
        }
        for batch in batches {
            family.append(&batch.tape, batch.entries);
        }
        if key.is_some() {
            family.key = key;
        }
        family.write(dir, &name)?;
        Ok(Outcome::Stored)
    }

    fn read(tape: String, after: u64, max: u32) -> Result<Page> {
        let entries = entries(&tape)?;
        let mut found = entries.into_iter().filter(|entry| entry.id > after);
        let entries = found.by_ref().take(max as usize).collect();
        Ok(Page {
            entries,
            more: found.next().is_some(),
        })
    }

    fn tail(tape: String, before: Option<u64>, max: u32) -> Result<Page> {
        let mut entries = entries(&tape)?;
        entries.retain(|entry| before.is_none_or(|before| entry.id < before));
        let rest = entries.len().saturating_sub(max as usize);
        Ok(Page {
            entries: entries.split_off(rest),
            more: rest > 0,
        })
    }

    fn newest(tape: String, lookup: Lookup, before: Option<u64>) -> Result<Option<Entry>> {
        let is_wanted = |entry: &Entry| match &lookup {
            Lookup::Kind(kind) => entry.kind == *kind,
            Lookup::Named((kind, name)) => {
                entry.kind == *kind && entry.json()["name"] == name.as_str()
            }
            // An anchor of the conversation, not of a plugin's own section.
            Lookup::Phase => {
                let meta: Value = serde_json::from_str(&entry.meta).unwrap_or_default();
                let is_section = matches!(
                    entry.json()["name"].as_str(),
                    Some("memory/open" | "memory/seal")
                );
                entry.kind == "anchor" && meta["zone"] != true && !is_section
            }
        };
        let mut entries = entries(&tape)?;
        entries.retain(|entry| before.is_none_or(|before| entry.id < before));
        Ok(entries.into_iter().rfind(is_wanted))
    }

    fn list_tapes(after: Option<String>, max: u32) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for file in fs::read_dir(dir()?)? {
            let file = file?.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(".json"));
            names.extend(
                name.filter(|name| name.matches("__").count() == 1)
                    .map(str::to_owned),
            );
        }
        Ok(page(names, after, max))
    }

    fn list_sidecars(tape: String, after: Option<String>, max: u32) -> Result<Vec<String>> {
        let family = Family::read(dir()?, family_of(&tape))?;
        let names = family
            .tapes
            .into_keys()
            .filter(|name| *name != tape && !name.contains(ARCHIVE));
        Ok(page(names.collect(), after, max))
    }

    fn archive_name(tape: String) -> Result<Option<String>> {
        let family = Family::read(dir()?, family_of(&tape))?;
        Ok(family
            .tapes
            .contains_key(&tape)
            .then(|| family.archive_name(&tape)))
    }
}

/// The directory of the tapes.
fn dir() -> Result<&'static Path> {
    // Without its grant a directory is silently absent.
    WORKSPACE.check()?;
    fs::create_dir_all(DIR)?;
    Ok(Path::new(DIR))
}

fn entries(tape: &str) -> Result<Vec<Entry>> {
    let mut family = Family::read(dir()?, family_of(tape))?;
    Ok(family
        .tapes
        .remove(tape)
        .unwrap_or_default()
        .into_iter()
        .map(Entry::from)
        .collect())
}

/// The names after one of them, in byte order.
fn page(mut names: Vec<String>, after: Option<String>, max: u32) -> Vec<String> {
    names.retain(|name| after.as_ref().is_none_or(|after| name > after));
    names.sort();
    names.truncate(max as usize);
    names
}
