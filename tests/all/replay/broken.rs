//! Recordings that are cut off, edited, from a newer program, or whose plugin is gone.

use super::{files, name, recording, replay};
use bub_tests::{Finished, Home, programs};
use flate2::Compression;
use flate2::write::GzEncoder;
use lz4_flex::frame::FrameDecoder;
use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;

fn recorded() -> (Home, PathBuf, Vec<u8>) {
    let home = recording();
    home.plugin("upper", programs::PROMPT_UPPER);
    home.run(["hi"]).finish().answers();
    let file = files(&home).pop().expect("it is recorded");
    let bytes = fs::read(&file).expect("it can be read");
    (home, file, bytes)
}

/// It is named with the reason, on one line, and the command fails.
#[track_caller]
fn is_named(replayed: &Finished, file: &std::path::Path, reason: &str) {
    let line = replayed.stdout.lines().next().unwrap_or_default();
    let is_named = line.starts_with(&format!("{}  not replayable: ", name(file))) && line.contains(reason);
    assert!(replayed.code == Some(1) && is_named, "{reason}\n{replayed}");
}

#[test]
fn what_is_cut_off_is_replayed_as_far_as_it_goes() {
    let (home, file, bytes) = recorded();
    fs::write(&file, &bytes[..bytes.len() - 30]).expect("it can be written");
    let replayed = replay(&home, 1);
    is_named(&replayed, &file, "it is cut off: its end is missing");
    assert!(!replayed.stdout.contains("; 0 calls are identical"), "{replayed}");
    fs::write(&file, &bytes[..400]).expect("it can be written");
    is_named(&replay(&home, 1), &file, "it is cut off");
    fs::write(&file, &bytes[..4]).expect("it can be written");
    is_named(&replay(&home, 1), &file, "it is no recording of a turn");
}

#[test]
fn what_a_newer_program_wrote_is_left_to_it() {
    let (home, file, bytes) = recorded();
    let newer = [b"bub-wasm recording 9 ", &bytes[b"bub-wasm recording 1 ".len()..]].concat();
    fs::write(&file, newer).expect("it can be written");
    is_named(&replay(&home, 1), &file, "its format is `9`, and this program reads 2: use a newer bub-wasm");
}

#[test]
fn a_recording_in_the_first_layout_is_replayed() {
    let (home, file, bytes) = recorded();
    let mut parts = bytes.splitn(3, |byte| *byte == b'\n');
    let mut part = || parts.next().expect("it has two lines and values").to_vec();
    let (first, manifest, packed) = (String::from_utf8(part()).expect("it is text"), part(), part());
    let mut values = Vec::new();
    FrameDecoder::new(&*packed).read_to_end(&mut values).expect("they are an LZ4 frame");
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&values).expect("memory takes it");
    let packed = packed.finish().expect("memory takes it");
    let digest = first.split(' ').nth(3).expect("the digest of the manifest");
    let first = format!("bub-wasm recording 1 {digest} {}\n", crate::plugin_add::sha256(&packed));
    fs::write(&file, [first.as_bytes(), &manifest, b"\n", &packed].concat()).expect("it can be written");
    let replayed = replay(&home, 1);
    assert!(replayed.code == Some(0) && replayed.stdout.contains("identical"), "{replayed}");
}

#[test]
fn what_was_edited_is_not_believed() {
    let (home, file, bytes) = recorded();
    let at = bytes.windows(6).position(|window| window == b"\"fuel\"").expect("it says what a call used");
    let mut edited = bytes.clone();
    edited[at + 7] = if edited[at + 7] == b'9' { b'8' } else { b'9' };
    fs::write(&file, &edited).expect("it can be written");
    is_named(&replay(&home, 1), &file, "it was changed after it was recorded");
    let mut edited = bytes;
    let last = edited.len() - 100;
    edited[last] ^= 1;
    fs::write(&file, &edited).expect("it can be written");
    is_named(&replay(&home, 1), &file, "it was changed after it was recorded");
}

#[test]
fn a_plugin_that_is_gone_is_named_and_the_others_are_called() {
    let (home, file, _) = recorded();
    home.remove_plugin("upper");
    let replayed = replay(&home, 1);
    is_named(&replayed, &file, "hook `build-prompt` of plugin `upper`: plugin `upper` with sha256 ");
    assert!(replayed.stdout.contains(" calls are identical"), "{replayed}");
    // Another version is not that one.
    home.plugin("upper", programs::PROMPT_UPPER_NEXT);
    is_named(&replay(&home, 1), &file, "is gone: install that version again");
}
