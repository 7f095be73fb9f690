//! The log: lines on stderr, or to the owner of the screen.

use parking_lot::Mutex;
use std::fmt;
use std::io::{self, Write};
use tokio::sync::mpsc;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// Receives the lines while another component owns the screen.
static REDIRECT: Mutex<Option<mpsc::UnboundedSender<String>>> = Mutex::new(None);

/// The status line at the end of stderr: lines of the log are printed above it.
static STATUS: Mutex<Option<String>> = Mutex::new(None);

/// Clears the status line: back to the first column, and to the end of the screen.
const CLEAR: &str = "\r\x1b[K";

/// Shows a status line at the end of stderr; `None` removes it. For terminals only.
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

/// The levels of the log: warnings, information, everything. A connection to a database that ends is reported by the
/// component that needed it, and an error that an MCP client gets is the client's to report.
const LEVELS: [&str; 3] =
    ["deadpool=error,rmcp=error,warn", "bub_=info,deadpool=error,rmcp=error,warn", "bub_=debug,rmcp=error,warn"];

/// Starts logging. `verbose`: 0 warnings, 1 information, 2 everything; `RUST_LOG` overrides it. `has_page`: lines are kept
/// for the page of `serve` too, information included.
pub(super) fn start(verbose: u8, format: Format, has_page: bool) {
    let level = LEVELS[usize::from(verbose.min(2))];
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let lines = tracing_subscriber::fmt::layer().with_writer(Lines).with_target(false).with_ansi(false);
    let lines = match format {
        Format::Text => lines.without_time().map_event_format(WithTrace::text).boxed(),
        // JSON is read by programs, which need the time and the context of a line.
        Format::Json => {
            let lines = lines.json().flatten_event(true).with_current_span(false).with_span_list(true);
            lines.map_event_format(WithTrace::json).boxed()
        }
    };
    let page = has_page.then(|| {
        let level = LEVELS[usize::from(verbose.clamp(1, 2))];
        bub_server::LogLayer.with_filter(EnvFilter::new(level))
    });
    let log = tracing_subscriber::registry().with(lines.with_filter(filter)).with(page);
    #[cfg(feature = "otel")]
    let log = bub_telemetry::subscriber(log);
    log.init();
}

/// Adds the trace and the span to a line, while they are exported.
struct WithTrace<F> {
    format: F,
    is_json: bool,
}

impl<F> WithTrace<F> {
    fn text(format: F) -> Self {
        Self { format, is_json: false }
    }

    fn json(format: F) -> Self {
        Self { format, is_json: true }
    }
}

impl<S, N, F> FormatEvent<S, N> for WithTrace<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let Some(span) = bub_telemetry::current() else { return self.format.format_event(context, to, event) };
        let mut line = String::new();
        self.format.format_event(context, Writer::new(&mut line), event)?;
        let (trace, span) = (span.trace_id, span.span_id);
        match (self.is_json, line.strip_prefix('{')) {
            (true, Some(rest)) => write!(to, "{{\"trace_id\":\"{trace:032x}\",\"span_id\":\"{span:016x}\",{rest}"),
            _ => writeln!(to, "{} trace_id={trace:032x} span_id={span:016x}", line.trim_end_matches('\n')),
        }
    }
}

/// Redirects lines to a receiver, so that they do not disturb what is drawn.
pub(super) fn redirect(sender: mpsc::UnboundedSender<String>) {
    *REDIRECT.lock() = Some(sender);
}

/// Writes lines to stderr again.
pub(super) fn restore() {
    *REDIRECT.lock() = None;
}

/// Discards lines until the returned receiver is dropped, for a trial. With `RUST_LOG`, they are shown.
pub(super) fn mute() -> Option<mpsc::UnboundedReceiver<String>> {
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
