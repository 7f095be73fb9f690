//! `self update`: exchanges the program for a newer one.

use super::super::{prompt, text};
use anyhow::{Context, Result, bail, ensure};
use bub_config::{Config, home_version};
use bub_registry::PublicKey;
use bub_update::{BUILT_IN_INDEX, BUILT_IN_KEY, Index, Program, Source, TARGET, Trial, Workplace, manager, version};
use semver::Version;
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// The version of this program.
const OWN: &str = env!("CARGO_PKG_VERSION");

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Only say whether there is a newer version
    #[arg(long, conflicts_with_all = ["version", "rollback"])]
    check: bool,
    /// Change to this version, which may be an older one
    #[arg(long, value_name = "VERSION", conflicts_with = "rollback")]
    version: Option<String>,
    /// Put the program back that the last update replaced
    #[arg(long)]
    rollback: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Print JSON
    #[arg(long, requires = "check")]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: &Config, workspace: &Path) -> Result<ExitCode> {
    let program = Program::current()?;
    if arguments.check {
        return check(arguments, config).await;
    }
    if let Some(manager) = manager(program.path()) {
        bail!("`{}` is not updated: {manager}", program.shown());
    }
    if arguments.rollback {
        return roll_back(&program, config, workspace).await;
    }
    let own = version(OWN)?;
    let (index, source) = fetch(config).await?;
    let (release, archive) = match &arguments.version {
        Some(wanted) => index.find(&version(wanted)?, TARGET)?,
        None => match index.newest(TARGET) {
            Some(newest) => newest,
            None => bail!("`{}` has no release for `{TARGET}`", source.shown()),
        },
    };
    let wanted = version(&release.version)?;
    let mut out = std::io::stdout();
    if wanted == own || (wanted < own && arguments.version.is_none()) {
        let why = if arguments.version.is_some() { "is installed already" } else { "is the newest version" };
        writeln!(out, "{OWN} {why}")?;
        return Ok(ExitCode::SUCCESS);
    }
    if wanted < own && !arguments.yes && !confirm(&wanted)? {
        bail!("the program stays as it is");
    }
    let workplace = program.workplace()?;
    let size = text::bytes(archive.size);
    writeln!(std::io::stderr(), "fetching {} ({size}) from {}", archive.file, source.shown())?;
    let new = workplace.unpack(&source, release, archive, &program).await;
    let new = new.with_context(|| format!("version {wanted} is not installed"))?;
    try_out(&new, &program, Some(&release.version), config, workspace)
        .await
        .with_context(|| format!("version {wanted} is not installed, and {OWN} stays"))?;
    program.replace(&workplace, &new)?;
    verify(&program, &workplace, &release.version, config, workspace).await?;
    writeln!(out, "updated `{}` from {OWN} to {wanted}", program.shown())?;
    writeln!(
        out,
        "the old program is `{}`; `bub-wasm self update --rollback` puts it back",
        text::line(&program.previous().display().to_string())
    )?;
    writeln!(out, "{RUNNING}")?;
    Ok(ExitCode::SUCCESS)
}

/// Said after each exchange.
const RUNNING: &str = "a `serve` or `chat` that is running goes on with the old program until you start it again";

/// The verified index, and where it is.
async fn fetch(config: &Config) -> Result<(Index, Source)> {
    let (update, unset) = (&config.update, "this build names no index of releases");
    let address = update.index.as_deref().or(BUILT_IN_INDEX);
    let address = address.with_context(|| format!("{unset}: set `index` and `key` in `[update]` of config.toml"))?;
    let key = update.key.as_deref().or(BUILT_IN_KEY);
    let key = key.context("there is no key for the index of releases: set `key` in `[update]` of config.toml")?;
    let key: PublicKey = key.parse().context("the key of the index of releases")?;
    let source = Source::open(address, update.timeout()).await?;
    let why = || format!("no update from {}", source.shown());
    let (bytes, signature) = source.index().await.with_context(why)?;
    let index = Index::verified(&bytes, &signature, &key).with_context(why)?;
    index.check_seen(&config.home, &key).with_context(why)?;
    Ok((index, source))
}

