//! `plugin dev`: builds, loads and checks a plugin whenever its sources change, and shows each call into it.
//!
//! A build is put into the home like any plugin, so a running `chat` or `serve` uses it from its next turn on. Their
//! calls are read from the call log, which they write while this command listens. A message that is typed here is a
//! turn of its own, by `bub-wasm run`.

mod load;
mod screen;
mod sources;

use super::grant_prompt::GrantOptions;
use super::project::{self, Project};
use super::test::commands;
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_runtime::channel::Printer;
use bub_runtime::host::Host;
use bub_runtime::plugin::CallLogReader;
use bub_types::text::one_line;
use load::Loader;
use screen::Screen;
use sources::Sources;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

/// How often sources and calls are looked at.
const INTERVAL: Duration = Duration::from_millis(200);

/// Lines of the output of a build that failed.
const MAX_LINES: usize = 40;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Directory of the project, with its `bub-plugin.toml`
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    #[command(flatten)]
    grant_options: GrantOptions,
}

pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let Arguments { dir, grant_options } = arguments;
    let choice = grant_options.parse()?;
    let project = Project::read(&dir)?;
    let missing = project::missing_programs(&project);
    if !missing.is_empty() {
        bail!("{}", missing.join("; "));
    }
    let name = project.name.clone();
    let calls = CallLogReader::listen(&config.home, &name);
    let mut calls = calls.with_context(|| format!("the calls of plugin `{name}` cannot be shown"))?;
    let turns = Turns { name: name.clone(), home: config.home.clone(), workspace: workspace.to_owned() };
    // Other plugins are compiled by the turns that call them.
    let host = Host::start(config, workspace, Box::new(Printer)).await?;
    // The grants and the configuration may change meanwhile.
    let _watch = host.watch();
    let screen = Screen::new();
    let mut loader = Loader::new(host, choice, screen);
    let mut sources = Sources::new(&project);
    screen.note(format!("watching {} files of plugin `{name}`; Ctrl-C ends it", sources.count()))?;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let (mut reads, mut is_due, mut turn) = (true, true, None::<Child>);
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut ticks = tokio::time::interval(INTERVAL);
    let mut is_first = true;
    loop {
        if std::mem::take(&mut is_due) {
            tokio::select! {
                ended = build(&project, &mut loader, screen) => ended?,
                _ = interrupt.recv() => break,
                _ = terminate.recv() => break,
            }
            is_due = sources.have_changed_in_build();
            if std::mem::take(&mut is_first) {
                screen.note("a message that you type here is a turn")?;
            }
        }
        tokio::select! {
            _ = ticks.tick() => {
                is_due |= sources.have_changed();
                // A question of the turn must not be torn apart.
                if turn.is_none() {
                    calls.read()?.iter().try_for_each(|line| screen.of_call_log(line))?;
                }
            }
            line = lines.next_line(), if reads && turn.is_none() => match line? {
                Some(line) if line.trim().is_empty() => {}
                Some(line) => turn = Some(turns.begin(&line)?),
                None if std::io::stdin().is_terminal() => break,
                None => reads = false,
            },
            ended = wait(&mut turn) => {
                ended?;
                turn = None;
                calls.read()?.iter().try_for_each(|line| screen.of_call_log(line))?;
            }
            // The terminal interrupts the turn, if there is one.
            _ = interrupt.recv(), if turn.is_none() => break,
            _ = terminate.recv() => break,
        }
    }
    let command = format!("bub-wasm plugin remove {name}");
    screen.note(format!("the last build stays, with grants for any build of that name; to remove both: {command}"))?;
    Ok(ExitCode::SUCCESS)
}

async fn wait(turn: &mut Option<Child>) -> Result<()> {
    match turn {
        Some(turn) => Ok(turn.wait().await.map(drop)?),
        None => std::future::pending().await,
    }
}

/// Runs the commands of the build, and loads what they made.
async fn build(project: &Project, loader: &mut Loader, screen: Screen) -> Result<()> {
    let begun = Instant::now();
    for command in &project.build {
        let shown = one_line(command);
        screen.step("build", &shown)?;
        let (dir, owned) = (project.dir.clone(), command.clone());
        let ended = tokio::task::spawn_blocking(move || commands::run(&dir, &owned)).await?;
        match ended {
            Ok(None) => {}
            Ok(Some(failure)) => {
                let what = format!("{}; {}", failure.why, loader.state());
                return screen.failed("failed", what, &failure.last_lines(MAX_LINES));
            }
            Err(error) => return screen.failed("failed", format!("{shown}: {error}"), &[]),
        }
    }
    loader.load(project, begun.elapsed()).await
}

/// Turns by messages that are typed.
struct Turns {
    name: String,
    home: PathBuf,
    workspace: PathBuf,
}

impl Turns {
    /// Begins a turn in the plugin's own session.
    fn begin(&self, message: &str) -> Result<Child> {
        let mut command = Command::new(std::env::current_exe().context("the program's own file is not found")?);
        command.arg("--home").arg(&self.home).arg("--workspace").arg(&self.workspace);
        command.args(["run", "--session-id", &format!("dev:{}", self.name), "--", message]);
        // Piped input belongs to this command.
        command.stdin(if std::io::stdin().is_terminal() { Stdio::inherit() } else { Stdio::null() });
        command.kill_on_drop(true).spawn().context("a turn cannot be begun")
    }
}
