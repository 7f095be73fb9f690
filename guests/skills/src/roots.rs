//! The directories in which skills lie.

use crate::Error;
use crate::bub::plugin::config;
use std::path::PathBuf;

/// What opens the directories of skills, the user's first. Each by itself is enough to have skills.
const GRANTS: [&str; 3] =
    ["fs:~/.agents/skills:ro", "fs:<workspace>/.agents/skills:ro", "fs:<workspace>/.agent/skills:ro"];

/// The workspace's directory of skills, and where it used to be, as the host opens them.
const OF_WORKSPACE: [&str; 2] = [".agents/skills", ".agent/skills"];

/// One directory of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Under which path this plugin finds it.
    pub path: PathBuf,
    /// Under which path everybody else does.
    pub shown: String,
    pub kind: Kind,
}

/// Whose skills lie in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    User,
    Workspace,
    /// The workspace's, where they used to lie.
    Legacy,
}

/// Those that the host has opened, the user's first: a workspace's skill never takes the name of the user's. None where
/// there is no such directory.
///
/// # Errors
///
/// `denied`, when none may be opened.
pub fn open(workspace: &str) -> Result<Vec<Root>, Error> {
    let opened = wasip2::filesystem::preopens::get_directories();
    let roots = of(opened.into_iter().map(|(_, name)| name).collect(), workspace);
    if roots.is_empty() {
        any_is_granted()?;
    }
    Ok(roots)
}

fn any_is_granted() -> Result<(), Error> {
    let [users, workspaces @ ..] = GRANTS;
    let denied = config::granted(users);
    if workspaces.into_iter().any(|grant| config::granted(grant).is_ok()) { Ok(()) } else { denied }
}

/// An absolute directory is the user's: the workspace's are opened under the name that they have in it.
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
    fn a_directory_that_was_not_opened_is_none() {
        assert_eq!(of(Vec::new(), "/ws"), []);
        assert_eq!(of(vec![".".to_owned()], "/ws"), []);
    }
}
