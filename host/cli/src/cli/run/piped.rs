//! Reads standard input beside the message.
//!
//! With `-` it is read to its end. Without it, a file is read to its end; a pipe too, if its first bytes or its end arrive
//! within [`FIRST_BYTE_TIMEOUT`], and otherwise it is skipped with a notice; nothing else is read.

use anyhow::{Context, Result, bail};
use std::io::{IsTerminal, Read, stdin};
use std::os::fd::AsFd;
use std::sync::mpsc;
use std::time::Duration;

/// How long to wait for the first byte of a pipe without `-`.
pub(super) const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(1);

/// The longest text that is read, in bytes.
const MAX_TEXT: usize = 1 << 20;

/// The text on standard input, if there is one. `waits`: `-` was given.
///
/// # Errors
///
/// It cannot be read, is too long, or is not text.
pub(super) fn read(waits: bool) -> Result<Option<String>> {
    let bytes = match (waits, Kind::of_stdin()) {
        (true, _) => all(Vec::new())?,
        (false, Kind::File) => all(Vec::new())?,
        (false, Kind::Pipe) => match first()? {
            Some(first) => all(first)?,
            None => return Ok(None),
        },
        (false, Kind::Other) => return Ok(None),
    };
    let text = String::from_utf8(bytes).ok().context("standard input is not text: attach a file by `--attach FILE`")?;
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

enum Kind {
    File,
    Pipe,
    /// A terminal, `/dev/null`, or closed.
    Other,
}

impl Kind {
    fn of_stdin() -> Self {
        use rustix::fs::{FileType, fstat};
        if stdin().is_terminal() {
            return Self::Other;
        }
        match fstat(stdin().as_fd()).map(|about| FileType::from_raw_mode(about.st_mode)) {
            Ok(FileType::RegularFile) => Self::File,
            Ok(FileType::Fifo | FileType::Socket) => Self::Pipe,
            _ => Self::Other,
        }
    }
}

/// The first bytes of a pipe, empty at its end; `None` if neither arrives in time.
fn first() -> Result<Option<Vec<u8>>> {
    let (sender, read) = mpsc::channel();
    // The thread may block for ever; it ends with the process.
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut bytes = vec![0; 64 << 10];
        let _ = sender.send(stdin().lock().read(&mut bytes).map(|length| {
            bytes.truncate(length);
            bytes
        }));
    })?;
    match read.recv_timeout(FIRST_BYTE_TIMEOUT) {
        Ok(first) => first.map(Some).context("standard input cannot be read"),
        Err(_) => {
            let seconds = FIRST_BYTE_TIMEOUT.as_secs();
            tracing::warn!(
                "nothing came on standard input within {seconds} s, so it is ignored: `-` after the message waits for it"
            );
            Ok(None)
        }
    }
}

/// Appends the rest.
fn all(mut bytes: Vec<u8>) -> Result<Vec<u8>> {
    let rest = (MAX_TEXT + 1).saturating_sub(bytes.len()) as u64;
    stdin().lock().take(rest).read_to_end(&mut bytes).context("standard input cannot be read")?;
    if bytes.len() > MAX_TEXT {
        bail!("standard input holds more than 1 MiB: send less of it, or name a file that the agent can read");
    }
    Ok(bytes)
}
