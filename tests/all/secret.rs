//! `bub-wasm secret`: values that it keeps, shows and never takes as an argument.

use bub_egress::secret::Secrets;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A home with a file of secrets, removed at the end of the test.
struct Room {
    dir: tempfile::TempDir,
}

impl Room {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("secrets.toml")
    }

    fn write(&self, text: &str, mode: u32) {
        fs::write(self.path(), text).unwrap();
        fs::set_permissions(self.path(), PermissionsExt::from_mode(mode)).unwrap();
    }

    fn load(&self) -> Secrets {
        Secrets::load(self.dir.path(), std::iter::empty()).unwrap()
    }

    /// A file beside the file of secrets.
    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

/// Runs `bub-wasm secret` with these arguments and that text as its standard input.
fn secret(room: &Room, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bub-wasm"))
        .args(["--home".as_ref(), room.dir.path().as_os_str(), "secret".as_ref()])
        .args(arguments)
        .env("BUB_SECRET_FROM_OUTSIDE", "sesame outside")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read has closed its end.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[track_caller]
fn succeeds(output: &Output) -> (String, String) {
    let (out, err) = texts(output);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(!out.contains("sesame") && !err.contains("sesame"), "{out}{err}");
    (out, err)
}

#[track_caller]
fn fails(output: &Output, code: i32, says: &str) {
    let (out, err) = texts(output);
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    assert!(err.contains(says), "{err}");
}

fn texts(output: &Output) -> (String, String) {
    (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_secret_is_stored_listed_without_its_value_and_removed() {
    let room = Room::new();
    let hosts = ["--host", "api.telegram.org", "--host", "*.example.com"];
    succeeds(&secret(&room, &[&["set", "telegram", "--value-stdin"], &hosts[..]].concat(), "sesame inside\n"));
    let path = room.file("token", b"sesame file\n");
    let path = path.to_str().unwrap();
    let (_, err) = succeeds(&secret(&room, &["set", "hook", "--file", path], ""));
    assert!(err.contains("bound to no host"), "{err}");
    assert!(room.load().matches("telegram", b"sesame inside").unwrap());

    let (out, _) = succeeds(&secret(&room, &["list", "--json"], ""));
    let listed: serde_json::Value = serde_json::from_str(&out).unwrap();
    let expected = serde_json::json!({ "secrets": [
        { "name": "from-outside", "hosts": [], "source": "environment", "place": "BUB_SECRET_FROM_OUTSIDE" },
        { "name": "hook", "hosts": [], "source": "file", "place": path },
        { "name": "telegram", "hosts": ["api.telegram.org", "*.example.com"], "source": "secrets.toml", "place": null },
    ] });
    assert_eq!(listed, expected);
    let (out, _) = succeeds(&secret(&room, &["list"], ""));
    assert_eq!(out.lines().count(), 3, "{out}");
    assert!(out.contains("api.telegram.org, *.example.com"), "{out}");

    succeeds(&secret(&room, &["remove", "telegram"], ""));
    assert_eq!(room.load().names(), ["hook"]);
    fails(&secret(&room, &["remove", "telegram"], ""), 1, "there is no secret `telegram`");
}

#[test]
fn a_value_is_never_an_argument_and_never_waited_for_without_a_terminal() {
    let room = Room::new();
    fails(&secret(&room, &["set", "a", "sesame"], ""), 2, "unexpected argument");
    fails(&secret(&room, &["set", "a"], "sesame"), 1, "--value-stdin");
    fails(&secret(&room, &["set", "a", "--value-stdin", "--file", "/x"], ""), 2, "cannot be used with");
    assert!(!room.path().exists());
}

#[test]
fn an_invalid_secret_is_rejected_in_one_line() {
    let room = Room::new();
    fails(&secret(&room, &["set", "A", "--value-stdin"], "sesame"), 2, "a secret's name is");
    fails(&secret(&room, &["set", "a", "--value-stdin"], "short"), 1, "is shorter than 6 characters");
    fails(&secret(&room, &["set", "a", "--value-stdin"], &"x".repeat(200_000)), 1, "is longer than 65536 bytes");
    fails(&secret(&room, &["set", "a", "--value-stdin", "--host", "http://a.com"], "sesame"), 1, "is not a host");
    fails(&secret(&room, &["set", "a", "--file", "missing"], ""), 1, "cannot be read");
    assert!(!room.path().exists());
    room.write("", 0o644);
    fails(&secret(&room, &["list"], ""), 1, "chmod 600");
}
