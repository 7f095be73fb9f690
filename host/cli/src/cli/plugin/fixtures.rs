//! Recorded calls as files: one JSON file each, to be read and compared by people.

use anyhow::{Context, Result, bail, ensure};
use bub_runtime::plugin::parse_json;
use bub_runtime::plugin::recording::{FORMAT, RecordedCall};
use bub_types::hook::Call;
use bub_types::hook::Replay;
use bub_types::text::one_line;
use serde_json::json;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// The largest file, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// Files of a folder, at most.
const MAX_FILES: usize = 1_000;

/// The files of the folder, in order; none if it does not exist.
///
/// # Errors
///
/// The folder cannot be read, or has too many files.
pub(super) fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let shown = || format!("`{}`", one_line(&folder.display().to_string()));
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(shown)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(shown)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    ensure!(files.len() <= MAX_FILES, "{} has {} recorded calls; at most {MAX_FILES} are run", shown(), files.len());
    files.sort();
    Ok(files)
}

/// Reads a recorded call of that plugin.
///
/// # Errors
///
/// The reason why the file is invalid.
pub(super) fn read(file: &Path, plugin: &str) -> Result<RecordedCall> {
    let mut text = String::new();
    // A pipe would be waited for.
    ensure!(file.metadata()?.is_file(), "it is not a file");
    fs::File::open(file)?.take(MAX_FILE + 1).read_to_string(&mut text)?;
    ensure!(text.len() as u64 <= MAX_FILE, "it is larger than {} MiB", MAX_FILE >> 20);
    let value = parse_json(&text).map_err(|reason| anyhow::anyhow!("it is {}", one_line(&reason)))?;
    let format = value.get("format").cloned().unwrap_or_default();
    ensure!(format == FORMAT, "its `format` is `{}`, and this program reads {FORMAT}", one_line(&format.to_string()));
    let call: RecordedCall = serde_json::from_value(value)
        .map_err(|error| anyhow::anyhow!("it is no recorded call: {}", one_line(&error.to_string())))?;
    let shown = one_line(&call.plugin);
    ensure!(call.plugin == plugin, "it is a call of plugin `{shown}`, not of `{plugin}`");
    if let Err(reason) = can_play(&call.call) {
        bail!("{reason}");
    }
    Ok(call)
}

/// Whether calls of that export can be made again.
///
/// # Errors
///
/// Why not.
pub(super) fn can_play(call: &str) -> Result<(), String> {
    let shown = one_line(call);
    match Call::from_name(call).map(Call::replay) {
        None | Some(Replay::Unknown) => Err(format!("calls of `{shown}` cannot be made again")),
        Some(Replay::Never(reason)) => Err(format!("calls of `{shown}` cannot be made again: {reason}")),
        Some(_) => Ok(()),
    }
}

/// The text of a file, with secrets replaced.
pub(super) fn text(call: &RecordedCall, redact: impl Fn(&str) -> String) -> String {
    redact(&format!("{:#}\n", json!(call)))
}

/// Writes a file: all of it, or nothing.
///
/// # Errors
///
/// It cannot be written.
pub(super) fn write(file: &Path, text: &str) -> Result<()> {
    let shown = || format!("`{}` cannot be written", one_line(&file.display().to_string()));
    ensure!(text.len() as u64 <= MAX_FILE, "{}: it would be larger than {} MiB", shown(), MAX_FILE >> 20);
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut draft = tempfile::Builder::new().prefix(".recorded.").tempfile_in(folder).with_context(shown)?;
    draft.write_all(text.as_bytes()).with_context(shown)?;
    draft.persist(file).map_err(|error| error.error).with_context(shown)?;
    Ok(())
}

/// A name for the next file: the export, the tool or command if there is one, and a number.
pub(super) fn free_name(folder: &Path, call: &RecordedCall) -> PathBuf {
    let is_named = ["call-tool", "run-command"].contains(&call.call.as_str());
    let named = call.arguments.get(0).and_then(|name| name.as_str()).filter(|_| is_named);
    let plain = |name: &str| {
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
        name.chars().take(64).map(plain).collect::<String>()
    };
    let stem = match named {
        Some(name) => format!("{}-{}", plain(&call.call), plain(name)),
        None => plain(&call.call),
    };
    let numbered = (1..).map(|number| folder.join(format!("{stem}-{number}.json")));
    numbered.into_iter().find(|path| !path.exists()).unwrap_or_default()
}

/// The part of a call that a build produces: everything but the arguments and their context.
pub(super) fn outcome(call: &RecordedCall) -> String {
    let mut outcome = json!({ "arguments": call.arguments, "imports": call.imports });
    if let Some(answer) = &call.answer {
        outcome["answer"] = answer.clone();
    }
    if let Some(fault) = &call.fault {
        outcome["fault"] = fault.clone().into();
    }
    format!("{outcome:#}\n")
}
