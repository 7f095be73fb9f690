//! Putting a backup back.

use crate::content::{Content, is_secret};
use crate::manifest::{HOME, Manifest, OUTSIDE_DATABASE, SECRETS_FILE};
use crate::read::{small, through};
use crate::seal;
use anyhow::{Context, Result, bail, ensure};
use bub_system::files::make_private_dir;
use bub_types::text::one_line;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The folder of signed heads, and of the key that signs them.
const EVIDENCE: &str = "audit/";

/// Puts a backup into a home that is empty or does not exist: as a whole, or not at all. `passphrase`: with the secrets.
///
/// A database of tapes that was outside of the home is put into it, as `tapes.sqlite`.
///
/// # Errors
///
/// The home has files, the backup is damaged, the passphrase is another one, or something cannot be written.
pub fn restore(backup: &Path, home: &Path, passphrase: Option<&str>) -> Result<Manifest> {
    let shown = one_line(&home.display().to_string());
    let wrong = || format!("the home `{shown}` cannot be written");
    match fs::read_dir(home) {
        Ok(mut files) => ensure!(files.next().is_none(), "the home `{shown}` has files: name an empty or a new one"),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(wrong),
    }
    let parent = home.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_private_dir(parent).with_context(wrong)?;
    let draft = tempfile::Builder::new().prefix(".bub-restore-").tempdir_in(parent).with_context(wrong)?;
    fs::set_permissions(draft.path(), fs::Permissions::from_mode(0o700)).with_context(wrong)?;
    let mut sealed = None;
    let manifest = through(backup, &mut |path, content| match (path, path.strip_prefix(HOME)) {
        (SECRETS_FILE, _) => {
            sealed = Some(small(content)?);
            Ok(())
        }
        // Without the key that signed them, signed heads would say that it was taken away.
        (_, Some(within)) if within.starts_with(EVIDENCE) && passphrase.is_none() => Ok(()),
        (OUTSIDE_DATABASE, _) => write(draft.path(), OUTSIDE_DATABASE, content),
        (_, Some(within)) => write(draft.path(), within, content),
        _ => bail!("it is none of a backup's files"),
    })?;
    if let Some(passphrase) = passphrase {
        let sealed = sealed.context("the backup has no secrets: restore it without a passphrase")?;
        let secrets: Vec<Content> = serde_json::from_slice(&seal::open(&sealed, passphrase)?)
            .context("the secrets of the backup are damaged")?;
        for (path, content) in secrets {
            ensure!(is_secret(&path), "`{}` is no file with secrets", one_line(&path));
            write(draft.path(), &path, &mut content.as_slice())?;
        }
    }
    // Replaces an empty directory.
    fs::rename(draft.path(), home).with_context(wrong)?;
    let _moved = draft.keep();
    Ok(manifest)
}

fn write(root: &Path, path: &str, content: &mut dyn Read) -> Result<()> {
    let target = root.join(path);
    if let Some(parent) = target.parent() {
        make_private_dir(parent)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&target)?;
    io::copy(content, &mut file)?;
    Ok(file.flush()?)
}
