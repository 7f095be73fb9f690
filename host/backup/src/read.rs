//! Reading a backup from its first to its last entry.

use crate::manifest::{FORMAT, FORMAT_FILE, File, MANIFEST_FILE, Manifest, Measured, SECRETS_FILE};
use crate::seal;
use anyhow::{Context, Result, anyhow, bail, ensure};
use bub_types::text::one_line;
use flate2::read::MultiGzDecoder;
use std::fs;
use std::io::{self, BufReader, Read};
use std::path::{Component, Path};
use tar::Archive;

/// The longest entry that is read at once, in bytes: the manifest of a million files, or the secrets.
const MAX_ENTRY: u64 = 256 << 20;

/// The longest end of a tar archive that is looked at, in bytes: blocks of zeros.
const MAX_END: u64 = 1 << 20;

/// Receives a file: its path in the archive, and its content.
pub(crate) type Receive<'a> = &'a mut dyn FnMut(&str, &mut dyn Read) -> Result<()>;

/// Checks that a backup is whole, and every file in it as it was written. `passphrase`: its secrets too.
///
/// # Errors
///
/// One line that names what is wrong.
pub fn verify(backup: &Path, passphrase: Option<&str>) -> Result<Manifest> {
    let mut sealed = None;
    let manifest = through(backup, &mut |path, content| {
        if path == SECRETS_FILE {
            sealed = Some(small(content)?);
        }
        Ok(())
    })?;
    if let (Some(passphrase), Some(sealed)) = (passphrase, &sealed) {
        seal::open(sealed, passphrase)?;
    }
    Ok(manifest)
}

/// Reads all entries, in order, and then compares them with the manifest.
pub(crate) fn through(backup: &Path, receive: Receive<'_>) -> Result<Manifest> {
    let shown = one_line(&backup.display().to_string());
    let file = fs::File::open(backup).with_context(|| format!("`{shown}` cannot be opened"))?;
    read(BufReader::new(file), receive).with_context(|| format!("backup `{shown}`"))
}

fn read(file: impl Read, receive: Receive<'_>) -> Result<Manifest> {
    let mut unpacked = MultiGzDecoder::new(file);
    let mut archive = Archive::new(&mut unpacked);
    let (mut files, mut manifest, mut is_first) = (Vec::new(), None::<Manifest>, true);
    for entry in archive.entries()? {
        let mut entry = entry.map_err(|error| damaged(&error, is_first))?;
        let path = path_of(&entry.path().map_err(|error| damaged(&error, is_first))?)?;
        if std::mem::take(&mut is_first) {
            ensure!(path == FORMAT_FILE, "it is no backup of `bub-wasm`");
            let format = String::from_utf8(small(&mut entry)?).ok().and_then(|text| text.trim().parse::<u32>().ok());
            let format = format.context("it does not name its format")?;
            ensure!(format <= FORMAT, "it has format {format}, and this program knows {FORMAT}: update the program");
            continue;
        }
        ensure!(manifest.is_none(), "there is something behind its end");
        ensure!(entry.header().entry_type().is_file(), "`{}` is no file", one_line(&path));
        if path == MANIFEST_FILE {
            let read = serde_json::from_slice(&small(&mut entry)?);
            manifest = Some(read.context("its list of files is damaged")?);
            continue;
        }
        let mut measured = Measured::new(&mut entry);
        receive(&path, &mut measured).map_err(|error| of_read(error, &path))?;
        io::copy(&mut measured, &mut io::sink()).map_err(|error| damaged(&error, false))?;
        files.push(measured.into_file(&path));
    }
    // To the end, where gzip has a checksum of everything.
    let mut rest = Vec::new();
    unpacked.take(MAX_END).read_to_end(&mut rest).map_err(|error| damaged(&error, is_first))?;
    ensure!(rest.iter().all(|byte| *byte == 0), "there is something behind its end");
    let manifest = manifest.context("it is cut off: its list of files is missing")?;
    compare(&manifest.files, &files)?;
    Ok(manifest)
}

/// An error of the archive itself is damage; others are of what receives it.
fn of_read(error: anyhow::Error, path: &str) -> anyhow::Error {
    error.context(format!("`{}`", one_line(path)))
}

fn damaged(error: &io::Error, is_first: bool) -> anyhow::Error {
    match is_first {
        true => anyhow!("it is no backup of `bub-wasm`"),
        false => anyhow!("it is cut off or damaged: {}", one_line(&error.to_string())),
    }
}

fn compare(listed: &[File], found: &[File]) -> Result<()> {
    for (listed, found) in listed.iter().zip(found) {
        let path = one_line(&found.path);
        ensure!(listed.path == found.path, "`{path}` is where `{}` belongs", one_line(&listed.path));
        ensure!(listed == found, "`{path}` is damaged: its digest is another one");
    }
    match (listed.get(found.len()), found.get(listed.len())) {
        (Some(missing), _) => bail!("`{}` is missing", one_line(&missing.path)),
        (_, Some(extra)) => bail!("`{}` is not on its list of files", one_line(&extra.path)),
        _ => Ok(()),
    }
}

/// The path of an entry, which stays below the folder that it is put into.
fn path_of(path: &Path) -> Result<String> {
    let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
    let text = path.to_str().filter(|text| is_below && !text.is_empty());
    text.map(str::to_owned)
        .with_context(|| format!("`{}` is no path of a backup", one_line(&path.display().to_string())))
}

/// The content of an entry that is read at once.
pub(crate) fn small(content: &mut dyn Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    content.take(MAX_ENTRY + 1).read_to_end(&mut bytes)?;
    ensure!(bytes.len() as u64 <= MAX_ENTRY, "it is too long");
    Ok(bytes)
}
