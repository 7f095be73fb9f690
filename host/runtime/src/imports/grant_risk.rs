//! Describes grants, and which of them are dangerous together, for the decision about a plugin.

use crate::plugin::Plugin;
use bub_types::hook::Hook;
use bub_types::text::one_line;

/// What a plugin with that grant can do.
pub fn of_grant(grant: &str) -> String {
    let grant = one_line(grant);
    let (kind, target) = grant.split_once(':').unwrap_or((&grant, ""));
    let sentence = match (kind, target) {
        ("hook", "*") => "is called for every hook that it implements",
        ("hook", _) => Hook::from_grant(&grant).map_or("is asked nothing", |hook| hook.spec().power),
        ("tape", "read") => "reads the whole conversation",
        ("tape", "event") => "writes events to the tapes that it is handed, and keeps sidecars of its own",
        ("tape", "append") => "writes any entry, anyone's messages included: what it writes steers the model",
        ("tape", "reset") => "empties conversations",
        ("tape", "workspace") => "reads and writes what all conversations of a workspace share",
        ("tape", _) => "does anything with conversations: reads, writes and empties them",
        ("model", "*") => "asks any model that is configured, at your expense",
        ("tools", "*") => "calls every tool, as the model does",
        ("agent", _) => {
            "is told what a model would be told (the system prompt, the conversation, what you type meanwhile), and runs turns of its own, with a model and tools"
        }
        ("http", "*" | "https://*") => "talks to every public host of the internet",
        ("http", "http://*") => "talks to every public host of the internet, without encryption",
        ("process", _) => "runs any program as you: no sandbox holds what it starts",
        ("recall", _) => "searches the workspace's memory, and all conversations that the sender of a turn may see",
        ("usage", _) => "sees what model calls have used",
        ("secret", "*") => "has any secret sent to hosts that it may talk to; never sees one",
        _ => return of_target(kind, target),
    };
    sentence.to_owned()
}

fn of_target(kind: &str, target: &str) -> String {
    match kind {
        "model" => format!("asks the model {target}, at your expense"),
        "tools" => format!("calls {target}, as the model does"),
        "http" => format!("talks to {target}"),
        "secret" => format!("has the secret {target} sent to hosts that it may talk to; never sees it"),
        "fs" => match target.rsplit_once(':') {
            Some((path, "rw")) => format!("reads and changes all files below {path}"),
            Some((path, _)) => format!("reads all files below {path}"),
            None => "reads files".to_owned(),
        },
        _ => "means nothing to this version".to_owned(),
    }
}

/// What these grants come to together in the hands of that plugin, where that is worse than each of them alone.
pub fn dangers(plugin: &Plugin, grants: &[String]) -> Vec<String> {
    let held = Held::by(plugin, grants);
    let (listening, steering) = (held.named(listens), held.named(steers));
    let hosts = held.of(&["http:"]);
    let mut dangers = Vec::new();
    if !hosts.is_empty() {
        let talks = hosts.iter().map(|host| of_grant(host)).collect::<Vec<_>>().join(", ");
        if !listening.is_empty() {
            dangers.push(format!(
                "it reads your conversation ({}) and {talks}: what you say can leave this machine",
                listening.join(", ")
            ));
        }
        let reading = held.of(&["fs:", "tools:"]);
        if !reading.is_empty() {
            dangers.push(format!(
                "it reaches files or tools ({}) and {talks}: what it finds there can leave this machine",
                reading.join(", ")
            ));
        }
        if !steering.is_empty() {
            dangers.push(format!(
                "it {talks} and steers the model ({}): what strangers write there can become the agent's orders",
                steering.join(", ")
            ));
        }
    }
    let models = held.of(&["model:", "agent"]);
    if !listening.is_empty() && !models.is_empty() {
        dangers.push(format!(
            "it reads your conversation ({}) and asks models ({}): they are told what it tells them",
            listening.join(", "),
            models.join(", ")
        ));
    }
    if held.0.iter().any(|grant| grant == "process") {
        dangers.push("it runs programs: with that it can do all that you can do".to_owned());
    }
    dangers
}

/// Grants, each hook by its own name: what a plugin does not implement it is not asked, whatever it holds.
struct Held(Vec<String>);

impl Held {
    fn by(plugin: &Plugin, grants: &[String]) -> Self {
        let hooks = plugin.gated().map(|hook| hook.grant().to_owned());
        let is_held = |hook: &String| grants.iter().any(|grant| grant == hook || grant == "hook:*");
        let others = grants.iter().filter(|grant| !grant.starts_with("hook:")).map(|grant| one_line(grant));
        Self(hooks.filter(is_held).chain(others).collect())
    }

    fn named(&self, is_meant: impl Fn(&str) -> bool) -> Vec<&str> {
        self.0.iter().map(String::as_str).filter(|grant| is_meant(grant)).collect()
    }

    fn of(&self, kinds: &[&str]) -> Vec<&str> {
        self.named(|grant| kinds.iter().any(|kind| grant.starts_with(kind)))
    }
}

/// Whether a plugin with that grant sees the conversation.
fn listens(grant: &str) -> bool {
    matches!(grant, "tape:read" | "tape:*" | "tape:workspace" | "recall" | "agent")
        || Hook::from_grant(grant).is_some_and(|hook| hook.spec().listens)
}

/// Whether a plugin with that grant decides what a model is told.
fn steers(grant: &str) -> bool {
    matches!(grant, "tape:append" | "tape:*") || Hook::from_grant(grant).is_some_and(|hook| hook.spec().steers)
}
