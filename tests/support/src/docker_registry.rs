//! Debian's `docker-registry` on loopback, with its content in a directory.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The program; Debian's package `docker-registry` has it.
const PROGRAM: &str = "/usr/bin/docker-registry";

/// How long it may take to start.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The user `me` with the password [`PASSWORD`], as `htpasswd -B` writes it.
pub const HTPASSWD: &str = "me:$2b$05$10RpqNP8XFvxcYf5oHMqauZgJP7Bj5mULXXTqqTsNSEFL86hpTpT2\n";

/// The password of the user `me`.
pub const PASSWORD: &str = "hunter2-registry";

/// A registry that ends with this value.
pub struct DockerRegistry {
    child: Child,
    address: String,
    root: PathBuf,
}

impl DockerRegistry {
    /// Starts a registry with its content below that directory; `None` if the program is not installed, which is said on
    /// stderr. With `htpasswd`, the lines of such a file, it is private.
    pub fn start(dir: &Path, htpasswd: Option<&str>) -> Option<Self> {
        if !Path::new(PROGRAM).exists() {
            eprintln!("skipped: {PROGRAM} is not there; Debian's package `docker-registry` has it");
            return None;
        }
        let root = dir.join("registry");
        fs::create_dir_all(&root).expect("a directory for the registry");
        // The port is free until the registry takes it; another program may be faster.
        for _ in 0..5 {
            if let Some(registry) = Self::try_start(&root, htpasswd) {
                return Some(registry);
            }
        }
        panic!("docker-registry does not start");
    }

    fn try_start(root: &Path, htpasswd: Option<&str>) -> Option<Self> {
        let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr()).expect("a port").port();
        let address = format!("127.0.0.1:{port}");
        let mut config = format!(
            "version: 0.1\nlog:\n  level: error\n  accesslog:\n    disabled: true\nstorage:\n  delete:\n    enabled: true\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: {address}\n",
            root.join("content").display()
        );
        if let Some(lines) = htpasswd {
            let path = root.join("htpasswd");
            fs::write(&path, lines).expect("a file of the registry");
            config.push_str(&format!("auth:\n  htpasswd:\n    realm: test\n    path: {}\n", path.display()));
        }
        let file = root.join("config.yml");
        fs::write(&file, config).expect("a file of the registry");
        let mut command = Command::new(PROGRAM);
        command.arg("serve").arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("docker-registry starts");
        let begun = Instant::now();
        while begun.elapsed() < TIMEOUT {
            if child.try_wait().expect("it is ours").is_some() {
                return None;
            }
            if TcpStream::connect(&address).is_ok() {
                return Some(Self { child, address, root: root.to_owned() });
            }
            sleep(Duration::from_millis(20));
        }
        let _ = child.kill();
        let _ = child.wait();
        None
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Replaces the bytes of that content, given by its SHA-256 in hex, behind the registry's back.
    pub fn tamper(&self, digest: &str, bytes: &[u8]) {
        let dir = self.root.join("content/docker/registry/v2/blobs/sha256").join(&digest[..2]).join(digest);
        fs::write(dir.join("data"), bytes).expect("the registry has this content");
    }
}

impl Drop for DockerRegistry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
