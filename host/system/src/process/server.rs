//! A server that runs, and a handle of it.

use super::error::{Error, Result};
use super::lines::{Lines, LinesEnd, MAX_LINE, Next};
use super::state::{Phase, ProcessState};
use super::terminate::terminate;
use bub_types::text::{clipped, one_line};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::watch;
use tokio::time::timeout;

/// The longest text that a call leaves for others, in bytes.
const MAX_PREPARED: usize = 256 << 10;

/// How long the exit code may take to arrive after the end of the output.
const EXIT_TIME: Duration = Duration::from_millis(300);

/// Characters of a program's standard error that an error quotes.
const MAX_QUOTE: usize = 300;

/// A server between its start and its end.
pub(super) struct Running {
    pub(super) name: String,
    /// None: it is an address.
    program: Option<Program>,
    prepared: watch::Sender<Prepared>,
    /// Whether it was told to end.
    is_over: AtomicBool,
    pub(super) began: Instant,
}

struct Program {
    state: Arc<ProcessState>,
    /// Taken while a line is written: a write that is cut off in the middle closes the pipe.
    input: tokio::sync::Mutex<Option<ChildStdin>>,
    lines: Lines,
}

/// What calls have left for those after them.
#[derive(Clone)]
enum Prepared {
    Nothing,
    /// A call prepares the server.
    Begun,
    Text(Arc<str>),
}

/// A handle of a server. Dropping it does not end the server.
pub struct Server {
    running: Arc<Running>,
    /// The number of the next line.
    at: u64,
    /// Whether this handle prepares the server.
    prepares: bool,
}

impl Running {
    pub(super) fn address(name: &str) -> Self {
        Self::new(name, None)
    }

    pub(super) fn program(name: &str, state: Arc<ProcessState>, input: ChildStdin, lines: Lines) -> Self {
        Self::new(name, Some(Program { state, input: tokio::sync::Mutex::new(Some(input)), lines }))
    }

    fn new(name: &str, program: Option<Program>) -> Self {
        let (name, prepared) = (name.to_owned(), watch::Sender::new(Prepared::Nothing));
        Self { name, program, prepared, is_over: AtomicBool::new(false), began: Instant::now() }
    }

    /// Whether it takes calls.
    pub(super) fn is_alive(&self) -> bool {
        let runs = |program: &Program| *program.state.phase.borrow() == Phase::Running;
        !self.is_over.load(Ordering::Acquire) && self.program.as_ref().is_none_or(runs)
    }

    /// Ends it, without waiting for its end.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(program) = &self.program {
            tokio::spawn(terminate(vec![Arc::clone(&program.state)]));
        }
    }

    fn program_of(&self) -> Result<&Program> {
        self.program.as_ref().ok_or_else(|| {
            Error::InvalidInput(format!(
                "the server `{}` is an address: it has no standard input and output",
                self.name
            ))
        })
    }

    /// The error of a program that has ended, with the end of what it wrote to its standard error.
    async fn ended(&self, program: &Program) -> Error {
        let mut phase = program.state.phase.subscribe();
        let exited = async { phase.wait_for(|phase| phase.exit_code().is_some()).await.ok()?.exit_code() };
        let code = timeout(EXIT_TIME, exited).await.ok().flatten();
        let how = match code {
            Some(code) if code < 0 => format!("was ended by signal {}", -code),
            Some(code) => format!("ended with code {code}"),
            None => "closed its standard output".to_owned(),
        };
        let written = one_line(&program.state.read(0, usize::MAX).0.text);
        let skipped = written.chars().count().saturating_sub(MAX_QUOTE);
        let last: String = written.chars().skip(skipped).collect();
        let quote = if last.is_empty() { String::new() } else { format!("; it wrote: {last}") };
        self.end();
        Error::Ended(format!("the server `{}` {how}{quote}", self.name))
    }
}

impl Server {
    pub(super) fn new(running: Arc<Running>) -> Self {
        let at = running.program.as_ref().map_or(0, |program| program.lines.count());
        Self { running, at, prepares: false }
    }

    /// Its name in the configuration.
    pub fn name(&self) -> &str {
        &self.running.name
    }

