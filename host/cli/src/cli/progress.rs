//! A progress line on stderr while plugins are compiled, at the first start after an installation or an update; on
//! terminals only.

use super::{log, text};
use anyhow::Result;
use bub_config::Config;
use bub_runtime::channel::Channel;
use bub_runtime::host::{Host, StartOptions};
use bub_runtime::plugin::compiling;
use bub_runtime::plugin::compiling::Compiling;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use termimad::crossterm::terminal;

/// The delay before the line is shown: most starts are faster.
const DELAY: Duration = Duration::from_millis(300);

/// The interval of redrawing.
const TICK: Duration = Duration::from_millis(50);

/// [`Host::start_with`] so that all plugins are compiled and checked, with the progress line meanwhile.
///
/// # Errors
///
/// Those of [`Host::start_with`].
pub(super) async fn start(config: Config, workspace: &Path, channel: Box<dyn Channel>) -> Result<Arc<Host>> {
    let _shown = Progress::begin();
    Host::start_with(config, workspace, channel, StartOptions { opens_plugins: true, ..StartOptions::default() }).await
}

/// Shows the line until it is dropped.
pub(super) struct Progress(Option<(mpsc::Sender<()>, JoinHandle<()>)>);

impl Progress {
    pub(super) fn begin() -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if is_dumb || !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let (stop, stopped) = mpsc::channel();
        // Embedded guests are compiled on the thread that starts the host, so another thread draws.
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(move || draw(&stopped));
        Self(thread.ok().map(|thread| (stop, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            // The line must be removed before other output.
            let _ = thread.join();
        }
    }
}

fn draw(stopped: &mpsc::Receiver<()>) {
    let began = Instant::now();
    let mut shown = None;
    while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        let now = compiling::now();
        if began.elapsed() < DELAY || now.plugin.is_none() || shown.as_ref() == Some(&now) {
            continue;
        }
        log::status(Some(&line(&now)));
        shown = Some(now);
    }
    if shown.is_some() {
        log::status(None);
    }
}

/// Fits in one row: a line that wraps could not be removed.
fn line(now: &Compiling) -> String {
    let plugin = now.plugin.as_deref().unwrap_or_default();
    let done = if now.done > 0 { format!(", {} done", now.done) } else { String::new() };
    let line = format!("compiling plugin `{plugin}`{done} (once: the result is kept)");
    let columns = terminal::size().ok().map_or(text::WIDTH, |(columns, _)| usize::from(columns));
    text::cut(&line, if columns == 0 { text::WIDTH } else { columns.min(text::WIDTH) }.saturating_sub(1))
}
