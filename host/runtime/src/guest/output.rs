//! The stdout and stderr of a guest: the end of it is kept for the crash report, and its lines go to the log, under the
//! plugin's name.

use crate::host::Host;
use crate::plugin::Plugin;
use bub_types::text::one_line;
use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;
use tracing::Level;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// Bytes that are kept of a call: a traceback is behind everything else, and the message at its end.
const KEPT: usize = 8 << 10;

/// Bytes of one call that go to the log, and of one line of it.
const LOGGED: usize = 16 << 10;
const LINE: usize = 2 << 10;

/// The output of the guest of one call.
#[derive(Clone)]
pub struct Output(Arc<Mutex<Written>>);

/// The same, as the guest has it.
struct Pipe(Output);

struct Written {
    host: Arc<Host>,
    plugin: Arc<Plugin>,
    /// The last bytes.
    kept: Vec<u8>,
    /// Whether there were more.
    is_cut: bool,
    /// The line that has no end yet.
    line: Vec<u8>,
    /// Bytes that went to the log.
    logged: usize,
}

impl Output {
    pub fn new(host: &Arc<Host>, plugin: &Arc<Plugin>) -> Self {
        let (host, plugin) = (host.clone(), plugin.clone());
        let written = Written { host, plugin, kept: Vec::new(), is_cut: false, line: Vec::new(), logged: 0 };
        Self(Arc::new(Mutex::new(written)))
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.0.lock()
    }

    /// The end of it, as it was written.
    pub(super) fn tail(&self) -> Vec<u8> {
        self.lock().kept.clone()
    }

    /// The end of it, fit to be shown: lines without what a terminal would obey, and without values of secrets. None, where
    /// nothing was written.
    pub(super) fn shown(&self) -> Option<Arc<str>> {
        let written = self.lock();
        let mut kept = written.kept.as_slice();
        if written.is_cut {
            // Of the first line a part is missing.
            kept = kept.iter().position(|byte| *byte == b'\n').map_or(kept, |end| &kept[end + 1..]);
        }
        // A secret may span lines, or hold what is no text.
        let text = written.host.config.redact(&String::from_utf8_lossy(kept));
        let lines: Vec<String> = text.lines().map(inline).collect();
        let shown = lines.join("\n");
        let shown = shown.trim_matches('\n');
        (!shown.trim().is_empty()).then(|| shown.into())
    }

    /// The call has ended: what it wrote last may be no whole line.
    pub(super) fn end(&self) {
        let mut written = self.lock();
        if !written.line.is_empty() {
            written.log_line();
        }
    }

    /// The next call begins.
    pub(super) fn begin(&self) {
        let mut written = self.lock();
        written.kept.clear();
        written.line.clear();
        (written.is_cut, written.logged) = (false, 0);
    }

    fn write(&self, bytes: &[u8]) {
        let mut written = self.lock();
        written.keep(bytes);
        if tracing::enabled!(Level::INFO) || written.host.call_log.is_heard(&written.plugin) {
            written.log(bytes);
        }
    }
}

impl Written {
    fn keep(&mut self, bytes: &[u8]) {
        let new = &bytes[bytes.len().saturating_sub(KEPT)..];
        let surplus = (self.kept.len() + new.len()).saturating_sub(KEPT);
        self.is_cut |= surplus > 0 || new.len() < bytes.len();
        self.kept.drain(..surplus);
        self.kept.extend_from_slice(new);
    }

    fn log(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.logged > LOGGED {
                return;
            }
            match byte {
                b'\n' => self.log_line(),
                byte if self.line.len() < LINE => self.line.push(*byte),
                _ => {}
            }
        }
    }

    fn log_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let (plugin, config) = (&self.plugin, &self.host.config);
        let before = self.logged;
        self.logged += line.len() + 1;
        let shown = one_line(&config.redact(&String::from_utf8_lossy(&line)));
        if shown.is_empty() || before > LOGGED {
            return;
        }
        self.host.call_log.line(plugin, "output", || shown.clone());
        match plugin.lines.take() {
            Some(0) => tracing::info!("plugin `{}` writes: {shown}", plugin.name),
            Some(missed) => {
                tracing::info!("plugin `{}` writes: {shown} ({missed} lines before it are left out)", plugin.name);
            }
            None => {}
        }
        if self.logged > LOGGED {
            tracing::info!(
                "plugin `{}` writes more than {} KiB in one call; the rest is left out",
                plugin.name,
                LOGGED >> 10
            );
        }
    }
}

/// One line as [`one_line`] has it, but for the spaces in front: in some languages they say what belongs together.
fn inline(line: &str) -> String {
    let indent = line.len() - line.trim_start_matches(' ').len();
    format!("{:1$}{2}", "", indent.min(40), one_line(line))
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(Pipe(self.clone()))
    }

    // Written at once: a guest that traps behind it does not wait for a task of its own.
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(Pipe(self.clone()))
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Pipe {
    async fn ready(&mut self) {}
}

impl OutputStream for Pipe {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.0.write(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        self.0.write(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
