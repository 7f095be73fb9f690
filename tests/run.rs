//! One start of the program.

use crate::pipe::Pipe;
use crate::{Home, Server, Terminal};
use serde_json::{Deserializer, Value};
use std::ffi::OsStr;
use std::fs;
use std::io::{Seek, Write};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// No test may wait longer for the program than this; a debug build that compiles every guest stays far below.
const PATIENCE: Duration = Duration::from_secs(120);

/// Prefix of the lines in which a guest of the tests logs its inputs, see `programs/script.rs`.
const SAW: &str = "saw:";

/// The program, about to be started. It sees only the environment that is set here. The home must outlast it.
pub struct Run<'home> {
    command: Command,
    home: PhantomData<&'home Home>,
}

impl<'home> Run<'home> {
    pub(crate) fn new(program: &Path) -> Self {
        let mut command = Command::new(program);
        command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // `kill`, `sh` and the like for tests that start programs.
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        Self { command, home: PhantomData }
    }

    pub(crate) fn arguments<'a>(&mut self, arguments: impl IntoIterator<Item = &'a str>, workspace: &Path) {
        self.command.current_dir(workspace).args(arguments);
    }

    /// With one more variable in its environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// With that text on stdin, and nothing behind it.
    pub fn input(mut self, text: &str) -> Self {
        let mut file = tempfile::tempfile().expect("a file for stdin");
        file.write_all(text.as_bytes()).and_then(|()| file.rewind()).expect("the text is written");
        self.command.stdin(file);
        self
    }

    /// With a stdin to which the test writes with [`Started::say`].
    pub fn spoken_to(mut self) -> Self {
        self.command.stdin(Stdio::piped());
        self
    }

    /// With that server as the model `openai:fake-model`.
    pub fn model(self, server: &Server) -> Self {
        self.env("BUB_MODEL", "openai:fake-model").env("BUB_API_KEY", "sk-fake").env("BUB_API_BASE", server.base())
    }

    /// With what guests log on stderr, so that [`Finished::saw`] can tell what they saw.
    pub fn watched(self) -> Self {
        self.env("RUST_LOG", "info")
    }

    /// Under a shell that says `before` first: a limit, a signal to ignore.
    pub fn under(mut self, before: &str) -> Self {
        let program = self.command.get_program().to_owned();
        let arguments: Vec<_> = self.command.get_args().map(OsStr::to_owned).collect();
        let mut shell = Command::new("sh");
        shell.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, value) in self.command.get_envs() {
            if let Some(value) = value {
                shell.env(name, value);
            }
        }
        if let Some(dir) = self.command.get_current_dir() {
            shell.current_dir(dir);
        }
        shell.arg("-c").arg(format!("{before}; exec \"$0\" \"$@\"")).arg(program).args(arguments);
        self.command = shell;
        self
    }

    /// Writes a script that starts it, for programs that start programs themselves.
    pub fn script(self, file: &Path) {
        let quoted = |text: &OsStr| format!("'{}'", text.to_string_lossy().replace('\'', "'\\''"));
        let mut line = "exec env -i".to_owned();
        for (name, value) in self.command.get_envs() {
            let value = value.map(quoted).unwrap_or_default();
            line.push_str(&format!(" {}={value}", name.to_string_lossy()));
        }
        for word in std::iter::once(self.command.get_program()).chain(self.command.get_args()) {
            line.push_str(&format!(" {}", quoted(word)));
        }
        let folder = self.command.get_current_dir().map(|dir| quoted(dir.as_os_str())).unwrap_or_default();
        fs::write(file, format!("#!/bin/sh\ncd {folder} || exit 1\n{line}\n")).expect("a script");
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("a script can be started");
    }

    /// Starts it in a terminal of that size.
    pub fn terminal(self, columns: u16, rows: u16) -> Terminal<'home> {
        Terminal::start(&self.command, columns, rows)
    }

    /// Starts it from a shell in a terminal of that size, as a job that can be suspended.
    pub fn in_shell(self, columns: u16, rows: u16) -> Terminal<'home> {
        Terminal::in_shell(&self.command, columns, rows)
    }

    /// Starts it and comes back.
    pub fn start(mut self) -> Started<'home> {
        let mut child = self.command.spawn().expect("the program starts");
        let stdout = Pipe::read(child.stdout.take());
        let stderr = Pipe::read(child.stderr.take());
        Started { child: KilledOnDrop(child), stdout, stderr, home: PhantomData }
    }

    /// Starts it and waits for its end.
    pub fn finish(self) -> Finished {
        self.start().finish()
    }
}

/// The program while it runs.
pub struct Started<'home> {
    home: PhantomData<&'home Home>,
    child: KilledOnDrop,
    stdout: Pipe,
    stderr: Pipe,
}

