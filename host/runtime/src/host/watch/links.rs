//! Where links among the plugins' files lead: what is to be watched, so that a plugin changes when its target does.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Links that are followed from one file: as many as the system follows.
const MAX_LINKS: usize = 40;

/// Links of one directory that are followed: as many as files that are loaded from it.
const MAX_FILES: usize = 64;

/// The paths on which hangs where the links of that directory lead: each link on the way, and the file at the end of it, or
/// what of the way is not there.
pub(super) fn paths(dir: &Path) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    // Behind a link to the directory, `..` means the directory that it leads to.
    let Ok(dir) = dir.canonicalize() else { return paths };
    let files = std::fs::read_dir(&dir).into_iter().flatten().flatten();
    let is_link = |file: &std::fs::DirEntry| {
        Path::new(&file.file_name()).extension().is_some_and(|extension| extension == "wasm")
            && file.file_type().is_ok_and(|kind| kind.is_symlink())
    };
    let mut names: Vec<OsString> = files.filter(is_link).map(|file| file.file_name()).collect();
    names.sort();
    names.into_iter().take(MAX_FILES).for_each(|name| follow(dir.clone(), name, &mut paths));
    paths
}

/// Follows one link as the system does, a part of the path at a time.
fn follow(mut at: PathBuf, name: OsString, paths: &mut BTreeSet<PathBuf>) {
    let mut rest = VecDeque::from([name]);
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            at.pop();
            continue;
        }
        let path = at.join(&part);
        let Ok(meta) = path.symlink_metadata() else {
            paths.insert(path);
            return;
        };
        if !meta.is_symlink() {
            if rest.is_empty() {
                paths.insert(path);
            } else {
                at = path;
            }
            continue;
        }
        links += 1;
        let target = match std::fs::read_link(&path) {
            Ok(target) if links <= MAX_LINKS => target,
            _ => return,
        };
        paths.insert(path);
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        for part in target.components().rev() {
            match part {
                Component::Normal(name) => rest.push_front(name.to_owned()),
                Component::ParentDir => rest.push_front("..".into()),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
    }
}
