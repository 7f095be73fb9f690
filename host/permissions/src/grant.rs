//! One grant: a permission of a plugin, as users write it.

use crate::path::{self, GrantedPath};
use bub_egress::Target;
use bub_types::hook::{HOOKS, Hook};
use bub_types::suggest;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A grant: `tape:read`, `model:openai:gpt-5`, `fs:<workspace>:rw`, `agent`. One that ends with `*` stands for all grants
/// with that beginning.
///
/// Grants are ordered by their text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Grant {
    text: Cow<'static, str>,
    kind: GrantKind,
}

/// The kind of a grant: the word before its colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GrantKind {
    /// `hook:NAME`: is called.
    Hook,
    /// `tape:read` and others: conversations.
    Tape,
    /// `model:NAME`: asks models.
    Model,
    /// `tools:NAME`: calls tools of others.
    Tools,
    /// `agent`: runs turns of its own.
    Agent,
    /// `http:HOST`: sends requests.
    Http,
    /// `fs:PATH:ro`, `fs:PATH:rw`: opens directories.
    Fs,
    /// `process`: runs programs. `process:sandboxed`: the same in a sandbox. `process:NAME`: speaks with a program that the
    /// user has configured.
    Process,
    /// `secret:NAME`: has secrets sent to hosts.
    Secret,
    /// `usage`: sees what model calls have used.
    Usage,
    /// `recall`: searches memory and conversations.
    Recall,
}

/// The argument of a grant, after the colon.
enum GrantArg {
    Nothing,
    /// A name of that kind, or `*`.
    Name(&'static str),
    /// The same, or nothing, which is another grant.
    MaybeName(&'static str),
    OneOf(&'static [&'static str]),
    /// A path, and `:ro` or `:rw`.
    Path,
}

/// All kinds, with their words and arguments.
const KINDS: [(GrantKind, &str, GrantArg); 11] = [
    (GrantKind::Hook, "hook", GrantArg::Name("HOOK")),
    (GrantKind::Tape, "tape", GrantArg::OneOf(&["read", "event", "append", "reset", "workspace"])),
    (GrantKind::Model, "model", GrantArg::Name("MODEL")),
    (GrantKind::Tools, "tools", GrantArg::Name("TOOL")),
    (GrantKind::Agent, "agent", GrantArg::Nothing),
    (GrantKind::Http, "http", GrantArg::Name("HOST")),
    (GrantKind::Fs, "fs", GrantArg::Path),
    (GrantKind::Process, "process", GrantArg::MaybeName("SERVER")),
    (GrantKind::Secret, "secret", GrantArg::Name("NAME")),
    (GrantKind::Usage, "usage", GrantArg::Nothing),
    (GrantKind::Recall, "recall", GrantArg::Nothing),
];

/// All forms of grants, with a placeholder in capitals for each name, for the reference.
pub fn forms() -> Vec<Grant> {
    let of_kind = |(kind, word, argument): &(GrantKind, &'static str, GrantArg)| {
        let targets: Vec<&str> = match argument {
            GrantArg::Nothing => return vec![Grant { text: Cow::Borrowed(*word), kind: *kind }],
            GrantArg::Name(name) => vec![*name, "*"],
            GrantArg::MaybeName(name) => {
                let alone = Grant { text: Cow::Borrowed(*word), kind: *kind };
                return vec![alone, Grant::PROCESS_SANDBOXED, Grant::named(*kind, name), Grant::named(*kind, "*")];
            }
            GrantArg::OneOf(names) => names.iter().copied().chain(["*"]).collect(),
            GrantArg::Path => vec!["PATH:ro", "PATH:rw"],
        };
        targets.into_iter().map(|target| Grant::named(*kind, target)).collect()
    };
    KINDS.iter().flat_map(of_kind).collect()
}

impl Grant {
    /// Is called at every hook that it implements.
    pub const ALL_HOOKS: Self = Self::constant("hook:*");
    /// Reads the tapes that it is handed.
    pub const TAPE_READ: Self = Self::constant("tape:read");
    /// Writes events to them.
    pub const TAPE_EVENT: Self = Self::constant("tape:event");
    /// Writes any entry to them.
    pub const TAPE_APPEND: Self = Self::constant("tape:append");
    /// Empties them.
    pub const TAPE_RESET: Self = Self::constant("tape:reset");
    /// Opens the tape of the workspace.
    pub const TAPE_WORKSPACE: Self = Self::constant("tape:workspace");
    /// Does all of that.
    pub const ALL_TAPES: Self = Self::constant("tape:*");
    /// Asks every model.
    pub const ALL_MODELS: Self = Self::constant("model:*");
    /// Calls every tool.
    pub const ALL_TOOLS: Self = Self::constant("tools:*");
    /// Runs turns of its own.
    pub const AGENT: Self = Self::constant("agent");
    /// Opens the workspace, and may change it.
    pub const WORKSPACE: Self = Self::constant("fs:<workspace>:rw");
    /// Runs programs outside of any sandbox.
    pub const PROCESS: Self = Self::constant("process");
    /// Runs programs in a sandbox of the operating system. No server has that name.
    pub const PROCESS_SANDBOXED: Self = Self::constant("process:sandboxed");
    /// Sees what model calls have used.
    pub const USAGE: Self = Self::constant("usage");
    /// Searches memory and conversations.
    pub const RECALL: Self = Self::constant("recall");

