//! `blame`: who wrote which part of a model request.

mod print;

pub(super) use print::print;

use super::{tape, text};
use anyhow::{Context, Result, anyhow, bail};
use bub_blame::{RequestTrail, TrailSink};
use bub_config::Config;
use bub_recordings::{Recording, Store};
use bub_runtime::turn::TRAILS;
use parking_lot::Mutex;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// The longest trail that is read, in bytes, and the most of one file.
const MAX_TRAIL: u64 = 256 << 20;
const MAX_TRAILS: usize = 4_096;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Turn whose requests were recorded [default: the next request of the session]
    #[arg(value_name = "TURN", conflicts_with_all = ["session", "selector", "prompt"])]
    turn: Option<String>,
    /// Session of this workspace whose next request is shown [default: cli:local]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Use this selector instead of the configured one
    #[arg(long, value_name = "NAME")]
    selector: Option<String>,
    /// Next message of the user
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Read the trails of requests from a file, one JSON object a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["turn", "session", "selector", "prompt"])]
    file: Option<PathBuf>,
    /// Print JSON: of each request its body, spans and sources
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let Arguments { turn, session, selector, prompt, file, json } = arguments;
    let trails = match (turn, file) {
        (Some(turn), _) => of_turn(&config, &turn)?,
        (None, Some(file)) => of_file(&file)?,
        (None, None) => {
            let next = tape::blame((session.as_deref(), selector, prompt), json, config, workspace);
            return Box::pin(next).await;
        }
    };
    print(&mut io::stdout().lock(), &trails, json)?;
    Ok(ExitCode::SUCCESS)
}

/// Adds trails to a file that the user alone may read: it holds conversations.
///
/// # Errors
///
/// The file cannot be written.
pub(super) fn to_file(path: &Path) -> Result<TrailSink> {
    let shown = text::line(&path.to_string_lossy());
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    let file = Mutex::new(file.with_context(|| format!("`{shown}` cannot be written"))?);
    Ok(Arc::new(move |trail: RequestTrail| {
        let line = serde_json::to_string(&trail).map(|line| line + "\n").map_err(io::Error::from);
        // In one write, so that two programs can add to one file.
        if let Err(error) = line.and_then(|line| file.lock().write_all(line.as_bytes())) {
            tracing::warn!("how a request was made is not in `{shown}`: {error}");
        }
    }))
}

/// The trails of a turn that was recorded.
fn of_turn(config: &Config, turn: &str) -> Result<Vec<RequestTrail>> {
    let shown = text::line(turn);
    let listed = Store::new(config.recordings_dir()).find(&shown).with_context(|| {
        format!("no recording of turn `{shown}`; without a turn `bub-wasm blame` shows the next request of the session")
    })?;
    let wrong = || format!("the recording of turn `{shown}` cannot be used");
    let recording = Recording::read(&listed.file).map_err(|problem| anyhow!("{problem}")).with_context(wrong)?;
    let mut trails = Vec::new();
    for name in recording.manifest.objects.keys().filter(|name| name.starts_with(TRAILS)) {
        let trail = recording.object(name).context("a request is missing from it").with_context(wrong)?;
        trails.push(RequestTrail::parse(&trail.to_string()).map_err(anyhow::Error::msg).with_context(wrong)?);
    }
    if trails.is_empty() {
        bail!("turn `{shown}` has asked no model");
    }
    Ok(trails)
}

fn of_file(path: &Path) -> Result<Vec<RequestTrail>> {
    let shown = text::line(&path.to_string_lossy());
    let file = File::open(path).with_context(|| format!("`{shown}` cannot be read"))?;
    let mut lines = BufReader::new(file);
    let mut trails = Vec::new();
    loop {
        let (mut line, number) = (Vec::new(), trails.len() + 1);
        let read = (&mut lines).take(MAX_TRAIL).read_until(b'\n', &mut line);
        if read.with_context(|| format!("`{shown}` cannot be read"))? == 0 {
            break;
        }
        if line.len() as u64 >= MAX_TRAIL || trails.len() >= MAX_TRAILS {
            bail!("`{shown}` holds more than {MAX_TRAILS} trails, or one of more than {MAX_TRAIL} bytes");
        }
        let line = String::from_utf8_lossy(&line);
        trails.push(RequestTrail::parse(&line).map_err(|why| anyhow::anyhow!("line {number} of `{shown}`: {why}"))?);
    }
    if trails.is_empty() {
        bail!("`{shown}` holds no trail");
    }
    Ok(trails)
}
