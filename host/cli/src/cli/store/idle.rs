//! Nothing writes to a store while it is copied, and no turn is left behind.

use super::super::text;
use super::address::StoreAddress;
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_postgres::{Database, Leases, PostgresJournals, PostgresStore, TurnSettings, status};
use bub_runtime::host::chained;
use bub_tape::transfer::Transfer;
use bub_tape::{Journals, Tapes};
use std::io::{ErrorKind, Write};
use std::sync::Arc;

/// The ending of a journal's file.
const JOURNAL: &str = ".jsonl.turn";

/// Refuses a store to which a turn writes, and stores what interrupted turns have written, as the next turn of their session
/// would.
///
/// # Errors
///
/// Such a turn, in words; or the journals or leases cannot be read, or a turn cannot be stored.
pub(super) async fn ensure(address: &StoreAddress, store: &Arc<dyn Transfer>, config: &Config) -> Result<()> {
    let (journals, names) = match address {
        StoreAddress::Postgres(name) => {
            let settings = config.database(name)?;
            if let Some(lease) = status::live_leases(settings.clone()).await?.into_iter().next() {
                bail!(
                    "a process holds `{lease}` in `{address}`: stop `bub-wasm serve` and turns that use it, then copy again"
                );
            }
            let interrupted = status::interrupted_turns(settings.clone()).await?;
            if interrupted.is_empty() {
                return Ok(());
            }
            let database = Database::connect(settings).await?;
            let leases = Leases::new(database.clone(), config.tapes.terms());
            let turns = TurnSettings { lock_wait: config.tapes.journal.lock_wait, lookups: Vec::new() };
            let journals = PostgresJournals::new(Arc::new(PostgresStore::new(database)), leases, turns);
            (Journals::over(Arc::new(journals)), interrupted)
        }
        _ => {
            let dir = match address {
                StoreAddress::Files(dir) => dir.clone(),
                // Journals are files of the home, and belong to the store that the home's turns use.
                _ if address.is_configured(config) => config.tapes_dir(),
                _ => return Ok(()),
            };
            let names = names(&dir).with_context(|| format!("`{}` cannot be read", dir.display()))?;
            (Journals::new(&dir, config.tapes.journal), names)
        }
    };
    let tapes = Tapes::new(chained(config, store.clone()), Arc::new(journals));
    for tape in names {
        if let Some(holder) = tapes.journals().holder(&tape).await {
            bail!("a turn writes to tape `{tape}` in {holder}: wait for its end, or stop it, then copy again");
        }
        if tapes.journals().left(&tape).await?.is_some() {
            let (turn, recovered) = tapes.begin(&tape).await?;
            turn.close();
            let entries = text::count(recovered.map_or(0, |turn| turn.entries as u64), "entry", "entries");
            writeln!(std::io::stderr(), "an interrupted turn of tape `{tape}` was recovered first, with {entries}")?;
        }
    }
    Ok(())
}

/// The tapes that have a journal, which may be empty.
fn names(dir: &std::path::Path) -> std::io::Result<Vec<String>> {
    let listed = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed?,
    };
    let mut tapes = Vec::new();
    for found in listed {
        let file = found?.file_name();
        tapes.extend(file.to_str().and_then(|file| file.strip_suffix(JOURNAL)).map(str::to_owned));
    }
    tapes.sort_unstable();
    Ok(tapes)
}
