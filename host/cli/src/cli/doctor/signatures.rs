//! Whether `plugins.lock` fits what is installed, and whether keys and advisories can be used.

use super::{Diagnostic, State, diagnostic};
use crate::cli::plugin::installed_files;
use bub_config::Config;
use bub_registry::{Advisories, LOCK_FILE, Lock, today};
use bub_types::text::one_line;

pub(super) fn diagnostics(config: &Config) -> Vec<Diagnostic> {
    let mut found = lock(config);
    let keys = config.trust.keys.iter().map(|(name, key)| ("key", name, key.revoked, key.expires));
    let identities = config.trust.identities.iter();
    let identities = identities.map(|(name, identity)| ("identity", name, identity.revoked, identity.expires));
    for (kind, name, is_revoked, expires) in keys.chain(identities) {
        let what = format!("trusted {kind} `{}`", one_line(name));
        if is_revoked {
            let text = "is revoked: what it has signed is not loaded where a signature is required";
            found.push(diagnostic(what, State::Note, text));
        } else if let Some(last) = expires.filter(|last| *last < today()) {
            let text = format!("has expired on {last}: it signs nothing new; what was installed before stays");
            found.push(diagnostic(what, State::Note, text));
        }
    }
    match config.trust.read_root() {
        Ok(None) if config.trust.identities.is_empty() => {}
        Ok(None) => {
            let text = "`[trust.sigstore]` names no `root`: no keyless signature can be verified";
            found.push(diagnostic("trusted root", State::Wrong, text));
        }
        Ok(Some(_)) => found.push(diagnostic("trusted root", State::Well, "keyless signatures can be verified")),
        Err(error) => found.push(diagnostic("trusted root", State::Wrong, one_line(&format!("{error:#}")))),
    }
    if let Some(file) = config.trust.advisories.as_ref().map(|file| config.home.join(file)) {
        let what = "advisories".to_owned();
        found.push(match Advisories::read(&file) {
            Ok(advisories) => diagnostic(what, State::Well, format!("{} in `{}`", advisories.len(), file.display())),
            Err(error) => diagnostic(what, State::Wrong, one_line(&format!("{error:#}"))),
        });
    }
    found
}

/// What of the lock is not so.
fn lock(config: &Config) -> Vec<Diagnostic> {
    let lock = match Lock::read(&config.home) {
        Ok(lock) => lock,
        Err(error) => return vec![diagnostic(LOCK_FILE, State::Wrong, one_line(&format!("{error:#}")))],
    };
    let Ok(installed) = installed_files(config) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, locked) in lock.plugins.iter().filter(|(_, locked)| !locked.removed) {
        let name = one_line(name);
        let text = match installed.iter().find(|(known, _)| *known == name) {
            Some((_, digest)) if *digest == locked.digest => continue,
            Some(_) => format!(
                "the file of plugin `{name}` is another one than was installed from {}; `bub-wasm plugin audit` says more",
                one_line(&locked.source)
            ),
            None => format!(
                "plugin `{name}` is in it, and its file is gone: add it again from {}",
                one_line(&locked.source)
            ),
        };
        found.push(diagnostic(LOCK_FILE, State::Note, text));
    }
    found
}
