//! What holds the programs of plugins.

use super::{Diagnostic, State, diagnostic};
use bub_runtime::host::Host;
use bub_sandbox::Backend;
use bub_types::text::one_line;

/// What it is called in the report.
const WHAT: &str = "sandbox for programs";

pub(super) fn diagnostics(host: &Host) -> Vec<Diagnostic> {
    let config = &host.config;
    let sandbox = host.sandboxes.find(config);
    let why = one_line(&sandbox.why().join("; "));
    let mut text = sandbox.backend().to_string();
    if let Backend::Bwrap(path) = sandbox.backend() {
        text.push_str(&format!(" (`{}`)", path.display()));
    }
    let gaps = sandbox.gaps();
    if !gaps.is_empty() {
        text.push_str(&format!("; it does not hold everything: {}", gaps.join("; ")));
    }
    if !why.is_empty() {
        text.push_str(&format!("; a better one is not used: {why}"));
    }
    let state = match sandbox.backend() {
        Backend::Bwrap(_) => State::Well,
        Backend::None if config.process.strict => State::Wrong,
        Backend::None | Backend::Landlock { .. } => State::Note,
    };
    if *sandbox.backend() == Backend::None && config.process.strict {
        text.push_str("; `strict` of `[process]` lets no program run");
    }
    let mut diagnostics = vec![diagnostic(WHAT, state, text)];
    let is_held = *sandbox.backend() != Backend::None;
    if is_held && !sandbox.has_groups(&config.process.limits.limits()) {
        let text = "memory is limited for each process and not for all together, as no cgroup may be made here";
        diagnostics.push(diagnostic("limits of programs", State::Well, text));
    }
    if is_held && std::env::home_dir().and_then(|home| home.canonicalize().ok()).as_ref() == Some(&host.workspace) {
        let text = "is your home: programs may read and change all of it but known secrets; work in a folder below it";
        diagnostics.push(diagnostic(format!("workspace `{}`", host.workspace.display()), State::Note, text));
    }
    diagnostics
}
