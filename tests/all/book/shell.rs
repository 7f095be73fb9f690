//! One shell for all commands of a page, so that a variable or a directory of one is there for the next.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for a command: one may build a plugin.
const PATIENCE: Duration = Duration::from_secs(300);

/// A shell that receives its commands one by one.
pub(super) struct Shell {
    child: Child,
    stdin: Option<ChildStdin>,
    /// Exit codes, a line each.
    codes: Receiver<String>,
    outputs: PathBuf,
    commands: usize,
}

impl Shell {
    /// Starts it as `command` says; outputs are kept below `outputs`.
    pub(super) fn start(mut command: Command, outputs: &Path) -> Self {
        // A group of its own, so that what it leaves behind can be ended with it.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("there is a shell");
        let (sender, codes) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { stdin: child.stdin.take(), child, codes, outputs: outputs.to_owned(), commands: 0 }
    }

    /// Sets a variable for the commands from here on.
    pub(super) fn export(&mut self, name: &str, value: &str) {
        self.send(&format!("export {name}='{value}'\n"));
    }

    /// Runs a command and waits for its end; answers its exit code and the file of what it prints.
    pub(super) fn run(&mut self, script: &str) -> Result<(i32, PathBuf), String> {
        self.commands += 1;
        let output = self.outputs.join(format!("{}.txt", self.commands));
        self.send(&format!("{{ {script}\n}} >'{}' 2>&1 </dev/null\necho $?\n", output.display()));
        match self.codes.recv_timeout(PATIENCE) {
            Ok(code) => Ok((code.parse().map_err(|_| format!("`{code}` is no exit code"))?, output)),
            Err(_) => {
                let printed = fs::read_to_string(&output).unwrap_or_default();
                Err(format!("`{script}` does not end within {PATIENCE:?}, or ends the shell:\n{printed}"))
            }
        }
    }

    fn send(&mut self, text: &str) {
        // A shell that ended is noticed where its answer is awaited.
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush());
        }
    }

    fn signal(&self, signal: &str) -> bool {
        let group = format!("-{}", self.child.id());
        let mut kill = Command::new("kill");
        kill.args([signal, "--", &group]).stderr(Stdio::null());
        kill.status().is_ok_and(|status| status.success())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.stdin.take());
        self.signal("-TERM");
        let begun = Instant::now();
        // Background commands that end soon end in order.
        while self.child.try_wait().is_ok() && self.signal("-0") {
            if begun.elapsed() > Duration::from_secs(20) {
                self.signal("-KILL");
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.wait();
    }
}
