//! Crash reports: the component, the arguments of the call and its turn.
//! One folder for each digest and hook, bounded in number and size, readable by the user alone; secrets are redacted.

use super::super::discovery::{ReadOutcome, read_component};
use super::super::embedded::EMBEDDED;
use super::super::load::{Plugin, digest};
use super::super::private::PrivateDir;
use super::Fault;
use crate::host::Host;
use crate::turn::Turn;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reports that are kept; the oldest is removed first.
const MAX_FOLDERS: usize = 20;

/// The maximum size of a report, in bytes.
pub const MAX_BYTES: usize = 8 << 20;

/// The file with the call.
pub const CALL: &str = "call.json";

/// The file with the component.
pub const COMPONENT: &str = "component.wasm";

/// What a call's arguments may be, in bytes of JSON: the component has to fit beside them.
const MAX_CALL: usize = 2 << 20;

/// Records the arguments of a call, in case it faults.
#[derive(Clone, Default)]
pub struct CallRecorder(Arc<Mutex<Option<Value>>>);

/// Records the arguments when it is dropped without [`RecordGuard::discard`]: when the guest traps or its deadline ends
/// it.
pub struct RecordGuard<F: FnOnce() -> Value> {
    recorder: CallRecorder,
    arguments: Option<F>,
}

impl CallRecorder {
    /// Records `arguments` unless [`RecordGuard::discard`] is called.
    pub fn record<F: FnOnce() -> Value>(&self, arguments: F) -> RecordGuard<F> {
        RecordGuard { recorder: self.clone(), arguments: Some(arguments) }
    }

    fn take(&self) -> Option<Value> {
        self.0.lock().take()
    }
}

impl<F: FnOnce() -> Value> RecordGuard<F> {
    /// Discards the arguments: the call succeeded.
    pub fn discard(mut self) {
        self.arguments = None;
    }
}

impl<F: FnOnce() -> Value> Drop for RecordGuard<F> {
    fn drop(&mut self) {
        if let Some(arguments) = self.arguments.take() {
            *self.recorder.0.lock() = Some(arguments());
        }
    }
}

/// A call that faulted.
pub struct Call<'a> {
    /// The host of the call.
    pub host: &'a Host,
    /// Has the arguments.
    pub recorder: CallRecorder,
    /// The turn, if the call had one.
    pub turn: Option<&'a Turn>,
}

/// Writes the report, once for each digest and hook. Returns its path, if it could be written.
pub(super) fn keep(dir: &Path, plugin: &Plugin, fault: &Fault, session: &str, call: Call<'_>) -> Option<PathBuf> {
    let name = format!("{}-{}-{}", plugin.name, fault.hook, &plugin.digest[..12]);
    let path = dir.join(&name);
    if path.exists() {
        return Some(path);
    }
    let kept = PrivateDir::open(dir).and_then(|dir| {
        make_room(&dir)?;
        let folder = dir.folder(&name)?;
        let component = component(plugin);
        let text = describe(plugin, fault, session, &call, component.is_some());
        let wrong = |error: std::io::Error| format!("cannot be written: {error}");
        folder.write(CALL, &[text.as_bytes()]).map_err(wrong)?;
        component.map_or(Ok(()), |bytes| folder.write(COMPONENT, &[&bytes])).map_err(wrong)
    });
    match kept {
        Ok(()) => Some(path),
        Err(reason) => {
            tracing::warn!("what broke plugin `{}` is not kept: `{}` {reason}", plugin.name, path.display());
            None
        }
    }
}

/// The component's bytes, if the file is unchanged and not too large.
fn component(plugin: &Plugin) -> Option<Vec<u8>> {
    let bytes = match &plugin.file {
        Some(path) => match read_component(path, false) {
            Ok(ReadOutcome::Whole(bytes, _)) => bytes,
            _ => return None,
        },
        None => EMBEDDED.iter().find(|guest| guest.name == plugin.name)?.bytes.to_vec(),
    };
    (bytes.len() <= MAX_BYTES - MAX_CALL && digest(&bytes) == plugin.digest).then_some(bytes)
}

/// Takes what is kept in another folder of this kind into the one below that home, as if it had broken here. Where each is;
/// what cannot be kept is told to the log.
pub fn adopt(from: &Path, home: &Path) -> Vec<PathBuf> {
    let to = home.join(super::DIR);
    let Ok(folders) = std::fs::read_dir(from) else { return Vec::new() };
    let folders = folders.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    let mut names: Vec<_> = folders.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect();
    names.sort();
    let copy = |name: &String| match copy(&from.join(name), &to, name) {
        Ok(()) => Some(to.join(name)),
        Err(reason) => {
            tracing::warn!("what broke is not kept: `{}` {reason}", to.join(name).display());
            None
        }
    };
    names.iter().filter_map(copy).collect()
}

fn copy(from: &Path, to: &Path, name: &str) -> Result<(), String> {
    let wrong = |error: std::io::Error| format!("cannot be written: {error}");
    let source = PrivateDir::open(from)?;
    if to.join(name).exists() {
        return Ok(());
    }
    let dir = PrivateDir::open(to)?;
    make_room(&dir)?;
    let folder = dir.folder(name)?;
    for file in [CALL, COMPONENT] {
        if let Some(bytes) = source.read(file, MAX_BYTES as u64) {
            folder.write(file, &[&bytes]).map_err(wrong)?;
        }
    }
    Ok(())
}

fn describe(plugin: &Plugin, fault: &Fault, session: &str, call: &Call<'_>, has_component: bool) -> String {
    let limits = &plugin.limits;
    let mut report = json!({
        "plugin": plugin.name,
        "source": plugin.source.name(),
        "version": plugin.manifest.version,
        "digest": plugin.digest,
        "component": has_component.then_some(COMPONENT),
        "contract": plugin.ready.exports.version(fault.hook),
        "host": env!("CARGO_PKG_VERSION"),
        "at": jiff::Timestamp::now().to_string(),
        "hook": fault.hook,
        "fault": fault.kind.to_string(),
        "session": session,
        "limits": {
            "fuel": limits.fuel,
            "memory_mib": limits.memory_bytes() >> 20,
            "deadline_ms": u64::try_from(limits.deadline().as_millis()).unwrap_or(u64::MAX),
            "output_mib": limits.output_bytes() >> 20,
            "calls": limits.calls(fault.hook),
        },
        "output": fault.output.as_deref(),
        "config": plugin.config,
        "arguments": call.recorder.take(),
        "turn": call.turn.map(Turn::snapshot),
    });
    // The largest part is left out first, and marked as such.
    for part in ["turn", "arguments", "config"] {
        if report.to_string().len() <= MAX_CALL {
            break;
        }
        report[part] = json!({ "left_out": "it is too large" });
    }
    call.host.config.redact(&format!("{report:#}"))
}

fn make_room(dir: &PrivateDir) -> Result<(), String> {
    let wrong = |error: std::io::Error| format!("cannot be tidied: {error}");
    let mut folders: Vec<_> = dir.list().map_err(wrong)?.into_iter().filter(|listed| listed.is_dir).collect();
    folders.sort_by_key(|folder| folder.modified);
    let many = folders.len().saturating_sub(MAX_FOLDERS - 1);
    folders.iter().take(many).try_for_each(|folder| dir.remove_folder(&folder.name)).map_err(wrong)
}
