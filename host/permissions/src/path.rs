//! Paths in grants of directories.

use std::path::{Component, Path};

/// The workspace, in a grant.
const WORKSPACE: &str = "<workspace>";

/// The user's home directory, in a grant.
const HOME: &str = "~";

/// The path of a grant.
pub enum GrantedPath<'a> {
    /// A path outside the workspace.
    Path(&'a str),
    /// The workspace itself.
    Workspace,
    /// A directory inside the workspace.
    InWorkspace(&'a str),
    /// A directory in the user's home.
    InHome(&'a str),
}

impl<'a> GrantedPath<'a> {
    /// Parses the path of a grant.
    pub fn parse(path: &'a str) -> Self {
        let is_inside = |inside: &&str| !inside.is_empty() && !inside.starts_with('/');
        let below = |of: &str| path.strip_prefix(of)?.strip_prefix('/').filter(is_inside);
        if path == WORKSPACE {
            Self::Workspace
        } else if let Some(inside) = below(WORKSPACE) {
            Self::InWorkspace(inside)
        } else if let Some(inside) = below(HOME) {
            Self::InHome(inside)
        } else {
            Self::Path(path)
        }
    }

    /// The name of the directory for the plugin: relative to the workspace, or as found.
    pub fn name(&self, found: &Path) -> String {
        match self {
            Self::Workspace => ".".to_owned(),
            Self::InWorkspace(inside) => (*inside).to_owned(),
            Self::Path(_) | Self::InHome(_) => found.to_string_lossy().into_owned(),
        }
    }
}

/// Checks a grant's path: it must not depend on the working directory.
///
/// # Errors
///
/// The path is invalid. The error describes the problem.
pub(crate) fn check(path: &str) -> Result<(), String> {
    match GrantedPath::parse(path) {
        GrantedPath::Path(path) if !path.starts_with('/') => {
            Err("whose path is neither absolute nor `<workspace>`, `<workspace>/DIR` or `~/DIR`".to_owned())
        }
        GrantedPath::InWorkspace(inside) if Path::new(inside).components().any(|part| part == Component::ParentDir) => {
            Err("which escapes the workspace".to_owned())
        }
        _ => Ok(()),
    }
}