async fn check(arguments: &Arguments, config: &Config) -> Result<ExitCode> {
    let (index, source) = fetch(config).await?;
    let newest = index.newest(TARGET);
    let is_newer = match newest {
        Some((release, _)) => version(&release.version)? > version(OWN)?,
        None => false,
    };
    let mut out = std::io::stdout();
    if arguments.json {
        let newest = newest.map(|(release, archive)| {
            json!({ "version": release.version, "date": release.date, "file": archive.file, "size": archive.size })
        });
        writeln!(out, "{:#}", json!({ "version": OWN, "target": TARGET, "newest": newest, "is_newer": is_newer }))?;
        return Ok(ExitCode::SUCCESS);
    }
    match newest {
        None => writeln!(out, "{OWN} is installed; `{}` has no release for `{TARGET}`", source.shown())?,
        Some((release, archive)) if is_newer => writeln!(
            out,
            "{OWN} is installed; {} of {} is newer ({}): bub-wasm self update",
            release.version,
            release.date,
            text::bytes(archive.size)
        )?,
        Some(_) => writeln!(out, "{OWN} is the newest version")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks that a program works here, before it gets this one's place. What it has done to the home by that is undone if it
/// does not.
async fn try_out(
    new: &Path,
    present: &Program,
    expected: Option<&str>,
    config: &Config,
    workspace: &Path,
) -> Result<()> {
    let trial = Trial::new(new, &config.home, workspace);
    let said = trial.version().await?;
    ensure!(expected.is_none_or(|expected| expected == said), "it says that it is version {said}");
    trial.reads_home().await?;
    let before = home_version(&config.home)?;
    let outcome = trial.doctor(&Trial::new(present.path(), &config.home, workspace)).await;
    if outcome.is_err() && home_version(&config.home)? > before {
        // The version above what this program knows must not stay.
        trial.downgrade_home().await?;
    }
    outcome
}

/// Checks that the program at the path is the new one; otherwise the old one is put back.
async fn verify(
    program: &Program,
    workplace: &Workplace,
    expected: &str,
    config: &Config,
    workspace: &Path,
) -> Result<()> {
    let why = match Trial::new(program.path(), &config.home, workspace).version().await {
        Ok(said) if said == expected => return Ok(()),
        Ok(said) => anyhow::anyhow!("it says that it is version {said}"),
        Err(error) => error,
    };
    program.roll_back(workplace)?;
    Err(why.context(format!("version {expected} does not run, and {OWN} was put back")))
}

async fn roll_back(program: &Program, config: &Config, workspace: &Path) -> Result<ExitCode> {
    let workplace = program.workplace()?;
    let previous = program.previous();
    ensure!(
        previous.is_file(),
        "there is no `{}`: only the program before the last update can be put back",
        text::line(&previous.display().to_string())
    );
    let trial = Trial::new(&previous, &config.home, workspace);
    let why = "the previous program is not put back";
    let version = trial.version().await.context(why)?;
    trial.reads_home().await.context(why)?;
    program.roll_back(&workplace)?;
    let mut out = std::io::stdout();
    writeln!(out, "`{}` is version {version} again, and was {OWN}", program.shown())?;
    writeln!(out, "{RUNNING}")?;
    Ok(ExitCode::SUCCESS)
}

fn confirm(wanted: &Version) -> Result<bool> {
    let what = format!("version {wanted} is older than {OWN}");
    ensure!(
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
        "{what}, and there is no terminal to ask whether to go back: give `--yes`"
    );
    let answer = prompt::ask(&format!("{what}; go back? [y/N] "))?;
    Ok(matches!(answer.as_deref().map(str::trim), Some("y" | "Y" | "yes")))
}
