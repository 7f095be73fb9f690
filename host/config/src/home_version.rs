//! The version of a home, in the file `version`: a program refuses a home that a newer one has changed.
//!
//! A home without the file is of version 0, which programs wrote that did not mark it. Version 1 differs in nothing but
//! the mark. A version that changes what older programs read gets a step in [`STEPS`], forward and backward.

use anyhow::{Context, Result, bail, ensure};
use bub_system::files::{Draft, read_text};
use bub_tape::failpoint;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// The version that this program writes, and the newest that it reads.
pub const HOME_VERSION: u32 = STEPS.len() as u32;

/// The file with the version.
const FILE: &str = "version";

/// The longest file, in bytes.
const MAX: usize = 64;

/// A change of a home from one version to the next, and back. Each can be repeated: what was done before it was killed does
/// not matter.
struct Step {
    /// What is different then, for the log.
    about: &'static str,
    up: fn(&Path) -> Result<()>,
    down: fn(&Path) -> Result<()>,
}

/// The steps from version 0 on.
const STEPS: &[Step] = &[Step {
    about: "the file `version` says which programs can read it",
    // Writing the version is all that there is to do.
    up: |_| Ok(()),
    down: |_| Ok(()),
}];

/// The version of the home; 0 if it has none.
///
/// # Errors
///
/// The file cannot be read, or is no version.
pub fn home_version(home: &Path) -> Result<u32> {
    let path = home.join(FILE);
    let Some((text, _)) = read_text(&path, MAX).map_err(anyhow::Error::msg)? else { return Ok(0) };
    let version = text.trim_end().parse().ok();
    version.with_context(|| {
        format!(
            "`{}` is damaged: write `{HOME_VERSION}` into it if no newer program has used this home",
            path.display()
        )
    })
}

/// Refuses a home that a newer program has changed.
pub(super) fn check(home: &Path) -> Result<()> {
    let version = home_version(home)?;
    ensure!(
        version <= HOME_VERSION,
        "the home `{}` has version {version}, and this program knows versions up to {HOME_VERSION}: update the program, or \
         take the home back with the newer one's `home downgrade`",
        home.display()
    );
    Ok(())
}

/// Brings a home to the version of this program. Returns the version that it had if that was another one.
///
/// # Errors
///
/// A step failed, or the version cannot be written. The next start tries again.
pub(super) fn upgrade(home: &Path) -> Result<Option<u32>> {
    let before = home_version(home)?;
    let steps = STEPS.iter().enumerate().skip(before as usize);
    for (from, step) in steps {
        let version = from as u32 + 1;
        failpoint::point("home.upgrade");
        (step.up)(home).with_context(|| format!("the home cannot be brought to version {version}"))?;
        failpoint::point("home.upgraded");
        write(home, version)?;
        failpoint::point("home.upgrade.written");
        tracing::info!("the home `{}` has version {version} now: {}", home.display(), step.about);
    }
    Ok((before < HOME_VERSION).then_some(before))
}

/// Takes a home back by one version, for an older program. Returns its version then.
///
/// # Errors
///
/// The home has version 0, the step failed, or the version cannot be written.
pub fn downgrade(home: &Path) -> Result<u32> {
    check(home)?;
    let version = home_version(home)?;
    let Some((below, step)) = version.checked_sub(1).and_then(|below| Some((below, STEPS.get(below as usize)?))) else {
        bail!("the home `{}` has version 0: there is none before", home.display());
    };
    failpoint::point("home.downgrade");
    (step.down)(home).with_context(|| format!("the home cannot be taken back to version {below}"))?;
    failpoint::point("home.downgraded");
    write(home, below)?;
    failpoint::point("home.downgrade.written");
    tracing::info!("the home `{}` has version {below} now, without: {}", home.display(), step.about);
    Ok(below)
}

fn write(home: &Path, version: u32) -> Result<()> {
    let path = home.join(FILE);
    let wrong = || format!("`{}` cannot be written", path.display());
    if version == 0 {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error).with_context(wrong),
            _ => Ok(()),
        };
    }
    let mut draft = Draft::new(&path, 0o600).with_context(wrong)?;
    writeln!(draft, "{version}").with_context(wrong)?;
    draft.publish_durably().with_context(wrong)
}
