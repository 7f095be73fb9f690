//! Attempts to leave the workspace: nothing outside is read, changed or created.

use super::{WORKSPACE, error, path, together, with};
use bub_tests::Home;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Stands in the file outside.
const KEY: &str = "a key that nobody may see";

/// A tool's arguments for a path.
type Arguments = fn(&str) -> Value;

/// A directory beside the workspace, with the key in it.
fn outside(home: &Home) -> PathBuf {
    let dir = home.workspace().with_file_name("outside");
    fs::create_dir_all(dir.join("sub")).expect("it can be made");
    fs::write(dir.join("planted"), KEY).expect("it can be written");
    dir
}

/// Everything below a directory, with what the files hold.
fn listed(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).expect("it is there").flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(listed(&path));
        }
        all.push((path.clone(), fs::read(&path).unwrap_or_default()));
    }
    all.sort();
    all
}

/// Links in the workspace that lead out of it, or nowhere.
fn plant(ws: &Path, outside: &Path) {
    let links: [(PathBuf, &str); 14] = [
        (outside.join("planted"), "to-file"),
        (outside.to_owned(), "to-dir"),
        ("../outside/planted".into(), "up-to-file"),
        ("../outside".into(), "up-to-dir"),
        ("..".into(), "up"),
        ("/".into(), "root"),
        ("/proc/self/root".into(), "proc-root"),
        ("/proc/self/cwd/../outside/planted".into(), "proc-cwd"),
        ("up-to-file".into(), "chain"),
        ("d/../../outside/planted".into(), "down-and-up"),
        ("../outside/new".into(), "to-nothing"),
        (outside.join("sub/new"), "to-nothing-far"),
        ("loop-b".into(), "loop-a"),
        ("loop-a".into(), "loop-b"),
    ];
    for (target, name) in links {
        symlink(target, ws.join(name)).expect("a link");
    }
    fs::create_dir(ws.join("d")).expect("it can be made");
    symlink("../../outside", ws.join("d/out")).expect("a link");
}

