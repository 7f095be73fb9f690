//! Where logs go: to stderr, one line each, or to whoever owns the screen.

use parking_lot::Mutex;
use std::io::{self, Write};
use tokio::sync::mpsc;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Takes the lines while somebody owns the screen.
static REDIRECT: Mutex<Option<mpsc::UnboundedSender<String>>> = Mutex::new(None);

/// A line that stands at the end of stderr for a while: lines of the log are put above it.
static STATUS: Mutex<Option<String>> = Mutex::new(None);

/// Takes the status line away: back to the first column, and everything behind that is cleared.
const CLEAR: &str = "\r\x1b[K";

/// Shows that line at the end of stderr, in the place of the one before; none: takes it away. For terminals only.
pub(super) fn status(line: Option<&str>) {
    let mut status = STATUS.lock();
    let _ = write!(io::stderr(), "{CLEAR}{}", line.unwrap_or_default());
    *status = line.map(str::to_owned);
}

/// How the log is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// A line for people.
    #[default]
    Text,
    /// A JSON object a line, with its time and the turn, hook and plugin that it is about.
    Json,
}

/// Starts logging. `RUST_LOG` says more exactly what `verbose` says: 0 warnings, 1 information, 2 everything.
pub(super) fn start(verbose: u8, format: Format) {
    let level = ["warn", "bub_=info,warn", "bub_=debug,warn"][usize::from(verbose.min(2))];
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(Lines).with_target(false).with_ansi(false);
    match format {
        Format::Text => log.without_time().init(),
        // Whoever reads it has no other clock, and wants to know what a line is about.
        Format::Json => log.json().flatten_event(true).with_current_span(false).with_span_list(true).init(),
    }
}

/// From here on lines go there, where they do not stand in the middle of what is drawn.
pub(super) fn redirect(sender: mpsc::UnboundedSender<String>) {
    *REDIRECT.lock() = Some(sender);
}

/// From here on lines go to stderr again.
pub(super) fn restore() {
    *REDIRECT.lock() = None;
}

/// From here on lines are nobody's, until the answer is dropped: they are about a trial. Whoever has set `RUST_LOG` wants
/// to see them.
pub(super) fn hush() -> Option<mpsc::UnboundedReceiver<String>> {
    if std::env::var_os("RUST_LOG").is_some() {
        return None;
    }
    let (sender, taken) = mpsc::unbounded_channel();
    redirect(sender);
    Some(taken)
}

struct Lines;

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        Self
    }
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let sender = REDIRECT.lock();
        match sender.as_ref() {
            Some(sender) if sender.send(String::from_utf8_lossy(line).into_owned()).is_ok() => Ok(line.len()),
            _ => {
                let status = STATUS.lock();
                match status.as_ref() {
                    Some(status) => {
                        let line = String::from_utf8_lossy(line);
                        write!(io::stderr(), "{CLEAR}{line}{status}")?;
                    }
                    None => io::stderr().write_all(line)?,
                }
                Ok(line.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
