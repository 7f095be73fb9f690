//! Backups that are cut off, changed, or none.

use super::{TAPE, backup, home, said, tapes, write};
use bub_backup::{restore, verify};
use bub_tape::FileStore;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use tar::{Builder, Header};

/// A name and a content.
type Packed<'a> = (&'a str, &'a [u8]);

/// An archive with such files, which nothing of the crate wrote.
fn archive(path: &Path, files: &[Packed<'_>]) {
    let mut archive = Builder::new(GzEncoder::new(fs::File::create(path).expect("a file"), Compression::fast()));
    for (name, content) in files {
        let mut header = Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        // The writer of tar archives would refuse such a name.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        archive.append(&header, *content).expect("an entry");
    }
    archive.into_inner().and_then(GzEncoder::finish).expect("an archive");
}

/// What gzip makes of a file, if its checksum is right.
fn unpacked(file: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    MultiGzDecoder::new(file).read_to_end(&mut content).is_ok().then_some(content)
}

#[tokio::test]
async fn a_backup_that_is_cut_off_or_changed_is_found_and_restores_nothing() {
    let (home, place) = (home(), tempfile::tempdir().expect("a folder"));
    let store = FileStore::open(tapes(home.path())).expect("a store");
    write(&store, TAPE, vec![said("one"), said("two")]).await;
    let whole = place.path().join("whole.tar.gz");
    backup(home.path(), &whole, None).await.expect("a backup");
    let bytes = fs::read(&whole).expect("a file");
    let content = unpacked(&bytes).expect("it is whole");
    let (broken, back) = (place.path().join("broken.tar.gz"), place.path().join("back"));
    for at in (0..bytes.len()).step_by(bytes.len() / 97 + 1) {
        fs::write(&broken, &bytes[..at]).expect("a file");
        let cut = verify(&broken, None).expect_err("it is cut off");
        assert!(!format!("{cut:#}").contains('\n'), "{cut:#}");
        restore(&broken, &back, None).expect_err("it is cut off");
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        fs::write(&broken, &changed).expect("a file");
        // Some bits of gzip mean nothing.
        if unpacked(&changed).is_some_and(|unpacked| unpacked == content) {
            continue;
        }
        verify(&broken, None).expect_err("it is changed");
        restore(&broken, &back, None).expect_err("it is changed");
        assert!(!back.exists(), "something is left");
    }
    let left: Vec<_> = fs::read_dir(place.path()).expect("a folder").flatten().map(|file| file.file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn what_is_no_backup_is_named_and_restores_nothing() {
    let place = tempfile::tempdir().expect("a folder");
    let (file, back) = (place.path().join("b.tar.gz"), place.path().join("back"));
    let manifest = br#"{"program":"9","created":"","tapes":"files","has_secrets":false,"files":[]}"#;
    let format: Packed<'_> = ("bub-wasm-backup", b"1\n");
    let cases: [(&[Packed<'_>], &str); 9] = [
        (&[], "it is cut off: its list of files is missing"),
        (&[("readme", b"x")], "it is no backup of `bub-wasm`"),
        (&[("bub-wasm-backup", b"2\n")], "it has format 2, and this program knows 1: update the program"),
        (&[("bub-wasm-backup", b"\xff")], "it does not name its format"),
        (&[format, ("manifest.json", b"[]")], "its list of files is damaged"),
        (&[format, ("home/../../x", b"")], "`home/../../x` is no path of a backup"),
        (&[format, ("/etc/x", b"")], "`/etc/x` is no path of a backup"),
        (&[format, ("home/x", b"x"), ("manifest.json", manifest)], "`home/x` is not on its list of files"),
        (&[format, ("manifest.json", manifest), ("home/x", b"")], "there is something behind its end"),
    ];
    for (files, wanted) in cases {
        archive(&file, files);
        for error in [verify(&file, None), restore(&file, &back, None)] {
            let error = format!("{:#}", error.expect_err(wanted));
            assert!(error.contains(wanted), "{error}");
        }
        assert!(!back.exists() && !place.path().join("x").exists(), "{wanted}");
    }
    fs::File::create(&file).and_then(|mut file| file.write_all(b"plain text")).expect("a file");
    let error = format!("{:#}", verify(&file, None).expect_err("it is text"));
    assert!(error.contains("it is no backup of `bub-wasm`"), "{error}");
    let error = format!("{:#}", verify(&place.path().join("none"), None).expect_err("it is missing"));
    assert!(error.contains("cannot be opened"), "{error}");
}
