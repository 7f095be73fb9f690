//! A mirror on loopback with an index of releases, which a test can spoil.

use super::{VERSION, package, program, said, target, text};
use crate::book::root;
use bub_tests::listener::Listener;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// Whole responses by path; any other path has status 404.
pub(super) struct Mirror {
    listener: Listener,
    responses: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    key: minisign::KeyPair,
}

impl Mirror {
    /// A mirror of that archive, signed by a key of its own.
    pub(super) fn new(archive: Vec<u8>) -> Self {
        let responses = Arc::new(Mutex::new(BTreeMap::<String, Vec<u8>>::new()));
        let served = responses.clone();
        let listener = Listener::new(move |request: &str| {
            let path = request.split_whitespace().nth(1).unwrap_or_default();
            let missing = || b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec();
            served.lock().unwrap().get(path).cloned().unwrap_or_else(missing)
        });
        let mirror = Self { listener, responses, key: minisign::KeyPair::generate_unencrypted_keypair().unwrap() };
        mirror.index(&index(&[entry(VERSION, &archive)]));
        mirror.put(&format!("/{}.tar.gz", package()), &archive);
        mirror
    }

    /// Serves a file.
    pub(super) fn put(&self, path: &str, body: &[u8]) {
        self.put_claiming(path, body, body.len());
    }

    /// Serves a file whose head claims another length.
    pub(super) fn put_claiming(&self, path: &str, body: &[u8], length: usize) {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
        self.respond(path, &[head.as_bytes(), body].concat());
    }

    /// Serves a response, byte for byte.
    pub(super) fn respond(&self, path: &str, response: &[u8]) {
        self.responses.lock().unwrap().insert(path.to_owned(), response.to_vec());
    }

    /// Serves an index with its signature.
    pub(super) fn index(&self, index: &str) {
        self.put("/index.json", index.as_bytes());
        self.sign(index);
    }

    /// Serves a signature of that text as the index's.
    pub(super) fn sign(&self, index: &str) {
        let signature = minisign::sign(None, &self.key.sk, index.as_bytes(), None, None).unwrap().into_string();
        self.put("/index.json.minisig", signature.as_bytes());
    }

    /// Serves a signature of the index whose lines `change` was given.
    pub(super) fn change_signature(&self, change: impl FnOnce(&mut Vec<String>)) {
        let index = self.body("/index.json");
        let signature = minisign::sign(None, &self.key.sk, &index[..], Some("file:index.json"), None).unwrap();
        let mut lines: Vec<String> = signature.into_string().lines().map(str::to_owned).collect();
        change(&mut lines);
        self.put("/index.json.minisig", (lines.join("\n") + "\n").as_bytes());
    }

    /// What it serves at a path.
    fn body(&self, path: &str) -> Vec<u8> {
        let responses = self.responses.lock().unwrap();
        let response = &responses[path];
        let end = response.windows(4).position(|four| four == b"\r\n\r\n").expect("a response has a head");
        response[end + 4..].to_vec()
    }

    pub(super) fn key(&self) -> String {
        self.key.pk.to_base64()
    }

    pub(super) fn heard(&self) -> Vec<String> {
        self.listener.heard()
    }

    pub(super) fn address(&self) -> String {
        format!("{}/index.json", self.listener.base())
    }
}

