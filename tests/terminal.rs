//! The program in a terminal: keys are typed, the screen is read. The terminal is `tmux`.

use crate::Home;
use std::marker::PhantomData;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// No test may wait longer for something to be seen.
const PATIENCE: Duration = Duration::from_secs(60);

/// Longer than the half second that a question is shown before it accepts an answer, with a margin for a busy machine.
const ANSWER_DELAY: Duration = Duration::from_millis(1200);

/// Shown while the line editor waits.
const SIGN: &str = "›";

/// The shell's prompt.
const SHELL_SIGN: &str = "shell> ";

/// Terminals of this process so far.
static TERMINALS: AtomicU64 = AtomicU64::new(0);

/// A terminal with the program in it. It goes with this value.
pub struct Terminal<'home> {
    /// A `tmux` server of its own.
    socket: String,
    home: PhantomData<&'home Home>,
}

impl Terminal<'_> {
    pub(crate) fn start(program: &Command, columns: u16, rows: u16) -> Self {
        let number = TERMINALS.fetch_add(1, Ordering::Relaxed);
        let terminal = Self { socket: format!("bub-tests-{}-{number}", std::process::id()), home: PhantomData };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let mut start = terminal.tmux(["new-session", "-d", "-x", &columns, "-y", &rows]);
        if let Some(dir) = program.get_current_dir() {
            start.arg("-c").arg(dir);
        }
        // Only what the test says, and what makes it a terminal.
        start.args(["--", "env", "-i", "TERM=tmux-256color", "LANG=C.UTF-8"]);
        for (name, value) in program.get_envs() {
            let mut pair = name.to_owned();
            pair.push("=");
            pair.push(value.unwrap_or_default());
            start.arg(pair);
        }
        start.arg(program.get_program()).args(program.get_args());
        // The screen stays readable after the program's end.
        start.args([";", "set-option", "remain-on-exit", "on"]);
        checked(start.output());
        terminal
    }

    /// Starts a shell with job control, and the program as what is typed into it.
    pub(crate) fn in_shell(program: &Command, columns: u16, rows: u16) -> Self {
        let mut shell = Command::new("bash");
        shell.env_clear().args(["--norc", "--noprofile", "-i"]).env("PS1", SHELL_SIGN);
        for (name, value) in program.get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        if let Some(dir) = program.get_current_dir() {
            shell.current_dir(dir);
        }
        let terminal = Self::start(&shell, columns, rows);
        let words = std::iter::once(program.get_program()).chain(program.get_args());
        let words: Vec<String> = words.map(|word| format!("'{}'", word.to_string_lossy())).collect();
        terminal.sees(SHELL_SIGN.trim_end());
        terminal.say(&words.join(" "));
        terminal
    }

    fn tmux<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.args(["-L", &self.socket, "-f", "/dev/null"]).args(arguments).env_remove("TMUX");
        tmux
    }

    /// Presses keys, each named as `tmux` does: `Enter`, `C-c`, `Tab`, `y`.
    #[track_caller]
    pub fn press<'a>(&self, keys: impl IntoIterator<Item = &'a str>) -> &Self {
        checked(self.tmux(["send-keys"]).args(keys).output());
        self
    }

    /// Types a text literally.
    #[track_caller]
    pub fn write(&self, text: &str) -> &Self {
        checked(self.tmux(["send-keys", "-l", "--", text]).output());
        self
    }

    /// Types a line and says it.
    #[track_caller]
    pub fn say(&self, line: &str) -> &Self {
        self.write(line).press(["Enter"])
    }

    /// Pastes a text, marked as a paste where the program asked the terminal for that.
    #[track_caller]
    pub fn paste(&self, text: &str) -> &Self {
        checked(self.tmux(["set-buffer", "-b", "pasted", "--", text]).output());
        checked(self.tmux(["paste-buffer", "-p", "-b", "pasted"]).output());
        self
    }

    /// Gives the terminal another size.
    #[track_caller]
    pub fn resize(&self, columns: u16, rows: u16) -> &Self {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        checked(self.tmux(["resize-window", "-x", &columns, "-y", &rows]).output());
        self
    }

    /// Waits until a question that is on the screen takes answers.
    pub fn after_delay(&self) -> &Self {
        thread::sleep(ANSWER_DELAY);
        self
    }

    /// Answers the question that is on the screen, as a person does who has read it.
    #[track_caller]
    pub fn answer(&self, line: &str) -> &Self {
        self.after_delay().say(line)
    }

    /// The visible text with the lines scrolled out at the top, without spaces at the ends of lines.
    pub fn screen(&self) -> String {
        let output = checked(self.tmux(["capture-pane", "-p", "-S", "-"]).output());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }

    /// The visible text, without the lines that have left the screen at its top.
    pub fn visible(&self) -> String {
        let output = checked(self.tmux(["capture-pane", "-p"]).output());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }

    /// The program's number.
    pub fn process(&self) -> u32 {
        self.ask("#{pane_pid}").trim().parse().expect("a process has a number")
    }

    /// The same with the colors in it.
    pub fn painted(&self) -> String {
        let output = checked(self.tmux(["capture-pane", "-p", "-e", "-S", "-"]).output());
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Waits until the screen is like this.
    #[track_caller]
    pub fn until(&self, what: &str, seen: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let screen = self.screen();
            if seen(&screen) {
                return screen;
            }
            assert!(began.elapsed() < PATIENCE, "never seen: {what}\n{screen}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until that text is seen.
    #[track_caller]
    pub fn sees(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits until the program waits for a line.
    #[track_caller]
    pub fn waits(&self) -> String {
        self.until("an empty line that waits", |screen| screen.lines().last().is_some_and(|line| line == SIGN))
    }

    /// Waits until the program has ended.
    #[track_caller]
    pub fn ends(&self) -> String {
        let began = Instant::now();
        loop {
            match self.ask("#{pane_dead} #{pane_dead_status}").trim() {
                "1 0" => return self.screen(),
                "0" => {}
                // `tmux` 3.3a sometimes misses the signal that its child has ended, and never learns how.
                "1" => drop(Command::new("kill").args(["-CHLD", self.ask("#{pid}").trim()]).output()),
                other => panic!("the program ended badly: `{other}`\n{}", self.screen()),
            }
            assert!(began.elapsed() < PATIENCE, "never ended\n{}", self.screen());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// A value of the terminal's own state.
    fn ask(&self, format: &str) -> String {
        let output = checked(self.tmux(["display-message", "-p", format]).output());
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let _ = self.tmux(["kill-server"]).output();
    }
}

/// The output of a finished `tmux` command.
#[track_caller]
fn checked(output: std::io::Result<Output>) -> Output {
    let output = output
        .unwrap_or_else(|error| panic!("`tmux` does not start ({error}): install it, as by `apt-get install tmux`"));
    assert!(output.status.success(), "tmux: {}", String::from_utf8_lossy(&output.stderr));
    output
}