/// Paths that end outside, or would in a program that is less careful.
fn corpus(outside: &Path) -> Vec<String> {
    let there = path(outside);
    let mut paths: Vec<String> = [
        "../outside/planted",
        "./../outside/planted",
        "d/../../outside/planted",
        "d/./../.././outside/planted",
        "d//..//..//outside//planted",
        "no/such/../../../outside/planted",
        "../ws/../outside/planted",
        "../../../../../../../../../../../../etc/passwd",
        "../outside/new",
        "../new",
        "..",
        "../",
        "../.",
        "to-file",
        "to-file/",
        "to-dir/planted",
        "to-dir/new",
        "to-dir/sub/new",
        "to-dir/../planted",
        "up-to-file",
        "up-to-dir/planted",
        "up-to-dir/./new",
        "up/outside/planted",
        "up/outside/new",
        "root/etc/passwd",
        "proc-root/etc/passwd",
        "proc-cwd",
        "chain",
        "down-and-up",
        "to-nothing",
        "to-nothing-far",
        "loop-a",
        "loop-a/planted",
        "d/out/planted",
        "d/out/new",
        "d/out/../outside/planted",
        "/etc/passwd",
        "//etc/passwd",
        "/./etc/passwd",
        "/proc/self/environ",
        "/proc/self/cwd/planted",
        "/proc/self/root/etc/passwd",
        "/proc/self/fd/0",
        "/dev/stdin",
        "/dev/null",
        "~/planted",
        "\u{ff0e}\u{ff0e}/outside/planted",
        "\u{2024}\u{2024}/outside/planted",
        "..\u{2215}outside\u{2215}planted",
        "..\\outside\\planted",
        "%2e%2e/outside/planted",
        "..%2foutside%2fplanted",
        "file:///etc/passwd",
        "../outside/planted\0.txt",
        "a\0/../../outside/planted",
        "\0",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.extend(["planted", "new", "sub/new", "../outside/planted", "."].map(|name| format!("{there}/{name}")));
    paths.push(format!("{there}/../ws/../outside/planted"));
    paths.push(format!("{}/../outside/planted", path(&outside.with_file_name("ws"))));
    paths.push(format!("{}x/planted", path(&outside.with_file_name("ws"))));
    paths.push(format!("{}../outside/planted", "d/../".repeat(200)));
    paths.push("../".repeat(2_000) + "etc/passwd");
    paths.push("a".repeat(5_000));
    paths.push("a/".repeat(5_000));
    paths
}

/// Those of the corpus that are odd names inside of the workspace, and so may be written there.
fn is_only_odd(path: &str) -> bool {
    !path.contains('\0')
        && (path.starts_with(['~', '%', '\u{ff0e}', '\u{2024}'])
            || ["..\\", "..%", "..\u{2215}", "file:"].iter().any(|odd| path.starts_with(odd)))
}

#[test]
fn no_path_leads_out_of_the_workspace() {
    let home = with("workspace", &[WORKSPACE]);
    let outside = outside(&home);
    plant(&home.workspace(), &outside);
    let before = listed(&outside);
    let above: Vec<_> = fs::read_dir(outside.with_file_name("")).expect("it is there").flatten().collect();
    let corpus = corpus(&outside);
    assert!(corpus.len() >= 40);
    let tries: [(&str, Arguments); 3] = [
        ("fs_read", |path| json!({ "path": path })),
        ("fs_edit", |path| json!({ "path": path, "old": "key", "new": "lock" })),
        ("fs_write", |path| json!({ "path": path, "content": "written" })),
    ];
    for (tool, arguments) in tries {
        for part in corpus.chunks(40) {
            let calls: Vec<(&str, Value)> = part.iter().map(|path| (tool, arguments(path))).collect();
            for (path, result) in part.iter().zip(together(&home, &calls)) {
                let shown: String = path.chars().take(80).collect();
                assert!(!result.to_string().contains(KEY) && !result.to_string().contains("root:"), "{tool} {shown:?}");
                if tool == "fs_write" && is_only_odd(path) {
                    continue;
                }
                let (kind, message) = error(&result);
                assert!(
                    ["denied", "invalid_input", "not_found"].contains(&kind),
                    "{tool} {shown:?}: {kind}: {message}"
                );
            }
        }
    }
    assert_eq!(listed(&outside), before);
    let now: Vec<_> = fs::read_dir(outside.with_file_name("")).expect("it is there").flatten().collect();
    assert_eq!(now.len(), above.len(), "nothing new stands beside the workspace");
}

#[test]
fn paths_that_lead_out_are_denied_by_name() {
    let home = with("workspace", &[WORKSPACE]);
    let outside = outside(&home);
    plant(&home.workspace(), &outside);
    let there = outside.join("planted");
    let paths =
        ["../outside/planted", path(&there), "to-file", "up-to-file", "up-to-dir/planted", "/etc/passwd", "chain"];
    let results = together(&home, &paths.map(|path| ("fs_read", json!({ "path": path }))));
    for (path, result) in paths.iter().zip(results) {
        let (kind, message) = error(&result);
        assert!(kind == "denied" && message.contains("leads out of the workspace"), "{path}: {message}");
    }
}

#[test]
fn links_within_the_workspace_are_followed() {
    let home = with("workspace", &[WORKSPACE]);
    let ws = home.workspace();
    fs::create_dir(ws.join("d")).expect("it can be made");
    fs::write(ws.join("d/a"), "inside").expect("it can be written");
    symlink("d", ws.join("link")).expect("a link");
    symlink("../d/a", ws.join("d/b")).expect("a link");
    let absolute = ws.join("link/a");
    let paths = ["link/a", "d/b", "d/../d/a", "link/../d/a", path(&absolute)];
    for result in together(&home, &paths.map(|path| ("fs_read", json!({ "path": path })))) {
        assert_eq!(result, "inside");
    }
}

/// A directory is a link that leads out half of the time, and changes from one to the other thousands of times a
/// second.
#[test]
fn a_directory_that_becomes_a_link_is_not_followed() {
    let home = with("workspace", &[WORKSPACE]);
    let outside = outside(&home);
    let (dir, link) = (home.workspace().join("swapped"), home.workspace().join("other"));
    fs::create_dir(&dir).expect("it can be made");
    fs::write(dir.join("planted"), "inside").expect("it can be written");
    symlink("../outside", &link).expect("a link");
    let before = listed(&outside);
    let is_over = Arc::new(AtomicBool::new(false));
    let swapping = {
        let is_over = is_over.clone();
        thread::spawn(move || {
            let mut swaps = 0_u64;
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, &dir, CWD, &link, RenameFlags::EXCHANGE).expect("two names can be exchanged");
                swaps += 1;
            }
            swaps
        })
    };
    let calls: Vec<(&str, Value)> = (0..60)
        .map(|number| match number % 4 {
            0 => ("fs_write", json!({ "path": "swapped/planted", "content": "inside" })),
            1 => ("fs_write", json!({ "path": format!("swapped/sub/{number}"), "content": "inside" })),
            2 => ("fs_edit", json!({ "path": "swapped/planted", "old": "key", "new": "lock" })),
            _ => ("fs_read", json!({ "path": "swapped/planted" })),
        })
        .collect();
    let mut outcomes = Vec::new();
    for _ in 0..3 {
        outcomes.extend(together(&home, &calls));
    }
    is_over.store(true, Ordering::Relaxed);
    assert!(swapping.join().expect("it swapped") > 100);
    assert_eq!(listed(&outside), before);
    assert!(outcomes.iter().all(|outcome| !outcome.to_string().contains(KEY)));
}
