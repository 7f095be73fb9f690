//! `backup`: the home in one file, and back.

use super::text;
use anyhow::{Context, Result, bail, ensure};
use bub_backup::{Home, Manifest, StoredTapes, TapeStore};
use bub_config::{Config, TapeStorage};
use bub_tape::{FileStore, SqliteStore};
use bub_types::text::escaped;
use serde_json::json;
use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The longest passphrase in a file, in bytes.
const MAX_PASSPHRASE: usize = 4096;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Write tapes, memory, configuration and plugins with their grants to a file; other programs may use the home meanwhile
    Create {
        /// The file to write, which must not exist: a `.tar.gz`
        path: PathBuf,
        /// Include the secrets (`secrets.toml`, `.env`, `serve.token`), encrypted with a passphrase
        #[arg(long)]
        secrets: bool,
        #[command(flatten)]
        options: Options,
    },
    /// Check that a backup is whole and unchanged
    Verify {
        /// The backup
        path: PathBuf,
        /// Check that the passphrase opens the secrets too
        #[arg(long)]
        secrets: bool,
        #[command(flatten)]
        options: Options,
    },
    /// Put a backup into a home that is empty or does not exist
    Restore {
        /// The backup
        path: PathBuf,
        /// Restore the secrets too
        #[arg(long)]
        secrets: bool,
        #[command(flatten)]
        options: Options,
    },
}

// A doc comment would become the help of a command.
#[derive(clap::Args)]
struct Options {
    /// Read the passphrase from the first line of this file instead of asking for it
    #[arg(long, value_name = "FILE", requires = "secrets")]
    passphrase_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: &Config) -> Result<ExitCode> {
    match &arguments.command {
        Command::Create { path, secrets, options } => {
            let passphrase = passphrase(*secrets, options, true)?;
            let home = Home { path: &config.home, tapes: tapes(config)? };
            ensure!(config.home.is_dir(), "there is no home `{}`", config.home.display());
            let manifest = bub_backup::create(&home, path, passphrase.as_deref()).await?;
            tell("wrote", path, &manifest, options)?;
            let is_quiet = options.json || manifest.tapes != StoredTapes::Server;
            if !is_quiet {
                let hint = "the tapes are in PostgreSQL and not in this backup: `pg_dump` makes one of them";
                writeln!(std::io::stderr(), "{hint}")?;
            }
        }
        Command::Verify { path, secrets, options } => {
            let passphrase = passphrase(*secrets, options, false)?;
            let manifest = bub_backup::verify(path, passphrase.as_deref())?;
            tell("whole", path, &manifest, options)?;
        }
        Command::Restore { path, secrets, options } => {
            let passphrase = passphrase(*secrets, options, false)?;
            let manifest = bub_backup::restore(path, &config.home, passphrase.as_deref())?;
            tell("restored", path, &manifest, options)?;
            let mut error = std::io::stderr();
            if let (StoredTapes::DatabaseOutside(was), false) = (&manifest.tapes, options.json) {
                let was = escaped(was, 200);
                writeln!(
                    error,
                    "the tapes were in `{was}`: set `tape_store = \"sqlite:tapes.sqlite\"` in config.toml"
                )?;
            }
            if manifest.has_secrets && !secrets && !options.json {
                writeln!(error, "the backup has secrets too: `--secrets` restores them")?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn tapes(config: &Config) -> Result<TapeStore> {
    let durability = config.tapes.journal.durability;
    Ok(match &config.tapes.storage {
        TapeStorage::Files => TapeStore::Files(FileStore::durable(config.tapes_dir(), durability)?),
        // Opening would make it.
        TapeStorage::Sqlite(path) if !path.exists() => bail!("there is no database `{}` of tapes yet", path.display()),
        TapeStorage::Sqlite(path) => TapeStore::Sqlite(SqliteStore::open(path, durability, config.tapes.shared_fs)?),
        TapeStorage::Postgres(_) => TapeStore::Server,
    })
}

fn passphrase(is_wanted: bool, options: &Options, is_new: bool) -> Result<Option<String>> {
    if !is_wanted {
        return Ok(None);
    }
    if let Some(file) = &options.passphrase_file {
        let shown = || format!("the passphrase cannot be read from `{}`", file.display());
        let (bytes, _) = bub_system::files::read_regular(file, MAX_PASSPHRASE).with_context(shown)?;
        let text = String::from_utf8(bytes).with_context(shown)?;
        return Ok(Some(text.lines().next().unwrap_or_default().to_owned()));
    }
    if !std::io::stdin().is_terminal() {
        bail!("there is no terminal to ask for the passphrase: give `--passphrase-file FILE`");
    }
    let ask = |prompt: &str| rpassword::prompt_password(prompt).context("the passphrase cannot be asked for");
    let passphrase = ask("passphrase: ")?;
    if is_new && ask("the same again: ")? != passphrase {
        bail!("the passphrases differ");
    }
    Ok(Some(passphrase))
}

fn tell(done: &str, path: &Path, manifest: &Manifest, options: &Options) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let size = fs::metadata(path).map_or(0, |about| about.len());
    if options.json {
        let tapes = match &manifest.tapes {
            StoredTapes::Files => "files",
            StoredTapes::Database | StoredTapes::DatabaseOutside(_) => "sqlite",
            StoredTapes::Server => "elsewhere",
        };
        let shown = json!({
            "path": path.display().to_string(), "bytes": size, "created": manifest.created, "program": manifest.program,
            "files": manifest.files.len(), "tapes": manifest.tapes(), "store": tapes, "secrets": manifest.has_secrets,
        });
        writeln!(out, "{}", text::json(&shown))?;
        return Ok(());
    }
    let files = text::count(manifest.files.len() as u64, "file", "files");
    let tapes = match &manifest.tapes {
        StoredTapes::Files => text::count(manifest.tapes() as u64, "tape", "tapes"),
        StoredTapes::Database | StoredTapes::DatabaseOutside(_) => "the database of tapes".to_owned(),
        StoredTapes::Server => "no tapes".to_owned(),
    };
    let secrets = if manifest.has_secrets { "with secrets" } else { "without secrets" };
    let (created, program) = (escaped(&manifest.created, 40), escaped(&manifest.program, 40));
    writeln!(out, "{done}: {files} with {tapes}, {secrets}, written by bub-wasm {program} at {created}")?;
    Ok(())
}
