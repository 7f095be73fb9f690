//! `replay`: makes the calls of recorded turns again, with nothing reaching outside, and compares what comes out.

mod compare;
mod components;
mod list;
mod live;
pub(super) mod new_version;
mod play;
mod stage;
mod turn;
mod with;

use super::{log, text};
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_recordings::{Listed, RecordingHeader, Store};
use bub_runtime::plugin;
use bub_types::text::one_line;
use components::Components;
use live::Live;
use serde_json::{Value, json};
use stage::Stages;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use turn::Verdict;

/// Turns that are made again at once, at most.
const MAX_TURNS: usize = 100_000;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Name of the recording as `--list` shows it, a part of it, or the id of a model call
    #[arg(conflicts_with_all = ["turns", "session", "list"])]
    turn: Option<String>,
    /// Make the latest N recorded turns again [default: 1]
    #[arg(long, value_name = "N")]
    turns: Option<usize>,
    /// Take only turns of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Put another version of a plugin in, and show what would have been otherwise
    #[arg(long, value_name = "PLUGIN=FILE", conflicts_with = "list")]
    with: Vec<String>,
    /// Ask the configured model what was not asked then; each such call costs what a model call costs
    #[arg(long, requires = "with")]
    live: bool,
    /// Ask it at most N times
    #[arg(long, value_name = "N", default_value_t = 20, requires = "live")]
    live_calls: usize,
    /// List the recorded turns, and make none again
    #[arg(long)]
    list: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let store = Store::new(config.recordings_dir());
    if arguments.list {
        return list::run(&store, arguments.session.as_deref(), arguments.turns, arguments.json);
    }
    let recordings = chosen(&store, arguments)?;
    let exchanged = exchanged(&arguments.with)?;
    let live = arguments.live.then(|| Live::new(&config, arguments.live_calls)).transpose()?;
    let mut stages = Stages::new(&config, Components::find(&config, workspace), exchanged);
    let hush = log::mute();
    if !arguments.with.is_empty() {
        return replay_with(&mut stages, &recordings, live.as_ref(), arguments.json).await;
    }
    let mut out = std::io::stdout().lock();
    let (mut shown, mut failed) = (Vec::new(), 0);
    for recording in &recordings {
        let verdict = turn::replay(&mut stages, recording).await;
        failed += usize::from(!verdict.is_identical());
        match arguments.json {
            true => shown.push(verdict.to_json(recording)),
            false => writeln!(out, "{}", verdict.line(recording))?,
        }
    }
    stages.close().await;
    drop(hush);
    if arguments.json {
        writeln!(out, "{}", text::json(&json!({ "turns": shown })))?;
    } else if recordings.len() > 1 {
        let identical = recordings.len() - failed;
        writeln!(out, "{identical} of {} identical", text::count(recordings.len() as u64, "turn", "turns"))?;
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Makes the turns again with other versions of plugins, and prints what would have been otherwise.
async fn replay_with(
    stages: &mut Stages<'_>,
    recordings: &[Listed],
    live: Option<&Live>,
    as_json: bool,
) -> Result<ExitCode> {
    let all = with::replay_all(stages, recordings, live).await;
    let mut out = std::io::stdout().lock();
    match as_json {
        true => {
            let turns: Vec<Value> = all.iter().map(|(listed, changes)| changes.to_json(listed)).collect();
            let live = live.map(Live::to_json);
            writeln!(out, "{}", text::json(&json!({ "turns": turns, "live": live })))?;
        }
        false => {
            with::print(&mut out, &all)?;
            if let Some(live) = live {
                writeln!(out, "{live}")?;
            }
        }
    }
    let is_same = all.iter().all(|(_, changes)| changes.is_empty());
    Ok(if is_same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The components that are put in, by the names of their plugins.
fn exchanged(with: &[String]) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut exchanged = BTreeMap::new();
    for with in with {
        let shown = one_line(with);
        let (name, file) = with
            .split_once('=')
            .with_context(|| format!("`{shown}` names no plugin and no file: --with PLUGIN=FILE"))?;
        bub_types::plugin_name::check_name(name)
            .with_context(|| format!("`{shown}` does not begin with a plugin's name"))?;
        let bytes = plugin::bytes_of(Path::new(file)).with_context(|| format!("`{}`", one_line(file)))?;
        exchanged.insert(name.to_owned(), bytes);
    }
    Ok(exchanged)
}

/// The recordings that the user names, the oldest first.
fn chosen(store: &Store, arguments: &Arguments) -> Result<Vec<Listed>> {
    if let Some(named) = &arguments.turn {
        return Ok(vec![store.find(&one_line(named))?]);
    }
    let count = arguments.turns.unwrap_or(1).min(MAX_TURNS);
    let mut found = of_session(store, arguments.session.as_deref());
    if found.is_empty() {
        match &arguments.session {
            Some(session) => bail!("no turn of session `{}` is recorded", one_line(session)),
            None => bail!("no turn is recorded: `record = \"all\"` in config.toml records those that follow"),
        }
    }
    found.drain(..found.len().saturating_sub(count));
    Ok(found)
}

/// The recordings of a session, or all; the oldest first.
fn of_session(store: &Store, session: Option<&str>) -> Vec<Listed> {
    let mut found = store.list(None);
    if let Some(session) = session {
        found.retain(|recording| {
            RecordingHeader::read(&recording.file).is_ok_and(|header| header.manifest.session == session)
        });
    }
    found
}

impl Verdict {
    fn to_json(&self, recording: &Listed) -> Value {
        json!({
            "turn": recording.name,
            "session": self.session,
            "outcome": self.outcome(),
            "calls": self.calls,
            "differences": self.differences.iter().map(|difference| difference.to_json()).collect::<Vec<_>>(),
            "problems": self.problems,
        })
    }

    /// One line for people.
    fn line(&self, recording: &Listed) -> String {
        let calls = text::count(self.calls as u64, "call", "calls");
        let name = &recording.name;
        match (self.differences.first(), self.problems.first()) {
            (Some(first), _) => format!("{name}  differs: {first}"),
            (None, Some(first)) => {
                let more = match self.problems.len() - 1 {
                    0 => String::new(),
                    more => format!(" (and {more} more)"),
                };
                let same = text::count(self.same as u64, "call is", "calls are");
                format!("{name}  not replayable: {first}{more}; {same} identical")
            }
            (None, None) => format!("{name}  identical  ({calls})"),
        }
    }
}