    /// The text that another call has left; `None`: this handle prepares the server, and others wait until it does so or
    /// is dropped.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if another call takes longer than `patience`.
    pub async fn prepare(&mut self, patience: Duration) -> Result<Option<Arc<str>>> {
        let mut prepared = self.running.prepared.subscribe();
        let attempt = async {
            loop {
                let mut found = None;
                self.running.prepared.send_if_modified(|now| {
                    found = Some(now.clone());
                    let begins = matches!(now, Prepared::Nothing);
                    if begins {
                        *now = Prepared::Begun;
                    }
                    begins
                });
                match found {
                    Some(Prepared::Text(text)) => return Some(text),
                    Some(Prepared::Begun) => {
                        // The sender lives as long as the server.
                        let _ = prepared.wait_for(|now| !matches!(now, Prepared::Begun)).await.map(drop);
                    }
                    Some(Prepared::Nothing) | None => return None,
                }
            }
        };
        let Ok(text) = timeout(patience, attempt).await else {
            let name = self.name();
            return Err(Error::Busy(format!("another call is still preparing the server `{name}`; try again later")));
        };
        self.prepares = text.is_none();
        Ok(text)
    }

    /// Leaves a text for other calls.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidInput`] if it is longer than 256 KiB.
    pub fn set_prepared(&mut self, text: &str) -> Result<()> {
        if text.len() > MAX_PREPARED {
            return Err(Error::InvalidInput(format!("a text of {} bytes is too long to be kept", text.len())));
        }
        self.prepares = false;
        self.running.prepared.send_replace(Prepared::Text(text.into()));
        Ok(())
    }

    /// Writes a line, and reads what the program writes meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::Ended`] if the program has ended, or does not read in time: it then gets no more. [`Error::InvalidInput`]
    /// for a line with a line end in it.
    pub async fn write_line(&mut self, line: &str, patience: Duration) -> Result<()> {
        let running = Arc::clone(&self.running);
        let program = running.program_of()?;
        if line.contains('\n') || line.len() > MAX_LINE {
            return Err(Error::InvalidInput("a line is at most 4 MiB long, and has no line end in it".to_owned()));
        }
        let write = async {
            let mut slot = program.input.lock().await;
            // A program that has closed its input has ended, for all that matters here.
            let Some(mut input) = slot.take() else { return false };
            let written = async {
                input.write_all(line.as_bytes()).await?;
                input.write_all(b"\n").await?;
                input.flush().await
            };
            let is_written = written.await.is_ok();
            if is_written {
                *slot = Some(input);
            }
            is_written
        };
        let write = async {
            tokio::select! {
                biased;
                is_written = write => is_written,
                () = program.lines.pump() => false,
            }
        };
        match timeout(patience, write).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(running.ended(program).await),
            Err(_) => {
                running.end();
                Err(Error::Ended(format!("the server `{}` does not read its standard input", running.name)))
            }
        }
    }

    /// The next line since the handle was opened; `None` if none came in time.
    ///
    /// # Errors
    ///
    /// [`Error::Ended`] if the program has ended; [`Error::Flooded`] if it wrote a line that is too long, which ends it, or
    /// more than this handle has read.
    pub async fn read_line(&mut self, patience: Duration) -> Result<Option<Arc<str>>> {
        let running = Arc::clone(&self.running);
        let program = running.program_of()?;
        let Ok(next) = timeout(patience, program.lines.get(self.at)).await else { return Ok(None) };
        match next {
            Next::Line(line) => {
                self.at += 1;
                Ok(Some(line))
            }
            Next::Lost(lines) => {
                self.at += lines;
                let name = self.name();
                Err(Error::Flooded(format!(
                    "the server `{name}` writes faster than it is read: {lines} lines are lost"
                )))
            }
            Next::Ended(LinesEnd::Closed) => Err(running.ended(program).await),
            Next::Ended(LinesEnd::TooLong) => {
                running.end();
                let (name, most) = (self.name(), MAX_LINE >> 20);
                Err(Error::Flooded(format!("the server `{name}` wrote a line of more than {most} MiB, and was ended")))
            }
        }
    }

    /// Ends the server, and forgets what was prepared.
    pub fn reset(&mut self) {
        self.prepares = false;
        self.running.end();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.prepares {
            self.running.prepared.send_replace(Prepared::Nothing);
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("name", &clipped(self.name(), 40)).finish_non_exhaustive()
    }
}
