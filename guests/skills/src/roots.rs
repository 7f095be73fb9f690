//! The directories of skills.

use crate::{LEGACY, OWN, WORKSPACE};
use bub_guest::Result;
use bub_guest::grant::Grant;
use std::path::PathBuf;

/// The workspace's directory of skills, and where it used to be, as the host opens them.
const OF_WORKSPACE: [&str; 2] = [".agents/skills", ".agent/skills"];

/// One directory of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The path for this plugin.
    pub path: PathBuf,
    /// The path for users.
    pub shown: String,
    pub kind: Kind,
}

/// The owner of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    User,
    Workspace,
    /// The workspace, at the former place.
    Legacy,
}

/// The directories that the host has opened, the user's first, so that a workspace's skill never replaces one of the
/// user. Empty if there are none.
///
/// # Errors
///
/// `denied`, when none may be opened.
pub fn open(workspace: &str) -> Result<Vec<Root>> {
    let opened = wasip2::filesystem::preopens::get_directories();
    let roots = of(opened.into_iter().map(|(_, name)| name).collect(), workspace);
    if roots.is_empty() {
        any_is_granted()?;
    }
    Ok(roots)
}

/// Each by itself is enough to have skills.
fn any_is_granted() -> Result<()> {
    let denied = OWN.check();
    if [WORKSPACE, LEGACY].iter().any(|grant| grant.check().is_ok()) { Ok(()) } else { denied }
}

/// An absolute directory is the user's: the workspace's have relative names.
fn of(mut opened: Vec<String>, workspace: &str) -> Vec<Root> {
    opened.sort();
    let users = opened.iter().filter(|name| name.starts_with('/'));
    let users = users.map(|name| Root { path: name.into(), shown: name.clone(), kind: Kind::User });
    let workspaces = OF_WORKSPACE.into_iter().zip([Kind::Workspace, Kind::Legacy]);
    let workspaces = workspaces.filter(|(name, _)| opened.iter().any(|opened| opened == name)).map(|(name, kind)| {
        let shown = format!("{}/{name}", workspace.trim_end_matches('/'));
        Root { path: name.into(), shown, kind }
    });
    users.chain(workspaces).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_directory_comes_before_those_of_the_workspace() {
        let opened = [".agent/skills", ".agents/skills", "/home/me/.agents/skills"].map(str::to_owned).to_vec();
        let roots = of(opened, "/ws");
        let shown: Vec<_> = roots.iter().map(|root| (root.shown.as_str(), root.kind)).collect();
        let expected = [
            ("/home/me/.agents/skills", Kind::User),
            ("/ws/.agents/skills", Kind::Workspace),
            ("/ws/.agent/skills", Kind::Legacy),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_directory_that_was_not_opened_is_skipped() {
        assert_eq!(of(Vec::new(), "/ws"), []);
        assert_eq!(of(vec![".".to_owned()], "/ws"), []);
    }
}
