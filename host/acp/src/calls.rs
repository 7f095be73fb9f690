//! The tool calls of one prompt: what each was before it was made, and how it is shown.

use super::{lookup, wording};
use agent_client_protocol_schema::v1::{Diff, ToolCall, ToolCallContent, ToolCallStatus};
use bub_runtime::channel::ApprovalRequest;
use bub_runtime::host::Host;
use bub_runtime::turn::CallObserver;
use parking_lot::Mutex as Locked;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// How long a question waits until the editor knows the call that it is about.
const ANNOUNCED_WITHIN: Duration = Duration::from_secs(5);

/// The calls that run.
pub(crate) struct Calls {
    host: Arc<Host>,
    running: Locked<BTreeMap<u64, Running>>,
    announced: Notify,
}

struct Running {
    tool: String,
    arguments: String,
    /// The file that it may change, and its text before.
    file: Option<(PathBuf, Option<String>)>,
    is_announced: bool,
}

impl Calls {
    pub(crate) fn new(host: &Arc<Host>) -> Arc<Self> {
        Arc::new(Self { host: Arc::clone(host), running: Locked::default(), announced: Notify::new() })
    }

    /// Keeps what a call may change, before it does.
    pub(crate) fn observer(self: &Arc<Self>) -> CallObserver {
        let calls = Arc::clone(self);
        Arc::new(move |call, tool, arguments| {
            let (is_own, _) = lookup::tool(&calls.host, tool);
            let changes = matches!(tool, "fs.write" | "fs.edit");
            let file = changes.then(|| wording::file(tool, is_own, &wording::parsed(arguments), &calls.host.workspace));
            let file = file.flatten().map(|file| {
                let before = lookup::text(&calls.host.workspace, &file);
                (file, before)
            });
            let running = Running { tool: tool.to_owned(), arguments: arguments.to_owned(), file, is_announced: false };
            calls.running.lock().insert(call, running);
        })
    }

    /// The call as the editor is told of it first.
    pub(crate) fn announcement(&self, call: u64, tool: &str, arguments: &str) -> ToolCall {
        shown(&self.host, id(call), tool, arguments).status(ToolCallStatus::InProgress)
    }

    /// The editor knows the call.
    pub(crate) fn announced(&self, call: u64) {
        if let Some(running) = self.running.lock().get_mut(&call) {
            running.is_announced = true;
        }
        self.announced.notify_waiters();
    }

    /// The call has ended: how it changed a file.
    pub(crate) fn ended(&self, call: u64) -> Option<Diff> {
        let Running { file, .. } = self.running.lock().remove(&call)?;
        let (file, before) = file?;
        let after = lookup::text(&self.host.workspace, &file)?;
        (before.as_ref() != Some(&after)).then(|| Diff::new(file, after).old_text(before))
    }

    /// The call that a question is about, once the editor knows it. A hook may have changed its arguments, or made a call of
    /// its own.
    pub(crate) async fn asked_about(&self, question: &ApprovalRequest) -> Option<u64> {
        let call = {
            let running = self.running.lock();
            let of_tool = || running.iter().filter(|(_, running)| running.tool == question.tool);
            let same = of_tool().find(|(_, running)| running.arguments == question.arguments);
            same.or_else(|| of_tool().next()).map(|(call, _)| *call)
        }?;
        let announced = async {
            loop {
                let announced = self.announced.notified();
                if self.running.lock().get(&call).is_none_or(|running| running.is_announced) {
                    return;
                }
                announced.await;
            }
        };
        timeout(ANNOUNCED_WITHIN, announced).await.ok().map(|()| call)
    }

    /// The call of a question as it will be made, with that id.
    pub(crate) fn question(&self, id: String, question: &ApprovalRequest) -> ToolCall {
        let ApprovalRequest { tool, arguments, why, .. } = question;
        let call = shown(&self.host, id, tool, arguments);
        let parsed: Value = serde_json::from_str(arguments).unwrap_or_default();
        let mut content: Vec<ToolCallContent> =
            self.change(tool, &parsed).map(ToolCallContent::from).into_iter().collect();
        let command = parsed.get("cmd").and_then(Value::as_str).filter(|_| tool == "bash" && question.plugin.is_none());
        match command {
            Some(command) if parsed.as_object().is_some_and(|arguments| arguments.len() == 1) => {
                content.push(wording::block(command).into());
            }
            _ => content.push(wording::block(arguments).into()),
        }
        content.push(format!("Asked because {}.", bub_types::text::one_line(why)).into());
        let raw = if parsed.is_null() { Value::from(arguments.as_str()) } else { parsed };
        call.status(ToolCallStatus::Pending).content(content).raw_input(raw)
    }

    /// What a call of the program's own tools would make of a file.
    fn change(&self, tool: &str, arguments: &Value) -> Option<Diff> {
        let workspace = &self.host.workspace;
        let file = wording::file(tool, lookup::tool(&self.host, tool).0, arguments, workspace)?;
        let said = |key: &str| arguments.get(key).and_then(Value::as_str);
        let before = lookup::text(workspace, &file);
        match tool {
            "fs.write" => Some(Diff::new(file, said("content")?).old_text(before)),
            "fs.edit" => {
                let (old, new) = (said("old")?, said("new")?);
                // What the whole file becomes, where that is plain; else the places alone.
                match before
                    .filter(|before| arguments.get("start").is_none() && before.contains(old) && !old.is_empty())
                {
                    Some(before) => Some(Diff::new(file, before.replace(old, new)).old_text(before)),
                    None => Some(Diff::new(file, new).old_text(old)),
                }
            }
            _ => None,
        }
    }
}

/// The editor's id of a call.
pub(crate) fn id(call: u64) -> String {
    format!("call-{call}")
}

/// A call with its title, its kind, its place and its arguments.
pub(crate) fn shown(host: &Host, id: String, tool: &str, arguments: &str) -> ToolCall {
    let (is_own, effect) = lookup::tool(host, tool);
    let parsed = wording::parsed(arguments);
    ToolCall::new(id, wording::title(tool, is_own, &parsed))
        .name(bub_types::text::clipped(&bub_types::text::one_line(tool), 128))
        .kind(wording::kind(tool, is_own, effect))
        .locations(wording::locations(tool, is_own, &parsed, &host.workspace))
        .raw_input(wording::raw(arguments))
}
