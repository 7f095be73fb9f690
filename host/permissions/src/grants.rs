//! Grants: the permissions of a plugin, as users write them.

use crate::path;
use bub_egress::Target;
use bub_types::hook::{HOOKS, Hook};
use bub_types::suggest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A set of grants: `tape:read`, `model:openai:gpt-5`, `tools:memory.*`, `agent`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Grants(BTreeSet<String>);

/// The kinds of grants, and their arguments.
const KINDS: &[(&str, GrantArg)] = &[
    ("hook", GrantArg::Name),
    ("tape", GrantArg::OneOf(&["read", "event", "append", "reset", "workspace"])),
    ("model", GrantArg::Name),
    ("tools", GrantArg::Name),
    ("agent", GrantArg::Nothing),
    ("http", GrantArg::Name),
    ("fs", GrantArg::Path),
    ("process", GrantArg::Nothing),
    ("secret", GrantArg::Name),
    ("usage", GrantArg::Nothing),
    ("recall", GrantArg::Nothing),
];

/// The argument of a grant, after the colon.
enum GrantArg {
    Nothing,
    Name,
    OneOf(&'static [&'static str]),
    /// A path, and `:ro` or `:rw`.
    Path,
}

/// All forms of grants, with a placeholder in capitals for each name, for the reference.
pub fn forms() -> Vec<String> {
    let of_kind = |(kind, behind): &(&str, GrantArg)| match behind {
        GrantArg::Nothing => vec![(*kind).to_owned()],
        GrantArg::Name => {
            let name = match *kind {
                "secret" => "NAME",
                "http" => "HOST",
                "tools" => "TOOL",
                kind => &kind.to_uppercase(),
            };
            vec![format!("{kind}:{name}"), format!("{kind}:*")]
        }
        GrantArg::OneOf(names) => names.iter().chain(&["*"]).map(|name| format!("{kind}:{name}")).collect(),
        GrantArg::Path => vec![format!("{kind}:PATH:ro"), format!("{kind}:PATH:rw")],
    };
    KINDS.iter().flat_map(of_kind).collect()
}

impl Grants {
    /// A set of grants that are known to be valid.
    pub fn new(grants: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(grants.into_iter().map(Into::into).collect())
    }

    /// Checks the syntax of a grant.
    ///
    /// # Errors
    ///
    /// What is wrong with it, with a suggestion.
    pub fn check(grant: &str) -> Result<(), String> {
        let (kind, behind) = grant.split_once(':').map_or((grant, None), |(kind, behind)| (kind, Some(behind)));
        let Some((_, wanted)) = KINDS.iter().find(|(known, _)| *known == kind) else {
            let names = KINDS.iter().map(|(name, _)| *name);
            return Err(format!("`{grant}`, which is not a grant{}", suggest::hint(kind, names)));
        };
        match (wanted, behind) {
            (GrantArg::Nothing, None) => Ok(()),
            (GrantArg::Nothing, Some(_)) => Err(format!("`{grant}`, but `{kind}` takes no argument")),
            (GrantArg::Name, Some(target)) if kind == "http" && !target.is_empty() => {
                Target::parse(target).map(drop).map_err(|reason| format!("`{grant}`, but {reason}"))
            }
            (GrantArg::Name, Some(hook)) if kind == "hook" && !hook.is_empty() => check_hook(grant, hook),
            (GrantArg::Name, Some(name)) if !name.is_empty() => Ok(()),
            (GrantArg::OneOf(names), Some(name)) if name == "*" || names.contains(&name) => Ok(()),
            (GrantArg::OneOf(names), Some(name)) => {
                let near = suggest::nearest(name, names.iter().copied());
                let hint = near.map(|name| format!("; did you mean `{kind}:{name}`")).unwrap_or_default();
                Err(format!("`{grant}`, which is not a grant{hint}"))
            }
            (GrantArg::Path, Some(path)) => match path.rsplit_once(':') {
                Some((path, "ro" | "rw")) if !path.is_empty() => {
                    path::check(path).map_err(|reason| format!("`{grant}`, {reason}"))
                }
                _ => Err(format!("`{grant}`, which does not end with `:ro` or `:rw`")),
            },
            (GrantArg::Name | GrantArg::OneOf(_), _) => {
                Err(format!("`{grant}`, which lacks its target, as in `{kind}:NAME`"))
            }
            (GrantArg::Path, None) => Err(format!("`{grant}`, which lacks a path, as in `fs:PATH:ro`")),
        }
    }

    /// Whether the set allows `wanted`. A grant that ends with `*` allows everything with its prefix.
    pub fn allow(&self, wanted: &str) -> bool {
        self.0.iter().any(|grant| match grant.strip_suffix('*') {
            Some(prefix) => wanted.starts_with(prefix),
            None => grant == wanted,
        })
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Adds a grant; returns whether it is new.
    pub fn insert(&mut self, grant: &str) -> bool {
        self.0.insert(grant.to_owned())
    }

    /// Removes a grant; returns whether it was there.
    pub fn remove(&mut self, grant: &str) -> bool {
        self.0.remove(grant)
    }
}

impl TryFrom<Vec<String>> for Grants {
    type Error = String;

    fn try_from(grants: Vec<String>) -> Result<Self, String> {
        grants.iter().try_for_each(|grant| Self::check(grant))?;
        Ok(Self::new(grants))
    }
}

impl From<Grants> for Vec<String> {
    fn from(grants: Grants) -> Self {
        grants.0.into_iter().collect()
    }
}

/// A grant as a shell word, quoted where necessary.
pub fn shell_word(grant: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.:/,@~".contains(c);
    if grant.chars().all(is_plain) { grant.to_owned() } else { format!("'{}'", grant.replace('\'', r"'\''")) }
}

/// Checks that a hook grant names a hook, or a prefix of several.
///
/// # Errors
///
/// What is wrong with it, with a suggestion.
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