/// An index with these lines of files, each in a release of its own.
pub(super) fn index(entries: &[(String, String)]) -> String {
    let release = |(version, file): &(String, String)| {
        format!(r#"{{"files":[{file}],"date":"2026-11-26","version":"{version}"}}"#)
    };
    let releases: Vec<String> = entries.iter().map(release).collect();
    let (text, releases) = (r#"a \"note\" with { and \\"#, releases.join(","));
    format!(
        r#"{{"format":1,"name":"bub-wasm","created":"2026-11-26T00:00:00Z","note":"{text}","releases":[{releases}]}}"#
    )
}

/// A version, and its file for this machine.
pub(super) fn entry(version: &str, archive: &[u8]) -> (String, String) {
    file_entry(version, &format!("{}.tar.gz", package()), &archive.len().to_string(), &digest(archive))
}

pub(super) fn file_entry(version: &str, file: &str, size: &str, sha256: &str) -> (String, String) {
    let target = target();
    let entry = format!(r#"{{"file":"{file}","target":"{target}","size":{size},"sha256":"{sha256}"}}"#);
    (version.to_owned(), entry)
}

pub(super) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An archive of a script that says this version.
pub(super) fn small_archive(says: &str) -> Vec<u8> {
    archive_of(|tree| {
        program(&tree.join("bin/bub-wasm"), &format!("echo bub-wasm {says}"));
        program(&tree.join("share/man/man1/bub-wasm.1"), "");
    })
}

/// An archive of what `fill` puts into the folder of the package.
pub(super) fn archive_of(fill: impl FnOnce(&Path)) -> Vec<u8> {
    let dir = TempDir::new().unwrap();
    let tree = dir.path().join(package());
    fs::create_dir(&tree).unwrap();
    fill(&tree);
    let file = dir.path().join("archive");
    said("tar", &["-C", dir.path().to_str().unwrap(), "-czf", file.to_str().unwrap(), &package()]);
    fs::read(file).unwrap()
}

/// What an installer did.
pub(super) struct Installed {
    pub(super) is_done: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) prefix: PathBuf,
    _dir: TempDir,
}

impl Installed {
    /// It ended with one line, and left nothing behind.
    #[track_caller]
    pub(super) fn refuses(&self, says: &[&str]) {
        let lines: Vec<&str> = self.stderr.lines().collect();
        let error = lines.last().copied().unwrap_or_default();
        assert!(!self.is_done && error.starts_with("error: ") && lines.len() == 1, "{}{}", self.stdout, self.stderr);
        for part in says {
            assert!(error.contains(part), "no `{part}` in {error}");
        }
        assert!(error.len() < 600 && !error.chars().any(char::is_control), "{error:?}");
        assert_eq!(self.files(), Vec::<String>::new(), "{error}");
    }

    /// Everything below the prefix, without folders.
    pub(super) fn files(&self) -> Vec<String> {
        let found = said("find", &[self.prefix.to_str().unwrap(), "!", "-type", "d", "-printf", "%P\n"]);
        found.lines().map(str::to_owned).collect()
    }
}

/// How an installer is started.
pub(super) struct Installer {
    pub(super) command: Command,
    dir: TempDir,
}

impl Installer {
    /// As `curl … | sh` does, into a new prefix, with the key of the mirror.
    pub(super) fn new(mirror: &Mirror) -> Self {
        let dir = TempDir::new().unwrap();
        let prefix = dir.path().join("prefix");
        fs::create_dir(&prefix).unwrap();
        let mut command = Command::new("sh");
        command.env_clear().env("PATH", std::env::var("PATH").unwrap()).env("HOME", dir.path()).current_dir(dir.path());
        command.arg(root().join("docs/deploy/dist/install.sh")).args(["--index", &mirror.address()]);
        command.args(["--key", &mirror.key(), "--prefix"]).arg(&prefix);
        Self { command, dir }
    }

    /// With these words more.
    pub(super) fn with(mut self, words: &[&str]) -> Self {
        self.command.args(words);
        self
    }

    /// With a program of that name that does this, before all others.
    pub(super) fn command(mut self, name: &str, lines: &str) -> Self {
        let bin = self.dir.path().join("fake");
        program(&bin.join(name), lines);
        let path = std::env::var("PATH").unwrap();
        self.command.env("PATH", format!("{}:{path}", bin.display()));
        self
    }

    /// With these programs alone.
    pub(super) fn only(mut self, names: &[&str]) -> Self {
        let bin = self.dir.path().join("only");
        fs::create_dir(&bin).unwrap();
        for name in names {
            let found = text(&Command::new("sh").args(["-c", &format!("command -v {name}")]).output().unwrap().stdout);
            std::os::unix::fs::symlink(found.trim(), bin.join(name)).unwrap();
        }
        self.command.env("PATH", &bin);
        self
    }

    pub(super) fn prefix(&self) -> PathBuf {
        self.dir.path().join("prefix")
    }

    pub(super) fn run(mut self) -> Installed {
        let output = self.command.output().expect("a shell starts");
        let prefix = self.prefix();
        // A folder that was made read-only is removed at the end.
        let _ = fs::set_permissions(&prefix, fs::Permissions::from_mode(0o755));
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        Installed { is_done: output.status.success(), stdout, stderr, prefix, _dir: self.dir }
    }
}
