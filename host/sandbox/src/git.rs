//! The parts of a git repository that git runs or obeys later, outside of the sandbox.

use std::fs;
use std::path::{Path, PathBuf};

/// The largest file of git that is read here.
const MAX_FILE: u64 = 4096;

/// A repository's directory, outside of the workspace or in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GitDir {
    /// Written by git: objects, references, the index. Bound by itself, so that it cannot be replaced by another.
    pub(crate) write: Vec<PathBuf>,
    /// Configuration and hooks, which stay as they are.
    pub(crate) keep: Vec<PathBuf>,
}

/// The repository whose work tree the workspace is.
pub(crate) fn of_workspace(workspace: &Path) -> Option<GitDir> {
    let dot_git = workspace.join(".git");
    let kind = fs::symlink_metadata(&dot_git).ok()?;
    if kind.is_dir() {
        return Some(GitDir { keep: obeyed(&dot_git), write: vec![dot_git] });
    }
    // A linked work tree or a submodule has a file that names its directory. A stranger may have written it, so that
    // directory must name the workspace, too.
    let named = read(&dot_git).filter(|_| kind.is_file())?;
    let named = workspace.join(named.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let back = read(&named.join("gitdir"))?;
    if PathBuf::from(back.trim()).canonicalize().ok()? != dot_git.canonicalize().ok()? {
        return None;
    }
    let common = read(&named.join("commondir")).unwrap_or_else(|| ".".to_owned());
    let common = named.join(common.trim()).canonicalize().ok()?;
    // `git` itself decides by these whether a directory is a repository.
    if !common.join("HEAD").is_file() || !common.join("objects").is_dir() || !named.starts_with(&common) {
        return None;
    }
    let keep = [dot_git].into_iter().chain(obeyed(&common)).chain(obeyed(&named)).collect();
    Some(GitDir { write: vec![common], keep })
}

/// What of a repository's directory runs later.
fn obeyed(directory: &Path) -> Vec<PathBuf> {
    let mut all = vec![directory.join("config"), directory.join("hooks"), directory.join("config.worktree")];
    all.push(directory.join("commondir"));
    all.push(directory.join("modules"));
    all.retain(|path| path.symlink_metadata().is_ok_and(|kind| !kind.is_symlink()));
    all
}

fn read(path: &Path) -> Option<String> {
    let known = fs::metadata(path).ok()?;
    if !known.is_file() || known.len() > MAX_FILE {
        return None;
    }
    fs::read_to_string(path).ok()
}
