//! The files of a workspace at one moment.

use super::Limits;
use super::node::Node;
use super::path::WorkspacePath;
use anyhow::{Result, ensure};
use ignore::WalkBuilder;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The files, by path.
pub(crate) type Listing = BTreeMap<WorkspacePath, Node>;

/// Lists the files of a workspace. Links are not followed, other file systems not entered; `.git` and `home` are left out.
///
/// # Errors
///
/// There are too many files.
pub(crate) fn list(workspace: &Path, home: &Path, limits: &Limits) -> Result<Listing> {
    let mut builder = WalkBuilder::new(workspace);
    builder
        .standard_filters(false)
        .git_ignore(!limits.ignored)
        .ignore(!limits.ignored)
        .require_git(false)
        .same_file_system(true)
        .follow_links(false);
    let left_out = [home.to_owned(), home.join(super::store::DIR)];
    builder.filter_entry(move |entry| {
        entry.depth() == 0 || (entry.file_name() != ".git" && left_out.iter().all(|path| entry.path() != path))
    });
    let mut listing = Listing::new();
    // A directory that cannot be read keeps its secret, and its files are not put back.
    for entry in builder.build().flatten() {
        let Ok(relative) = entry.path().strip_prefix(workspace) else { continue };
        let Some(path) = WorkspacePath::new(relative) else { continue };
        if let Some(node) = look(entry.path()) {
            listing.insert(path, node);
        }
        ensure!(
            listing.len() <= limits.max_files,
            "the workspace has more than {} files and directories: leave some out by `.gitignore`, or raise `max_files` of `[undo]`",
            limits.max_files
        );
    }
    Ok(listing)
}

/// The file at the path; `None`: there is none, or none of those that are kept.
pub(crate) fn look(path: &Path) -> Option<Node> {
    let meta = path.symlink_metadata().ok()?;
    Node::new(&meta, || Ok(std::fs::read_link(path)?.as_os_str().as_bytes().to_owned()))
}
