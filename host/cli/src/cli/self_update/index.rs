//! `self index`: an index of releases for `self update`.

use super::super::plugin::KeyOptions;
use super::super::text;
use anyhow::{Context, Result};
use bub_update::{INDEX_FILE, Publication, publish};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Folder with the archives `bub-wasm-VERSION-TARGET.tar.gz`; the index is written there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    key: KeyOptions,
    /// Day of releases that the index does not have yet [default: today]
    #[arg(long, value_name = "YYYY-MM-DD")]
    date: Option<jiff::civil::Date>,
    /// Days after which programs refuse the index, so that a withheld update is noticed
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
    valid_days: Option<u32>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let key = arguments.key.read()?.context("nothing signs: name the secret key by `--key FILE`")?;
    let publication = Publication { date: arguments.date, valid_days: arguments.valid_days };
    let (index, added) = publish(&arguments.folder, &key, publication)?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{}: {}, {} new",
        text::line(&arguments.folder.join(INDEX_FILE).display().to_string()),
        text::count(index.releases.len() as u64, "release", "releases"),
        text::count(added as u64, "archive", "archives"),
    )?;
    writeln!(out, "signed by key {}; to accept it, in config.toml:\n", key.public().id())?;
    writeln!(out, "[update]\nkey = \"{}\"", key.public())?;
    Ok(ExitCode::SUCCESS)
}