    /// A grant that is part of the program. To be evaluated by the compiler, which refuses a text that begins with no kind;
    /// what follows the colon is not checked.
    pub const fn constant(text: &'static str) -> Self {
        let mut place = 0;
        while place < KINDS.len() {
            if begins_with_word(text.as_bytes(), KINDS[place].1.as_bytes()) {
                return Self { text: Cow::Borrowed(text), kind: KINDS[place].0 };
            }
            place += 1;
        }
        panic!("no kind of grant has that name")
    }

    /// Is called at that hook.
    pub const fn hook(hook: Hook) -> Self {
        Self { text: Cow::Borrowed(hook.grant()), kind: GrantKind::Hook }
    }

    /// Asks that model, `PROVIDER:MODEL`.
    pub fn model(name: &str) -> Self {
        Self::named(GrantKind::Model, name)
    }

    /// Calls the tool of that name.
    pub fn tool(name: &str) -> Self {
        Self::named(GrantKind::Tools, name)
    }

    /// Sends requests to that host or origin.
    pub fn http(target: impl fmt::Display) -> Self {
        Self::named(GrantKind::Http, target)
    }

    /// Speaks with the program that is configured as that server.
    pub fn program(server: &str) -> Self {
        Self::named(GrantKind::Process, server)
    }

    /// Has that secret sent.
    pub fn secret(name: &str) -> Self {
        Self::named(GrantKind::Secret, name)
    }

    fn named(kind: GrantKind, target: impl fmt::Display) -> Self {
        Self { text: Cow::Owned(format!("{}:{target}", kind.word())), kind }
    }

    /// Its kind.
    pub fn kind(&self) -> GrantKind {
        self.kind
    }

    /// The text behind its colon; empty where there is none.
    pub fn target(&self) -> &str {
        self.text.split_once(':').map_or("", |(_, target)| target)
    }

    /// The directory that it opens, and whether files in it may be changed; `None` if it opens none.
    pub fn directory(&self) -> Option<(GrantedPath<'_>, bool)> {
        let (path, mode) = self.target().rsplit_once(':').filter(|_| self.kind == GrantKind::Fs)?;
        Some((GrantedPath::parse(path), mode == "rw"))
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a holder of this grant holds `wanted`.
    pub fn covers(&self, wanted: &Self) -> bool {
        match self.text.strip_suffix('*') {
            Some(prefix) => wanted.text.starts_with(prefix),
            None => self.text == wanted.text,
        }
    }

    /// As a shell word, quoted where necessary.
    pub fn shell_word(&self) -> String {
        shell_word(&self.text)
    }
}

impl GrantKind {
    /// The word before the colon.
    pub fn word(self) -> &'static str {
        KINDS[self as usize].1
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl From<Grant> for String {
    fn from(grant: Grant) -> Self {
        grant.text.into_owned()
    }
}

impl TryFrom<String> for Grant {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Ok(Self { kind: check(&text)?, text: Cow::Owned(text) })
    }
}

impl FromStr for Grant {
    type Err = String;

