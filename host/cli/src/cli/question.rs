//! Describes a tool call for an approval request.
//!
//! Only embedded tools are described by their effect: another plugin may call its tool `bash`. Names and arguments are
//! untrusted, so they are quoted, escaped and cut, or on lines of their own, and never shape the sentence around them.

use super::style::Style;
use super::{diff, text};
use bub_runtime::channel::ApprovalRequest;
use bub_system::files::read_inside;
use serde_json::{Map, Value};
use std::path::Path;

/// Lines of a call that are shown; the number of further ones follows.
const MAX_LINES: usize = 300;

/// Lines of the reason.
const MAX_REASON: usize = 8;

/// Columns of a name or an argument within a sentence.
const MAX_NAME: usize = 60;

/// The largest file that a new text is compared with, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The request in lines of at most `width` columns: the effect as a question, the reason, and the whole call.
pub(super) fn lines(question: &ApprovalRequest, workspace: &Path, width: usize, style: Style) -> Vec<String> {
    let act = act(question, false);
    let mut letters = act.chars();
    let asks = letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect()) + "?";
    let mut lines: Vec<String> = text::fold(&asks, width).iter().map(|line| style.bold(line)).collect();
    let mut call = call(question, workspace, width.saturating_sub(2), style);
    let more = call.len().saturating_sub(MAX_LINES);
    call.truncate(MAX_LINES);
    lines.extend(call.into_iter().map(|line| format!("  {line}")));
    if more > 0 {
        lines.push(format!("  … and {more} more lines, which are not shown: say no if you did not expect them"));
    }
    let because = text::fold(&format!("Asked because {}.", question.why), width);
    lines.extend(because.iter().take(MAX_REASON).map(|line| style.dim(line)));
    lines
}

/// The effect, such as "edit `src/main.rs`". `is_whole`: with the details that a request shows below.
pub(super) fn act(question: &ApprovalRequest, is_whole: bool) -> String {
    let arguments = arguments(question).unwrap_or_default();
    let said = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    let quoted = |text: &str| format!("`{}`", text::cut(text.trim(), MAX_NAME).replace('`', "'"));
    let tool = quoted(&question.tool);
    match (&question.plugin, question.tool.as_str()) {
        (None, "fs.edit") => format!("edit {}", quoted(said("path"))),
        (None, "fs.write") => format!("write {}", quoted(said("path"))),
        (None, "bash") if is_whole => format!("run {}", quoted(said("cmd"))),
        (None, "bash") => "run this command".to_owned(),
        (None, "bash.kill") => "end a program that runs".to_owned(),
        (None, "web.fetch") if is_whole => format!("send a request to {}", quoted(said("url"))),
        (None, "web.fetch") => "send a request to this address".to_owned(),
        (None, "network") => format!("let a program reach {}", quoted(said("host"))),
        (None, "memory.save" | "memory.daily" | "memory.clear" | "memory.forget") => {
            format!("change what is remembered ({tool})")
        }
        (None, "tape.handoff") => "begin a new part of the conversation".to_owned(),
        (None, "tape.reset") => "put the conversation away and begin anew".to_owned(),
        (plugin, _) => {
            let does = match question.effect {
                "read" => "read something",
                "write" => "change something",
                "send" => "send something out",
                _ => "run something",
            };
            let whose = plugin.as_ref().map_or_else(String::new, |plugin| format!(" of the plugin {}", quoted(plugin)));
            format!("let {tool}{whose} {does}")
        }
    }
}

fn arguments(question: &ApprovalRequest) -> Option<Map<String, Value>> {
    match serde_json::from_str(&question.arguments) {
        Ok(Value::Object(arguments)) => Some(arguments),
        _ => None,
    }
}

/// The arguments: a change as a difference, a command as it is, others by name.
fn call(question: &ApprovalRequest, workspace: &Path, width: usize, style: Style) -> Vec<String> {
    let Some(arguments) = arguments(question) else {
        return text::fold(&question.arguments, width);
    };
    let said = |key: &str| arguments.get(key).and_then(Value::as_str);
    let is_own = |tool: &str| question.plugin.is_none() && question.tool == tool;
    let change = match (said("old"), said("new"), said("path"), said("content")) {
        (Some(old), Some(new), ..) => Some((vec!["old", "new"], diff::lines(old, new, width, style))),
        (.., Some(path), Some(content)) if is_own("fs.write") => {
            let before = read_inside(workspace, Path::new(path), MAX_FILE);
            Some((vec!["content"], diff::lines(before.as_deref().unwrap_or_default(), content, width, style)))
        }
        _ => None,
    };
    let (mut shown, change) = change.unwrap_or_default();
    let mut lines = Vec::new();
    if let Some(command) = said("cmd").filter(|_| is_own("bash")) {
        shown.push("cmd");
        lines.extend(text::fold(command, width));
    }
    // It is part of the question, unless it was cut there.
    if is_own("fs.edit") || is_own("fs.write") {
        shown.extend(said("path").filter(|path| text::width(&text::line(path)) <= MAX_NAME).map(|_| "path"));
    }
    for (key, value) in arguments.iter().filter(|(key, _)| !shown.contains(&key.as_str())) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut folded = text::fold(&value, width.saturating_sub(2)).into_iter();
        match folded.len() {
            0 | 1 => lines.extend(text::fold(&format!("{key}: {}", folded.next().unwrap_or_default()), width)),
            _ => {
                lines.extend(text::fold(&format!("{key}:"), width));
                lines.extend(folded.map(|line| format!("  {line}")));
            }
        }
    }
    lines.extend(change);
    lines
}
