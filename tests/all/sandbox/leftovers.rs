//! The temporary folder: what is left in it, also by a process that was killed.

use super::{backends, home};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a directory").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Waits for the directory of a session with that file in its `tmp`.
fn with_file(folder: &Path, file: &str) -> PathBuf {
    let began = Instant::now();
    loop {
        let found = names(folder).into_iter().map(|name| folder.join(name)).find(|path| path.join(file).exists());
        if let Some(found) = found {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", names(folder));
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_killed_process_leaves_directories_that_the_next_one_removes_and_nothing_else_is_touched() {
    for backend in backends() {
        let home = home();
        let folder = home.bub_home().with_file_name("temporary");
        let strangers = home.bub_home().with_file_name("strangers");
        // Whose directories these are is not known: they have no lock, or are links.
        for path in ["bub-session-other", "bub-session-other/tmp", "bub-net-other", "other"] {
            fs::create_dir_all(folder.join(path)).expect("a directory");
        }
        fs::create_dir_all(&strangers).expect("a directory");
        fs::write(strangers.join("lock"), "").expect("a file");
        symlink(&strangers, folder.join("bub-session-link")).expect("a link");
        fs::create_dir(folder.join("bub-session-linked")).expect("a directory");
        symlink(strangers.join("lock"), folder.join("bub-session-linked/lock")).expect("a link");
        let before = names(&folder);
        let run = |session: &str, command: &str| {
            let message = format!("TOOL:bash {}", json!({ "cmd": command }));
            let run = home.run([message.as_str(), "--allow", "run", "--session", session]);
            run.env("TMPDIR", &folder).env("BUB_SANDBOX", backend)
        };
        let killed = run("cli:killed", "mkdir -p ~/a/b; touch ~/a/b/c; touch /tmp/begun; sleep 600").start();
        let left = with_file(&folder, "tmp/begun");
        // A process that runs keeps its own.
        run("cli:local", "true").finish().answers();
        assert!(left.join("tmp/begun").exists(), "{:?}", names(&folder));
        killed.kill();
        assert!(left.join("home/a/b/c").exists(), "{:?}", names(&folder));
        run("cli:local", "true").finish().answers();
        assert_eq!(names(&folder), before);
        assert!(strangers.join("lock").exists());
    }
}

/// Directories of that name in the first levels of a tree.
fn found(folder: &Path, name: &str, depth: u32) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
    let within = |path: &PathBuf| if depth > 0 { found(path, name, depth - 1) } else { Vec::new() };
    folders.flat_map(|path| if path.ends_with(name) { vec![path] } else { within(&path) }).collect()
}

#[test]
fn no_control_group_is_left_and_none_is_made_where_the_system_has_none() {
    for backend in backends() {
        let home = home();
        let file = home.bub_home().with_file_name("process");
        let script = r#"TOOL:bash {"cmd": "cat /proc/self/cgroup"}"#;
        let run = home.run([script, "--allow", "run"]).env("BUB_SANDBOX", backend);
        let run = run.under(&format!("echo $$ > '{}'", file.display()));
        run.finish().answers();
        let id = fs::read_to_string(file).expect("a number");
        let left = found(Path::new("/sys/fs/cgroup"), &format!("bub-wasm-{}", id.trim()), 3);
        assert!(left.is_empty(), "{left:?}");
    }
}
