//! `plugin record`: runs turns, and keeps the calls of one plugin in them as files for `plugin test`.

use super::fixtures;
use super::project::{self, Project};
use crate::cli::approval::Approval;
use crate::cli::progress;
use crate::cli::text;
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_permissions::shell_word;
use bub_runtime::channel::{Printer, kind_of, message};
use bub_runtime::host::Host;
use bub_runtime::plugin::grant_command;
use bub_runtime::plugin::recording::{Recorded, RecordedCall, Recorder};
use bub_runtime::turn::{TurnOptions, run_turn};
use bub_types::text::one_line;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc;
use tokio::sync::watch;

/// The longest message that is read from standard input, in bytes.
const MAX_LINE: usize = 1 << 20;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The plugin's name
    name: String,
    /// Messages to the agent, each a turn; without any, each line of standard input is one
    message: Vec<String>,
    /// Folder of the recorded calls [default: that of the plugin's project in the current directory, else `fixtures`]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Session of the turns
    #[arg(long, value_name = "ID", default_value = "cli:record")]
    session: String,
    #[command(flatten)]
    approval: Approval,
}

pub(super) async fn run(arguments: Arguments, mut config: Config, workspace: &Path) -> Result<ExitCode> {
    let Arguments { name, message, into, session, approval } = arguments;
    let folder = into.map_or_else(|| folder_of(&name), Ok)?;
    config.make_home()?;
    approval.apply(&mut config);
    let host = progress::start(config, workspace, Box::new(Printer)).await?;
    // An unknown name is an error before anything is asked.
    super::find(&host.plugins(), &name).map_err(|error| match artifact_of(&name) {
        Some(artifact) => anyhow::anyhow!("{error:#}; to add that of this project: bub-wasm plugin add {artifact}"),
        None => error,
    })?;
    fs::create_dir_all(&folder)
        .with_context(|| format!("`{}` cannot be made", one_line(&folder.display().to_string())))?;
    let (sender, calls) = mpsc::channel();
    host.recordings.record(Recorder::new(&name, sender));
    let mut keeper = Keeper::new(&host, &folder)?;
    let mut failed = 0;
    for message in messages(message) {
        failed += u64::from(!turn(&host, &session, &message?).await);
        host.rest().await;
        keeper.keep(calls.try_iter())?;
    }
    host.close().await;
    keeper.keep(calls.try_iter())?;
    keeper.report(&name)?;
    Ok(if failed == 0 && keeper.kept > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The folder of the project in the current directory, if it is that plugin's.
fn folder_of(name: &str) -> Result<PathBuf> {
    let here = Path::new(".");
    if !here.join(project::FILE).exists() {
        return Ok(PathBuf::from("fixtures"));
    }
    let project = Project::read(here)?;
    if project.name != name {
        bail!("the project here is that of plugin `{}`; --into names a folder for the calls of `{name}`", project.name);
    }
    let folder = project.fixtures();
    Ok(folder.strip_prefix(here).unwrap_or(&folder).to_owned())
}

/// The component of the project in the current directory, if it is that plugin's.
fn artifact_of(name: &str) -> Option<String> {
    let project = Project::read(Path::new(".")).ok().filter(|project| project.name == name)?;
    Some(shell_word(&project.relative_artifact().to_string_lossy()))
}

/// The messages of the command line, or the lines of standard input.
fn messages(given: Vec<String>) -> Box<dyn Iterator<Item = Result<String>>> {
    if !given.is_empty() {
        return Box::new(given.into_iter().map(Ok));
    }
    if std::io::stdin().is_terminal() {
        eprintln!("each line is a message; the end of the input (Ctrl-D) ends the recording");
    }
    let lines = std::io::stdin().lock().lines().map(|line| {
        let line = line.context("standard input")?;
        if line.len() > MAX_LINE {
            bail!("a line of standard input is longer than {} MiB", MAX_LINE >> 20);
        }
        Ok(line)
    });
    Box::new(lines.filter(|line| !line.as_ref().is_ok_and(|line| line.trim().is_empty())))
}

/// Runs a turn. Returns whether it has succeeded.
async fn turn(host: &Arc<Host>, session: &str, content: &str) -> bool {
    let kind = kind_of(host.config.commands("cli"), content);
    let message = message(Some(session.to_owned()), ["cli", "record", "human"], content, kind);
    let (_open, cancel) = watch::channel(false);
    // Its error is on stderr already, as that of `run`.
    run_turn(host, message, TurnOptions::new(cancel)).await.is_ok()
}

/// Writes the calls.
struct Keeper<'a> {
    host: &'a Host,
    folder: &'a Path,
    /// Calls that are already recorded: a call is kept once.
    known: BTreeSet<String>,
    kept: u64,
    /// Why calls were not kept, and how many.
    left: BTreeMap<String, u64>,
}

impl<'a> Keeper<'a> {
    fn new(host: &'a Host, folder: &'a Path) -> Result<Self> {
        let files = fixtures::list(folder)?;
        let read = |file: &PathBuf| serde_json::from_slice::<RecordedCall>(&fs::read(file).ok()?).ok();
        let known = files.iter().filter_map(read).map(|call| fixtures::outcome(&call)).collect();
        Ok(Self { host, folder, known, kept: 0, left: BTreeMap::new() })
    }

    fn keep(&mut self, calls: impl Iterator<Item = Recorded>) -> Result<()> {
        let mut out = std::io::stdout().lock();
        for recorded in calls {
            let reason = match recorded {
                Err((call, reason)) => Some(format!("`{}`: {}", one_line(&call), one_line(&reason))),
                Ok(call) => match fixtures::can_play(&call.call) {
                    Err(reason) => Some(reason),
                    Ok(()) => self.write(&call, &mut out)?,
                },
            };
            if let Some(reason) = reason {
                *self.left.entry(reason).or_default() += 1;
            }
        }
        Ok(())
    }

    /// Writes a call. Returns why it was not written, if it was not.
    fn write(&mut self, call: &RecordedCall, out: &mut impl Write) -> Result<Option<String>> {
        let redact = |text: &str| self.host.config.redact(text);
        let text = fixtures::text(call, redact);
        let Ok(redacted) = serde_json::from_str::<RecordedCall>(&text) else {
            return Ok(Some(format!("`{}`: a secret stands where it cannot be replaced", call.call)));
        };
        if !self.known.insert(fixtures::outcome(&redacted)) {
            return Ok(Some(format!("`{}`: the same call is recorded already", call.call)));
        }
        let file = fixtures::free_name(self.folder, call);
        fixtures::write(&file, &text)?;
        self.kept += 1;
        let imports = text::count(call.imports.len() as u64, "call of the host", "calls of the host");
        let broken = call.fault.as_ref().map(|fault| format!(", ended by a fault: {}", one_line(fault)));
        writeln!(out, "{}: {imports}{}", one_line(&file.display().to_string()), broken.unwrap_or_default())?;
        Ok(None)
    }

    /// The advice if no call was recorded.
    fn advice(&self, name: &str) -> String {
        let plugins = self.host.plugins();
        let plugin = plugins.iter().find(|plugin| plugin.name == name);
        match plugin.map(|plugin| self.host.grants.missing(plugin)) {
            Some(missing) if !missing.is_empty() => {
                format!("it does not hold all that it asks for; to give it: {}", grant_command(name, &missing))
            }
            _ => format!("send a message that leads to one; what it does: bub-wasm plugin inspect {name}"),
        }
    }

    fn report(&self, name: &str) -> Result<()> {
        let mut out = std::io::stdout().lock();
        for (reason, times) in &self.left {
            writeln!(out, "not recorded: {reason} ({})", text::count(*times, "call", "calls"))?;
        }
        let folder = shell_word(&self.folder.to_string_lossy());
        match self.kept {
            0 => writeln!(out, "no call of plugin `{name}` was recorded: {}", self.advice(name))?,
            kept => writeln!(
                out,
                "{} recorded in {folder}; to run them: bub-wasm plugin test",
                text::count(kept, "call", "calls")
            )?,
        }
        Ok(())
    }
}
