//! Files that are replaced as a whole.

use bub_system::files::Draft;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn readers_see_the_old_content_until_a_draft_is_published() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.toml");
    fs::write(&path, "old").unwrap();
    for publish in [Draft::publish, Draft::publish_durably] {
        let mut draft = Draft::new(&path, 0o600).unwrap();
        let before = fs::read(&path).unwrap();
        draft.write_all(b"new ").unwrap();
        draft.write_all(&before).unwrap();
        assert_eq!(fs::read(&path).unwrap(), before);
        let beside = names(dir.path());
        assert!(beside[0].starts_with('.') && beside[0].ends_with(".new") && beside[1] == "config.toml", "{beside:?}");
        publish(draft).unwrap();
        assert_eq!(fs::read(&path).unwrap(), [b"new ".as_slice(), &before].concat());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(names(dir.path()), ["config.toml"]);
    }
}

#[test]
fn a_draft_that_is_dropped_or_cannot_be_published_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("taken");
    fs::create_dir(&path).unwrap();
    drop(Draft::new(&path, 0o600).unwrap());
    assert_eq!(names(dir.path()), ["taken"]);
    // A directory is not replaced by a file.
    assert!(Draft::new(&path, 0o600).unwrap().publish_durably().is_err());
    assert_eq!(names(dir.path()), ["taken"]);
    assert!(Draft::new(&dir.path().join("missing/file"), 0o600).is_err());
}