    /// # Errors
    ///
    /// The grant is invalid. The error describes the problem, with a suggestion.
    fn from_str(text: &str) -> Result<Self, String> {
        text.to_owned().try_into()
    }
}

/// Whether `text` is that word, or begins with it and a colon.
const fn begins_with_word(text: &[u8], word: &[u8]) -> bool {
    if text.len() < word.len() || (text.len() > word.len() && text[word.len()] != b':') {
        return false;
    }
    let mut place = 0;
    while place < word.len() {
        if text[place] != word[place] {
            return false;
        }
        place += 1;
    }
    true
}

/// Checks the syntax of a grant, and finds its kind.
fn check(grant: &str) -> Result<GrantKind, String> {
    let (word, behind) = grant.split_once(':').map_or((grant, None), |(word, behind)| (word, Some(behind)));
    let Some((kind, _, wanted)) = KINDS.iter().find(|(_, known, _)| *known == word) else {
        let names = KINDS.iter().map(|(_, name, _)| *name);
        return Err(format!("`{grant}`, which is not a grant{}", suggest::hint(word, names)));
    };
    match (wanted, behind) {
        (GrantArg::Nothing | GrantArg::MaybeName(_), None) => Ok(()),
        (GrantArg::MaybeName(_), Some(name)) if !name.is_empty() => Ok(()),
        (GrantArg::Nothing, Some(_)) => Err(format!("`{grant}`, but `{word}` takes no argument")),
        (GrantArg::Name(_), Some(name)) if !name.is_empty() => match kind {
            GrantKind::Http => Target::parse(name).map(drop).map_err(|reason| format!("`{grant}`, but {reason}")),
            GrantKind::Hook => check_hook(grant, name),
            _ => Ok(()),
        },
        (GrantArg::OneOf(names), Some(name)) if name == "*" || names.contains(&name) => Ok(()),
        (GrantArg::OneOf(names), Some(name)) => {
            let near = suggest::nearest(name, names.iter().copied());
            let hint = near.map(|name| format!("; did you mean `{word}:{name}`")).unwrap_or_default();
            Err(format!("`{grant}`, which is not a grant{hint}"))
        }
        (GrantArg::Path, Some(path)) => match path.rsplit_once(':') {
            Some((path, "ro" | "rw")) if !path.is_empty() => {
                path::check(path).map_err(|reason| format!("`{grant}`, {reason}"))
            }
            _ => Err(format!("`{grant}`, which does not end with `:ro` or `:rw`")),
        },
        (GrantArg::Name(_) | GrantArg::MaybeName(_) | GrantArg::OneOf(_), _) => {
            Err(format!("`{grant}`, which lacks its target, as in `{word}:NAME`"))
        }
        (GrantArg::Path, None) => Err(format!("`{grant}`, which lacks a path, as in `fs:PATH:ro`")),
    }?;
    Ok(*kind)
}

/// Checks that a hook grant names a hook, or a prefix of several.
fn check_hook(grant: &str, hook: &str) -> Result<(), String> {
    let mut known = HOOKS.iter().map(|spec| spec.grant).chain([Hook::Manifest.grant()]);
    let is_known = match grant.strip_suffix('*') {
        Some(prefix) => known.any(|known| known.starts_with(prefix)),
        None => known.any(|known| known == grant),
    };
    if is_known {
        return Ok(());
    }
    let names = HOOKS.iter().filter_map(|spec| spec.grant.strip_prefix("hook:"));
    let near = suggest::nearest(hook, names);
    let hint =
        near.map_or("; `bub-wasm hooks` lists all hooks".to_owned(), |near| format!("; did you mean `hook:{near}`"));
    Err(format!("`{grant}`, and there is no such hook{hint}"))
}

/// A word for the shell, quoted where necessary.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.:/,@~".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_kind_in_order() {
        for (place, (kind, word, _)) in KINDS.iter().enumerate() {
            assert_eq!((*kind as usize, kind.word()), (place, *word));
        }
    }
}
