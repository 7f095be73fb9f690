//! Crash reports: the component, the arguments of the call and its turn.
//! One folder for each digest and hook, bounded in number and size, readable by the user alone; secrets are redacted.

use super::call_recorder::CallRecorder;
use crate::plugin::digest::digest;
use crate::plugin::discovery::{ReadOutcome, read_component};
use crate::plugin::embedded::EMBEDDED;
use crate::plugin::fault::Fault;
use crate::plugin::loaded::Plugin;
use crate::plugin::private::PrivateDir;
use bub_types::hook::{Call, Deadline};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Below `$BUB_HOME`: the quarantine state and crash reports.
pub const DIR: &str = "quarantine";

/// Reports that are kept; the oldest is removed first.
const MAX_FOLDERS: usize = 20;

/// The maximum size of a report, in bytes.
pub const MAX_BYTES: usize = 8 << 20;

/// The file with the call.
pub const CALL: &str = "call.json";

/// The file with the component.
pub const COMPONENT: &str = "component.wasm";

/// The limit on a call's arguments, in bytes of JSON: the component has to fit beside them.
const MAX_CALL: usize = 2 << 20;

/// The parts of a report about the call, beside its fault.
pub(crate) struct CrashContext<'a> {
    /// Removes secrets from a text.
    pub(crate) redact: &'a (dyn Fn(&str) -> String + Sync),
    /// Has the arguments.
    pub(crate) recorder: CallRecorder,
    /// The turn as hooks saw it, if the call had one.
    pub(crate) turn: Option<&'a (dyn Fn() -> Value + Sync)>,
}

/// Writes the report, once for each digest and hook. Returns its path, if it could be written.
pub(super) fn keep(
    dir: &Path,
    plugin: &Plugin,
    fault: &Fault,
    session: &str,
    report: &CrashContext<'_>,
) -> Option<PathBuf> {
    let name = format!("{}-{}-{}", plugin.name, fault.hook, &plugin.digest[..12]);
    let path = dir.join(&name);
    if path.exists() {
        return Some(path);
    }
    let kept = PrivateDir::open(dir).and_then(|dir| {
        make_room(&dir)?;
        let folder = dir.folder(&name)?;
        let component = component(plugin);
        let text = describe(plugin, fault, session, report, component.is_some());
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
        None => EMBEDDED.iter().find(|guest| guest.name == plugin.name)?.bytes().ok()?,
    };
    (bytes.len() <= MAX_BYTES - MAX_CALL && digest(&bytes) == plugin.digest).then_some(bytes)
}

/// Takes what is kept in another folder of this kind into the one below that home, as if it had broken here. Where each is;
/// what cannot be kept is told to the log.
pub fn adopt(from: &Path, home: &Path) -> Vec<PathBuf> {
    let to = home.join(DIR);
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

fn describe(plugin: &Plugin, fault: &Fault, session: &str, context: &CrashContext<'_>, has_component: bool) -> String {
    let limits = &plugin.limits;
    let deadline = Call::from_name(fault.hook).map_or(Deadline::Plugin, Call::deadline);
    let mut report = json!({
        "plugin": plugin.name,
        "source": plugin.source.name(),
        "version": plugin.manifest.version,
        "digest": plugin.digest,
        "component": has_component.then_some(COMPONENT),
        "contract": plugin.version(fault.hook),
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
            "calls": limits.calls(deadline),
        },
        "output": fault.output.as_deref(),
        "config": plugin.config,
        "arguments": context.recorder.take(),
        "turn": context.turn.map(|snapshot| snapshot()),
    });
    // The largest part is left out first, and marked as such.
    for part in ["turn", "arguments", "config"] {
        if report.to_string().len() <= MAX_CALL {
            break;
        }
        report[part] = json!({ "left_out": "it is too large" });
    }
    (context.redact)(&format!("{report:#}"))
}

fn make_room(dir: &PrivateDir) -> Result<(), String> {
    let wrong = |error: std::io::Error| format!("cannot be tidied: {error}");
    let mut folders: Vec<_> = dir.list().map_err(wrong)?.into_iter().filter(|listed| listed.is_dir).collect();
    folders.sort_by_key(|folder| folder.modified);
    let many = folders.len().saturating_sub(MAX_FOLDERS - 1);
    folders.iter().take(many).try_for_each(|folder| dir.remove_folder(&folder.name)).map_err(wrong)
}