/// A program that ends with the test, even with one that fails.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // It has ended already, as a rule.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Deref for KilledOnDrop {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for KilledOnDrop {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Started<'_> {
    /// Sends SIGINT, as Ctrl-C does.
    pub fn interrupt(&self) {
        self.signal("-INT");
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Sends SIGHUP, which asks it to read its configuration again.
    pub fn hang_up(&self) {
        self.signal("-HUP");
    }

    /// Sends SIGKILL, and leaves what it has printed to be read.
    pub fn cut_off(&self) {
        self.signal("-KILL");
    }

    /// Sends SIGSTOP: it stands still, as on a machine that is suspended.
    pub fn suspend(&self) {
        self.signal("-STOP");
    }

    /// Sends SIGCONT.
    pub fn resume(&self) {
        self.signal("-CONT");
    }

    /// Says a line to it; see [`Run::spoken_to`].
    #[track_caller]
    pub fn say(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("its stdin is not piped");
        writeln!(stdin, "{line}").expect("it listens");
    }

    /// Closes its stdin.
    pub fn hush(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Waits until it has printed this.
    #[track_caller]
    pub fn prints(&self, text: &str) {
        let begun = Instant::now();
        while !self.stdout.has(text) {
            assert!(begun.elapsed() < PATIENCE, "the program did not print `{text}` within {PATIENCE:?}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// All that it has printed so far.
    pub fn printed(&self) -> String {
        self.stdout.so_far()
    }

    /// Ends it as the system does, at once.
    pub fn kill(mut self) {
        self.child.kill().expect("the program can be ended");
        self.child.wait().expect("the program can be waited for");
    }

    /// Whether it has said this on stderr so far.
    pub fn has_said(&self, text: &str) -> bool {
        self.stderr.has(text)
    }

    /// All that it has said on stderr so far.
    pub fn told(&self) -> String {
        self.stderr.so_far()
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status().expect("kill runs");
        assert!(status.success(), "the program has ended before it got its signal");
    }

    /// Waits until it has said this on stderr.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        let begun = Instant::now();
        while !self.stderr.has(text) {
            assert!(begun.elapsed() < PATIENCE, "the program did not say `{text}` within {PATIENCE:?}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// The most memory that it has had since the start or [`Self::forget_peak`], in bytes; none once it is gone, and
    /// where the system does not say.
    pub fn peak(&self) -> Option<u64> {
        self.status("VmHWM:")
    }

    /// The memory that it has now, in bytes; none where [`Self::peak`] has none.
    pub fn memory(&self) -> Option<u64> {
        self.status("VmRSS:")
    }

    /// From here on the peak is counted anew, where the system can do so.
    pub fn forget_peak(&self) {
        let _ = fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5");
    }

    fn status(&self, key: &str) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib << 10)
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Finished {
        // End of input, for a program that waits for a line.
        drop(self.child.stdin.take());
        let begun = Instant::now();
        let mut peak = 0;
        let status = loop {
            peak = self.peak().unwrap_or(0).max(peak);
            if let Some(status) = self.child.try_wait().expect("the program can be waited for") {
                break Some(status);
            }
            if begun.elapsed() > PATIENCE {
                self.child.kill().expect("the program can be ended");
                self.child.wait().expect("the program can be waited for");
                break None;
            }
            thread::sleep(Duration::from_millis(5));
        };
        let code = status.and_then(|status| status.code());
        let finished = Finished { code, stdout: self.stdout.end(), stderr: self.stderr.end(), peak };
        assert!(status.is_some(), "the program did not end within {PATIENCE:?}\n{finished}");
        finished
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Finished {
    /// None: a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error: errors, and the log.
    pub stderr: String,
    /// The most memory that it had, in bytes, as far as it was seen: it is looked at every few milliseconds.
    pub peak: u64,
}

impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "exit code {:?}", self.code)?;
        self.stdout.lines().try_for_each(|line| writeln!(f, "[stdout] {line}"))?;
        self.stderr.lines().try_for_each(|line| writeln!(f, "[stderr] {line}"))
    }
}

impl Finished {
    /// It went well and printed this.
    #[track_caller]
    pub fn says(self, stdout: &str) -> Self {
        assert!(self.code == Some(0) && self.stdout == stdout, "expected {stdout:?} and exit code 0\n{self}");
        self
    }

    /// It succeeded and printed this, but tool calls that need approval were denied.
    #[track_caller]
    pub fn says_and_denies(self, stdout: &str) -> Self {
        assert!(self.code == Some(3) && self.stdout == stdout, "expected {stdout:?} and exit code 3\n{self}");
        self
    }

    /// It went well, whatever was denied in it.
    #[track_caller]
    pub fn answers(self) -> Self {
        assert!(matches!(self.code, Some(0 | 3)), "expected exit code 0 or 3\n{self}");
        self
    }

    /// It failed, printed nothing and said this somewhere on stderr.
    #[track_caller]
    pub fn fails(self, with: &str) -> Self {
        let silent = self.stdout.is_empty() && !self.stderr.contains("RUST_BACKTRACE");
        assert!(self.code == Some(1) && silent, "expected exit code 1 and an empty stdout\n{self}");
        self.mentions(with)
    }

    /// It said this somewhere on stderr.
    #[track_caller]
    pub fn mentions(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "expected `{text}` on stderr\n{self}");
        self
    }

    /// It refused, with one clear line and exit code 1 or 2.
    #[track_caller]
    pub fn refuses(self, naming: &[&str]) -> Self {
        let refused = matches!(self.code, Some(1 | 2)) && self.stdout.is_empty();
        assert!(refused, "expected exit code 1 or 2 and an empty stdout\n{self}");
        assert_eq!(self.stderr.trim_end().lines().count(), 1, "expected one line on stderr\n{self}");
        for word in naming {
            assert!(self.stderr.contains(word), "expected `{word}` on stderr\n{self}");
        }
        self
    }

    /// The inputs of the scripted plugins, in order; needs [`Run::watched`].
    pub fn saw(&self) -> Vec<Value> {
        let after = |line: &str| {
            let seen = &line[line.find(SAW)? + SAW.len()..];
            Deserializer::from_str(seen).into_iter().next()?.ok()
        };
        self.stderr.lines().filter_map(after).collect()
    }

    /// The same for one hook.
    pub fn saw_hook(&self, hook: &str) -> Vec<Value> {
        self.saw().into_iter().filter(|seen| seen["hook"] == hook).collect()
    }

    /// The plugins that were asked by that hook, in order.
    pub fn asked(&self, hook: &str) -> Vec<String> {
        self.saw_hook(hook).iter().map(|seen| seen["plugin"].as_str().unwrap_or_default().to_owned()).collect()
    }
}
