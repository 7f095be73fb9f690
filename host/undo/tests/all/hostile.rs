//! Workspaces that are made to mislead.

use super::*;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

#[test]
fn names_of_any_bytes_are_put_back() {
    let scene = Scene::new();
    let names: [&[u8]; 6] = [b"a\nb", b"\x1b[2J", b"100%", b"\xff\xfe", "\u{202e}gpj".as_bytes(), b"-rf *"];
    let path = |name: &[u8]| scene.workspace.join(OsStr::from_bytes(name));
    for name in names {
        fs::write(path(name), "1").expect("a file");
    }
    let undo = scene.undo();
    let record = scene.turn(&undo, || names.iter().for_each(|name| fs::remove_file(path(name)).expect("removed")));
    // The record survives being written and read.
    let record = undo.record(record.expect("it").number).expect("it");
    assert_eq!(skipped(&undo, &record, false), []);
    assert!(names.iter().all(|name| fs::read(path(name)).is_ok_and(|content| content == b"1")));
}

#[test]
fn no_link_leads_an_undo_out_of_the_workspace() {
    let scene = Scene::new();
    let outside = scene.home.join("outside");
    fs::create_dir(&outside).expect("a directory");
    fs::write(outside.join("file"), "of the user").expect("a file");
    scene.write("dir/file", "1");
    let undo = scene.undo();
    let record = scene.turn(&undo, || {
        scene.write("dir/file", "2");
        scene.write("dir/new", "2");
    });
    fs::rename(scene.workspace.join("dir"), scene.workspace.join("moved")).expect("renamed");
    symlink(&outside, scene.workspace.join("dir")).expect("a link");
    fs::write(outside.join("new"), "of the user").expect("a file");
    let reasons = skipped(&undo, &record.expect("it"), true);
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert_eq!(fs::read_to_string(outside.join("file")).expect("it"), "of the user");
    assert_eq!(fs::read_to_string(outside.join("new")).expect("it"), "of the user");
}

#[test]
fn links_are_kept_and_not_followed_and_pipes_do_not_block() {
    let scene = Scene::new();
    let secret = scene.home.join("secret");
    fs::write(&secret, "a secret").expect("a file");
    symlink(&secret, scene.workspace.join("link")).expect("a link");
    symlink(&scene.home, scene.workspace.join("home")).expect("a link");
    symlink("link-to-itself", scene.workspace.join("link-to-itself")).expect("a link");
    let pipe = std::process::Command::new("mkfifo").arg(scene.workspace.join("pipe")).status().expect("mkfifo");
    assert!(pipe.success());
    let _socket = std::os::unix::net::UnixListener::bind(scene.workspace.join("socket")).expect("a socket");
    let undo = scene.undo();
    let record = scene.turn(&undo, || {
        for name in ["link", "home", "link-to-itself", "pipe"] {
            fs::remove_file(scene.workspace.join(name)).expect("removed");
        }
    });
    let record = record.expect("it");
    assert_eq!(paths(&record), ["home", "link", "link-to-itself"]);
    let kept = tree(&scene.home);
    assert!(
        !kept.iter().any(|(path, _, content)| path.contains("objects") && content.contains("a secret")),
        "{kept:?}"
    );
    assert_eq!(skipped(&undo, &record, false), []);
    assert_eq!(fs::read_link(scene.workspace.join("link")).expect("a link"), secret);
    assert_eq!(fs::read_to_string(&secret).expect("it"), "a secret");
}

#[test]
fn a_file_becomes_a_directory_and_back() {
    let scene = Scene::new();
    scene.write("a", "1");
    scene.write("b/c", "1");
    let before = tree(&scene.workspace);
    let undo = scene.undo();
    let record = scene.turn(&undo, || {
        fs::remove_file(scene.workspace.join("a")).expect("removed");
        scene.write("a/x", "2");
        fs::remove_dir_all(scene.workspace.join("b")).expect("removed");
        scene.write("b", "2");
    });
    assert_eq!(skipped(&undo, &record.expect("it"), false), []);
    assert_eq!(tree(&scene.workspace), before);
}

#[test]
fn hard_links_are_files_of_their_own_afterwards() {
    let scene = Scene::new();
    scene.write("a", "1");
    fs::hard_link(scene.workspace.join("a"), scene.workspace.join("b")).expect("a link");
    let undo = scene.undo();
    let record = scene.turn(&undo, || scene.write("a", "2")).expect("it");
    assert_eq!(paths(&record), ["a", "b"]);
    assert_eq!(skipped(&undo, &record, false), []);
    assert_eq!((scene.read("a").as_deref(), scene.read("b").as_deref()), (Some("1"), Some("1")));
}

#[test]
fn a_damaged_record_is_an_error_and_not_more() {
    let scene = Scene::new();
    scene.write("a", "1");
    let undo = scene.undo();
    let record = scene.turn(&undo, || scene.write("a", "2")).expect("it");
    let folder = fs::read_dir(scene.home.join("undo")).expect("it").flatten().next().expect("a folder").path();
    let file = folder.join(format!("turn-{}.json", record.number));
    let text = fs::read_to_string(&file).expect("it");
    for damaged in
        ["", "{}", &text[..text.len() / 2], &text.replace("\"a\"", "\"../a\""), &text.replace("\"a\"", "\"/a\"")]
    {
        fs::write(&file, damaged).expect("written");
        let error = undo.record(record.number).expect_err("it is damaged").to_string();
        assert!(error.contains("is damaged"), "{error}");
        assert!(undo.records().is_empty());
    }
    assert_eq!(scene.read("a").as_deref(), Some("2"));
}
