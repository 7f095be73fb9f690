//! The server as a process of its own.

use bub_tests::Home;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// A process that serves a home.
pub struct Program {
    child: Child,
    pub address: SocketAddr,
    pub token: String,
}

impl Program {
    /// Starts it, and waits until it listens.
    pub fn start(home: &Home, environment: &[(&str, String)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bub-wasm"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .current_dir(home.workspace())
            .env_clear()
            .env("HOME", home.bub_home())
            .env("BUB_HOME", home.bub_home())
            .envs(environment.iter().map(|(name, value)| (*name, value.as_str())))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let line = lines.next().expect("it says where it listens").expect("it can be read");
        let address = line.rsplit('/').next().and_then(|address| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("no address in `{line}`"));
        // Drain the output, so that the pipe does not fill up.
        std::thread::spawn(move || lines.for_each(drop));
        let token = fs::read_to_string(home.bub_home().join("serve.token")).expect("its token").trim().to_owned();
        Self { child, address, token }
    }

    /// The peak memory so far, in bytes.
    pub fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the kernel counts");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
    }

    /// Kills the process.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
