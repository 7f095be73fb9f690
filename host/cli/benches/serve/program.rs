//! The server as a process of its own.

use crate::client::Client;
use bub_tests::Home;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// A process that serves a home.
pub struct Program {
    child: Child,
    pub address: SocketAddr,
    pub token: String,
}

impl Program {
    /// Starts it, and waits until it listens.
    pub fn start(home: &Home, environment: &[(&str, String)]) -> Self {
        Self::start_in(home, &home.workspace(), environment)
    }

    /// The same, in a workspace of another home.
    pub fn start_in(home: &Home, workspace: &Path, environment: &[(&str, String)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bub-wasm"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .current_dir(workspace)
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

    /// One turn, on a connection of its own.
    pub async fn turn(&self, session: &str, content: &str) {
        let mut client = Client::connect(self.address, &self.token).await.expect("it listens");
        let (status, body) = client.turn(session, content, None).await.expect("it answers");
        assert_eq!(status, 200, "{body}");
    }

    /// Waits until it works no more: plugins that a turn has opened are compiled for speed behind its answer.
    pub fn settle(&self) {
        let mut before = None;
        loop {
            let now = self.processor_time();
            if before == Some(now) {
                return;
            }
            before = Some(now);
            sleep(Duration::from_millis(700));
        }
    }

    /// Ticks of its processor time so far, and those of its children.
    fn processor_time(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("it runs");
        let (_, behind_name) = stat.rsplit_once(')').expect("its name is in parentheses");
        behind_name.split_whitespace().skip(11).take(4).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
    }

    /// The peak memory so far, in bytes.
    pub fn peak(&self) -> u64 {
        self.status("VmHWM:")
    }

    /// The memory now, in bytes.
    pub fn memory(&self) -> u64 {
        self.status("VmRSS:")
    }

    fn status(&self, key: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("the kernel counts");
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
