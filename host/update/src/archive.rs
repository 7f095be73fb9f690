//! The program in an archive: `bub-wasm-VERSION-TARGET/bin/bub-wasm` in a `.tar.gz`. Nothing else of it is unpacked.

use crate::NAME;
use anyhow::{Context, Result, bail, ensure};
use bub_types::text::escaped;
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path};

/// Entries of an archive, at most.
const MAX_ENTRIES: usize = 10_000;

/// Bytes that an archive may unpack to.
const MAX_UNPACKED: u64 = 1 << 30;

/// The path of the program in an archive.
pub(crate) fn program_path(version: &str, target: &str) -> String {
    format!("{NAME}-{version}-{target}/bin/{NAME}")
}

/// Unpacks the program of an archive, and reads the archive to its end.
///
/// # Errors
///
/// It is no archive, has no program or more than one, has paths that lead out of it, or is too large.
pub(crate) fn unpack(archive: &File, version: &str, target: &str, to: &mut dyn io::Write) -> Result<()> {
    let wanted = program_path(version, target);
    let damaged = |error: io::Error| anyhow::anyhow!("the archive is damaged: {error}");
    // One more byte than allowed tells a larger archive from one of that size.
    let mut bounded = GzDecoder::new(archive).take(MAX_UNPACKED + 1);
    let (mut found, mut count) = (false, 0);
    let mut tar = tar::Archive::new(&mut bounded);
    for entry in tar.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        count += 1;
        ensure!(count <= MAX_ENTRIES, "the archive has more than {MAX_ENTRIES} files");
        let path = entry.path().map_err(damaged)?.into_owned();
        let shown = escaped(&path.to_string_lossy(), 200);
        ensure!(stays_inside(&path), "the archive has `{shown}`, which leads out of it");
        if path != Path::new(&wanted) {
            continue;
        }
        ensure!(entry.header().entry_type().is_file(), "`{shown}` in the archive is not a plain file");
        ensure!(!found, "the archive has `{shown}` twice");
        found = true;
        let size = entry.size();
        let mut piece = vec![0; 256 << 10];
        let mut length = 0;
        loop {
            let read = entry.read(&mut piece).map_err(damaged)?;
            if read == 0 {
                break;
            }
            length += read as u64;
            to.write_all(piece.get(..read).unwrap_or_default()).context("the program cannot be written")?;
        }
        ensure!(length == size, "the archive is damaged: it ends within `{shown}`");
    }
    // The checksum of what was compressed is behind its end.
    io::copy(&mut bounded, &mut io::sink()).map_err(damaged)?;
    ensure!(bounded.limit() > 0, "the archive unpacks to more than {} MiB", MAX_UNPACKED >> 20);
    if !found {
        bail!("the archive has no `{}`", escaped(&wanted, 200));
    }
    Ok(())
}

fn stays_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
