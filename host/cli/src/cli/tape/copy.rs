//! `tape fork`.

use super::super::text;
use super::progress::Progress;
use super::tape_arg::TapeArg;
use super::tape_location::{require_listed, store};
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_tape::{Draft, Entry, FORGOTTEN, Store, Tape};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Entries that are written at once.
const PAGE: usize = 256;

#[derive(clap::Args)]
#[group(skip)]
#[command(group(clap::ArgGroup::new("target").required(true).args(["to", "copy"])))]
pub(super) struct Arguments {
    #[command(flatten)]
    tape_arg: TapeArg,
    /// Session of this workspace that continues from there; it must not have a tape yet
    #[arg(long, value_name = "SESSION")]
    to: Option<String>,
    /// Name of the new tape
    #[arg(long = "as", value_name = "TAPE")]
    copy: Option<String>,
    /// Copy only entries up to this id
    #[arg(long, value_name = "ID")]
    at: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let found = arguments.tape_arg.find(config, workspace).await?;
    found.require_own()?;
    let (location, name) = (&found.location, found.tape.name());
    let new = match (&arguments.to, &arguments.copy) {
        (Some(session), _) => location.tape_name(session),
        (None, Some(copy)) => copy.strip_suffix(".jsonl").unwrap_or(copy).to_owned(),
        (None, None) => bail!("say where to: `--to SESSION` or `--as TAPE`"),
    };
    require_listed(&new)?;
    let store = store(location)?;
    if location.holds(&new).await?.is_some() || !store.sidecars(&new).await?.is_empty() {
        bail!("there is a tape `{new}` already");
    }
    let end = match arguments.at {
        Some(id) => Some(at(&found.tape, id).await?),
        None => None,
    };
    let copy = Copy { store, end: end.as_ref(), progress: Progress::new("copying"), done: 0 };
    let copied = match copy.all(name, &new).await {
        Ok(copied) => copied,
        Err(error) => {
            // An incomplete copy could be taken for a complete one.
            let left = store.reset(&new, false).await;
            return Err(error.context(match left {
                Ok(_) => format!("tape `{new}` was not made"),
                Err(_) => format!("tape `{new}` is incomplete; bub-wasm tape reset {new} removes it"),
            }));
        }
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", json!({ "tape": new, "from": name, "entries": copied, "session": arguments.to }))?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "tape `{new}` has {} of `{name}`", text::count(copied, "entry", "entries"))?;
    if let Some(session) = &arguments.to {
        writeln!(out, "bub-wasm run --session '{}' MESSAGE goes on with it", text::line(session))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The last entry of a copy.
async fn at(tape: &Tape, id: u64) -> Result<Entry> {
    let before = id.checked_sub(1).context("ids begin with 1")?;
    let found = tape.read(before, 1).await?.into_iter().find(|entry| entry.id == id);
    match found {
        Some(entry) => Ok(entry),
        None => bail!("there is no entry {id} on tape `{}`, whose last one is {}", tape.name(), tape.last_id().await?),
    }
}

struct Copy<'a> {
    store: &'a Arc<dyn Store>,
    /// The last entry to copy; `None`: all.
    end: Option<&'a Entry>,
    progress: Progress,
    done: u64,
}

impl Copy<'_> {
    /// Copies the sidecars, then the tape: a tape of that name exists only when the copy is complete.
    async fn all(mut self, from: &str, to: &str) -> Result<u64> {
        for sidecar in self.store.sidecars(from).await? {
            let Some(suffix) = sidecar.strip_prefix(from) else { continue };
            // A sidecar has its own ids, so its entries are selected by their dates. Entries that were forgotten since are
            // forgotten in the copy too.
            let is_forgotten = suffix.strip_prefix("__sidecar__") == Some(FORGOTTEN);
            let end = self.end.map(|end| end.date.clone()).filter(|_| !is_forgotten);
            self.one(&sidecar, &format!("{to}{suffix}"), |entry| end.as_ref().is_none_or(|end| entry.date <= *end))
                .await?;
        }
        let end = self.end.map(|end| end.id);
        self.one(from, to, |entry| end.is_none_or(|end| entry.id <= end)).await
    }

    async fn one(&mut self, from: &str, to: &str, is_wanted: impl Fn(&Entry) -> bool) -> Result<u64> {
        let (mut after, mut copied) = (0, 0);
        loop {
            let mut page = self.store.read(from, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(copied) };
            after = last.id;
            let read = page.len();
            page.retain(&is_wanted);
            let kept = page.len();
            if kept > 0 {
                let drafts = page.into_iter().map(Draft::from).collect();
                // Another process may have started that tape.
                self.store.append(to, drafts, Some(copied)).await?;
            }
            copied += kept as u64;
            self.done += kept as u64;
            self.progress.at(self.done, None);
            if kept < read {
                return Ok(copied);
            }
        }
    }
}
