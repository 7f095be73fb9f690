//! Describes grants, and which of them are dangerous together, for the decision about a plugin.

use crate::plugin::Plugin;
use bub_permissions::{Grant, GrantKind};
use bub_types::hook::Hook;
use bub_types::text::one_line;

/// Describes the powers of a plugin with that grant.
pub fn of_grant(grant: &Grant) -> String {
    let target = one_line(grant.target());
    let sentence = match (grant.kind(), target.as_str()) {
        (GrantKind::Hook, "*") => "is called for every hook that it implements",
        (GrantKind::Hook, _) => hook_of(grant).map_or("is asked nothing", |hook| hook.spec().power),
        (GrantKind::Tape, "read") => "reads the whole conversation",
        (GrantKind::Tape, "event") => "writes events to the tapes that it is handed, and keeps sidecars of its own",
        (GrantKind::Tape, "append") => "writes any entry, anyone's messages included: what it writes steers the model",
        (GrantKind::Tape, "reset") => "empties conversations",
        (GrantKind::Tape, "workspace") => "reads and writes what all conversations of a workspace share",
        (GrantKind::Tape, _) => "does anything with conversations: reads, writes and empties them",
        (GrantKind::Model, "*") => "asks any model that is configured, at your expense",
        (GrantKind::Model, model) => return format!("asks the model {model}, at your expense"),
        (GrantKind::Tools, "*") => "calls every tool, as the model does",
        (GrantKind::Tools, tool) => return format!("calls {tool}, as the model does"),
        (GrantKind::Agent, _) => {
            "is told what a model would be told (the system prompt, the conversation, what you type meanwhile), and runs turns of its own, with a model and tools"
        }
        (GrantKind::Http, "*" | "https://*") => "talks to every public host of the internet",
        (GrantKind::Http, "http://*") => "talks to every public host of the internet, without encryption",
        (GrantKind::Http, host) => return format!("talks to {host}"),
        (GrantKind::Process, "sandboxed") => {
            "runs programs in a sandbox: they change the workspace, and read the system and your toolchains"
        }
        (GrantKind::Process, "*") => {
            "runs programs in a sandbox, starts the programs that you have configured as servers, and speaks with them"
        }
        (GrantKind::Process, name) if !name.is_empty() => {
            return format!("starts the program that you have configured as the server {name}, and speaks with it");
        }
        (GrantKind::Process, _) => "runs any program as you: no sandbox holds what it starts; `process:sandboxed` does",
        (GrantKind::Recall, _) => {
            "searches the workspace's memory, and all conversations that the sender of a turn may see"
        }
        (GrantKind::Usage, _) => "sees what model calls have used",
        (GrantKind::Secret, "*") => "has any secret sent to hosts that it may talk to; never sees one",
        (GrantKind::Secret, name) => {
            return format!("has the secret {name} sent to hosts that it may talk to; never sees it");
        }
        (GrantKind::Fs, target) => {
            return match target.rsplit_once(':') {
                Some((path, "rw")) => format!("reads and changes all files below {path}"),
                Some((path, _)) => format!("reads all files below {path}"),
                None => "reads files".to_owned(),
            };
        }
    };
    sentence.to_owned()
}

fn hook_of(grant: &Grant) -> Option<Hook> {
    Hook::from_grant(grant.as_str())
}

/// The dangers of these grants together in the hands of that plugin, where they are worse than each of them alone.
pub fn dangers(plugin: &Plugin, grants: &[Grant]) -> Vec<String> {
    let held = Held::by(plugin, grants);
    let (listening, steering) = (held.named(listens), held.named(steers));
    let hosts = held.of(&[GrantKind::Http]);
    let mut dangers = Vec::new();
    if !hosts.is_empty() {
        let talks = hosts.iter().map(|host| of_grant(host)).collect::<Vec<_>>().join(", ");
        if !listening.is_empty() {
            dangers.push(format!(
                "it reads your conversation ({}) and {talks}: what you say can leave this machine",
                words(&listening)
            ));
        }
        let reading = held.of(&[GrantKind::Fs, GrantKind::Tools]);
        if !reading.is_empty() {
            dangers.push(format!(
                "it reaches files or tools ({}) and {talks}: what it finds there can leave this machine",
                words(&reading)
            ));
        }
        if !steering.is_empty() {
            dangers.push(format!(
                "it {talks} and steers the model ({}): what strangers write there can become the agent's orders",
                words(&steering)
            ));
        }
    }
    let models = held.of(&[GrantKind::Model, GrantKind::Agent]);
    if !listening.is_empty() && !models.is_empty() {
        dangers.push(format!(
            "it reads your conversation ({}) and asks models ({}): they are told what it tells them",
            words(&listening),
            words(&models)
        ));
    }
    if held.0.contains(&Grant::PROCESS) {
        dangers.push("it runs programs without a sandbox: with that it can do all that you can do".to_owned());
    }
    dangers
}

/// Grants, each hook by its own name: what a plugin does not implement it is not asked, whatever it holds.
struct Held(Vec<Grant>);

impl Held {
    fn by(plugin: &Plugin, grants: &[Grant]) -> Self {
        let hooks = plugin.gated().map(Grant::hook);
        let is_held = |hook: &Grant| grants.iter().any(|grant| *grant == *hook || *grant == Grant::ALL_HOOKS);
        let others = grants.iter().filter(|grant| grant.kind() != GrantKind::Hook).cloned();
        Self(hooks.filter(is_held).chain(others).collect())
    }

    fn named(&self, is_meant: impl Fn(&Grant) -> bool) -> Vec<&Grant> {
        self.0.iter().filter(|grant| is_meant(grant)).collect()
    }

    fn of(&self, kinds: &[GrantKind]) -> Vec<&Grant> {
        self.named(|grant| kinds.contains(&grant.kind()))
    }
}

/// The grants as a list.
fn words(grants: &[&Grant]) -> String {
    grants.iter().map(|grant| one_line(grant.as_str())).collect::<Vec<_>>().join(", ")
}

/// Whether a plugin with that grant sees the conversation.
fn listens(grant: &Grant) -> bool {
    [Grant::TAPE_READ, Grant::TAPE_WORKSPACE].iter().any(|listening| grant.covers(listening))
        || matches!(grant.kind(), GrantKind::Recall | GrantKind::Agent)
        || hook_of(grant).is_some_and(|hook| hook.spec().listens)
}

/// Whether a plugin with that grant decides what a model is told.
fn steers(grant: &Grant) -> bool {
    grant.covers(&Grant::TAPE_APPEND) || hook_of(grant).is_some_and(|hook| hook.spec().steers)
}
