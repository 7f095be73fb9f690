//! Puts a project into its directory: all of it, or nothing.

use super::kit::Files;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// # Errors
///
/// Something else than an empty directory has that name.
pub(super) fn check_free(target: &Path) -> Result<()> {
    let what = match target.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("`{}`", target.display())),
        Ok(about) if about.is_dir() => {
            if fs::read_dir(target).is_ok_and(|entries| entries.count() == 0) {
                return Ok(());
            }
            "is not empty"
        }
        Ok(_) => "is not a directory",
    };
    bail!("`{}` is there and {what}; nothing was changed: choose another name, or another directory", target.display())
}

/// Writes the files beside the target, and gives them its name at the end.
///
/// # Errors
///
/// They cannot be written, or there is something at the target. Nothing is left.
pub(super) fn create(target: &Path, files: &Files) -> Result<()> {
    let here = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The umask applies, as to any directory that is made.
    let draft = tempfile::Builder::new()
        .prefix(".bub-wasm-new.")
        .permissions(fs::Permissions::from_mode(0o777))
        .tempdir_in(here)
        .with_context(|| format!("no directory can be made in `{}`", here.display()))?;
    for (name, file) in files {
        let path = draft.path().join(name);
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(&path, &file.bytes)?;
            if file.is_executable {
                fs::set_permissions(
                    &path,
                    fs::Permissions::from_mode(fs::metadata(&path)?.permissions().mode() | 0o111),
                )?;
            }
            io::Result::Ok(())
        };
        write().with_context(|| format!("`{name}` of the project cannot be written; nothing was kept"))?;
    }
    // Fails if the directory has content by now.
    check_free(target)?;
    fs::rename(draft.path(), target)
        .with_context(|| format!("`{}` cannot be made; nothing was kept", target.display()))?;
    // The file that it names no longer exists.
    let _ = draft.keep();
    Ok(())
}
