//! Memory when a tape is emptied.

use super::*;
use std::path::PathBuf;

/// The Markdown files beside archives.
fn copies(home: &Home) -> Vec<PathBuf> {
    let files = std::fs::read_dir(home.tapes_dir()).expect("it is there").flatten().map(|file| file.path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

fn remembering() -> Home {
    let home = keeping();
    typed(&home, ",memory.save content='of all sessions'");
    call(&home, "memory.save", &json!({ "content": "of this session", "scope": "session" }));
    home
}

#[track_caller]
fn is_beside_the_archive(home: &Home) {
    let copies = copies(home);
    assert_eq!(copies.len(), 1, "{copies:?}");
    let archive =
        PathBuf::from(copies[0].to_str().and_then(|path| path.strip_suffix(".memory.export.md")).expect("its name"));
    assert!(archive.is_file(), "{copies:?}");
    let text = std::fs::read_to_string(&copies[0]).expect("it can be read");
    assert_eq!(text, "# Memory of this session\n\nVersion 1.\n\n## Long-term Memory\n\nof this session\n");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(copies[0].metadata().expect("it is there").permissions().mode() & 0o777, 0o600);
}

/// The session's memory is gone, and the workspace's is not.
#[track_caller]
fn begins_anew(home: &Home) {
    let system = system(home, SESSION);
    assert!(system.contains("of all sessions") && !system.contains("of this session"), "{system}");
    assert!(kept(home, SESSION).is_empty());
}

#[test]
fn a_tape_that_the_agent_empties_into_an_archive_has_a_copy_of_its_memory_beside_it() {
    let home = remembering();
    call(&home, "tape.reset", &json!({ "archive": true }));
    is_beside_the_archive(&home);
    begins_anew(&home);
}

#[test]
fn after_a_reset_the_next_step_has_no_section() {
    let home = remembering();
    call(&home, "tape.reset", &json!({ "archive": true }));
    assert!(kept(&home, SESSION).is_empty());
    let first = entries(&home, SESSION)[0].clone();
    assert!(is_anchor(&first, "session/start"), "{first}");
}

#[test]
fn a_command_that_empties_the_tape_does_the_same() {
    let home = remembering();
    typed(&home, ",tape.reset archive=true");
    is_beside_the_archive(&home);
    begins_anew(&home);
}

#[test]
fn so_does_the_programs_own_command() {
    let home = remembering();
    let finished = home.bub(["tape", "reset", "--yes"]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    is_beside_the_archive(&home);
    begins_anew(&home);
}

#[test]
fn a_reset_without_an_archive_keeps_no_copy() {
    for by_tool in [true, false] {
        let home = remembering();
        match by_tool {
            true => drop(typed(&home, ",tape.reset")),
            false => drop(home.bub(["tape", "reset", "--yes", "--discard"]).finish()),
        }
        assert_eq!(copies(&home), Vec::<PathBuf>::new());
        begins_anew(&home);
    }
}

#[test]
fn a_session_that_remembers_nothing_leaves_no_copy() {
    let home = keeping();
    system(&home, SESSION);
    typed(&home, ",tape.reset archive=true");
    assert_eq!(copies(&home), Vec::<PathBuf>::new());
}

#[test]
fn garbage_collection_keeps_the_copies() {
    let home = remembering();
    typed(&home, ",tape.reset archive=true");
    let finished = home.bub(["tape", "gc"]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    is_beside_the_archive(&home);
}

#[test]
fn looking_at_the_next_request_writes_nothing() {
    let home = home();
    typed(&home, ",memory.daily content=old date=2020-01-01");
    let before = entries(&home, WORKSPACE);
    let finished = home.bub(["tape", "context", "--prompt", "hi"]).finish();
    assert!(finished.code == Some(0) && finished.stdout.contains("Today is "), "{finished}");
    assert_eq!(entries(&home, WORKSPACE), before, "old notes are dropped by a turn");
}
