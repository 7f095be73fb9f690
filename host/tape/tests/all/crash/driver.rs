//! A process that does what a script says to a tape, and says what was acknowledged: what must survive its end.
//!
//! A script is one operation a line; [`Writing::apply`](super::world::Writing::apply) says what each means. The process
//! is this test program, started again.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bub_tape::json::quote;
use bub_tape::{Draft, Durability, Error, FileStore, JournalSettings, Journals, Result, Tape, Tapes};

use crate::NAME;

/// The sidecar that scripts write.
pub(crate) const SIDECAR: &str = "notes";

/// The process prints this after an operation that was done, before it begins the next.
const DONE: &str = "done: ";
/// The same of one that was refused.
const FAILED: &str = "failed: ";

/// It prints this before the first.
const READY: &str = "\nready\n";

const SIGABRT: i32 = 6;

/// The operations of a running process, on a tape of its own and its turn's.
pub(crate) struct Driver {
    tapes: Tapes,
    /// The turn and its forks, innermost last.
    open: Vec<Tape>,
}

impl Driver {
    pub(crate) fn new(dir: &Path, durability: Durability, lock_wait: Duration) -> Self {
        let store = FileStore::durable(dir, durability).unwrap();
        let journals = Journals::new(dir, JournalSettings { lock_wait, durability });
        Self { tapes: Tapes::new(Arc::new(store), Arc::new(journals)), open: Vec::new() }
    }

    fn tape(&self) -> Tape {
        match self.open.last() {
            Some(tape) => tape.clone(),
            None => self.tapes.open(NAME).unwrap(),
        }
    }

    pub(crate) async fn act(&mut self, operation: &str) -> Result<()> {
        let tape = self.tape();
        let words: Vec<&str> = operation.split(' ').collect();
        match words.as_slice() {
            ["begin"] => self.open = vec![self.tapes.begin(NAME).await?.0],
            ["prompt", text] => tape.keep_prompt(text)?,
            ["tool", id] => tape.keep_tool(&call(id)).await?,
            ["say", role, texts @ ..] => {
                let drafts = texts.iter().map(|text| crate::message(role, text));
                tape.append(drafts.collect()).await?;
            }
            ["call", ids @ ..] => {
                let calls: Vec<String> = ids.iter().map(|id| call(id)).collect();
                let payload = format!(r#"{{"calls": [{}]}}"#, calls.join(", "));
                tape.append(vec![Draft::new("tool_call", &payload, "{}")?]).await?;
            }
            ["result", results @ ..] => {
                let results: Vec<String> = results.iter().map(|result| quote(result)).collect();
                let payload = format!(r#"{{"results": [{}]}}"#, results.join(", "));
                tape.append(vec![Draft::new("tool_result", &payload, "{}")?]).await?;
            }
            ["handoff", name] => {
                tape.handoff(name, None).await?;
            }
            ["note", text] => {
                tape.sidecar(SIDECAR)?.append(vec![crate::message("user", text)]).await?;
            }
            ["reset", kept] => drop(tape.reset(*kept == "archive").await?),
            ["fork"] => self.open.push(tape.fork()),
            ["drop"] => drop(self.open.pop()),
            ["merge"] => {
                tape.merge().await?;
                if self.open.len() > 1 {
                    self.open.pop();
                }
            }
            ["close"] => {
                tape.close();
                self.open.clear();
            }
            ["pause"] => tokio::time::sleep(Duration::from_millis(2)).await,
            ["beside", text] => {
                self.tapes.open(NAME)?.append(vec![crate::message("user", text)]).await?;
            }
            _ => return Err(Error::InvalidInput(format!("`{operation}` is no operation"))),
        }
        Ok(())
    }
}

fn call(id: &str) -> String {
    format!(r#"{{"id": {}, "type": "function", "function": {{"name": "bash", "arguments": "{{}}"}}}}"#, quote(id))
}

/// The end of a process.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) done: Vec<String>,
    /// The operation that was refused, and why. It was the last.
    pub(crate) failed: Option<(String, String)>,
    pub(crate) stderr: String,
    pub(crate) status: ExitStatus,
}

impl Ended {
    /// Whether a fail point ended it.
    #[track_caller]
    pub(crate) fn is_cut(&self) -> bool {
        match (self.status.code(), self.status.signal()) {
            (Some(0), _) => false,
            (_, Some(SIGABRT)) => true,
            _ => panic!("the process ended by itself: {self:?}"),
        }
    }
}

/// How a process is started.
pub(crate) struct Start<'a> {
    pub(crate) dir: &'a Path,
    pub(crate) script: &'a str,
    pub(crate) failpoint: &'a str,
    /// How often the script is repeated, with `%` for the round.
    pub(crate) rounds: u32,
    pub(crate) durability: Durability,
    pub(crate) lock_wait: Duration,
}

impl<'a> Start<'a> {
    pub(crate) fn new(dir: &'a Path, script: &'a str) -> Self {
        let (durability, lock_wait) = (Durability::Os, Duration::from_secs(60));
        Self { dir, script, failpoint: "", rounds: 1, durability, lock_wait }
    }

    pub(crate) fn cut(self, failpoint: &'a str) -> Self {
        Self { failpoint, ..self }
    }

    pub(crate) fn start(&self) -> Child {
        self.start_under(&[])
    }

    /// Behind the words of another program that starts this one.
    pub(crate) fn under(&self, before: &[&str]) -> Ended {
        ended(self.start_under(before))
    }

    fn start_under(&self, before: &[&str]) -> Child {
        let path = module_path!().split_once("::").expect("a module of a program").1;
        let program = std::env::current_exe().expect("this program has a path");
        let mut words = before.iter().map(OsStr::new).chain([program.as_os_str()]);
        let mut command = Command::new(words.next().expect("there is a program"));
        command.args(words).args([
            "--exact",
            &format!("{path}::driver"),
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ]);
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("TAPES_DIR", self.dir)
            .env("TAPES_SCRIPT", self.script);
        command.env("BUB_FAILPOINT", self.failpoint).env("TAPES_ROUNDS", self.rounds.to_string());
        command.env("TAPES_FSYNC", if self.durability == Durability::Fsync { "1" } else { "" });
        command.env("TAPES_WAIT", self.lock_wait.as_secs_f64().to_string());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("this program starts")
    }

    pub(crate) fn finish(&self) -> Ended {
        ended(self.start())
    }
}

/// Waits until a process runs its script.
pub(crate) fn wait_for_first(child: &mut Child) {
    // The first output is the test harness's, and is skipped.
    let out = child.stdout.as_mut().expect("it is read here");
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(READY.as_bytes()) {
        assert_eq!(out.read(&mut byte).unwrap(), 1, "the process did not start");
        seen.push(byte[0]);
    }
}

/// Waits for the end of a process.
pub(crate) fn ended(child: Child) -> Ended {
    let output = child.wait_with_output().expect("the process can be waited for");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // A line that was cut off was not said.
    let whole = said.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let mut ended = Ended {
        done: Vec::new(),
        failed: None,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        status: output.status,
    };
    for line in whole {
        if let Some(done) = line.strip_prefix(DONE) {
            ended.done.push(done.to_owned());
        } else if let Some((operation, why)) = line.strip_prefix(FAILED).and_then(|line| line.split_once(": ")) {
            ended.failed = Some((operation.to_owned(), why.to_owned()));
        }
    }
    ended
}

#[test]
#[ignore = "started by other tests, in a process of its own"]
fn driver() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let durability = if variable("TAPES_FSYNC").is_empty() { Durability::Os } else { Durability::Fsync };
    let wait = Duration::from_secs_f64(variable("TAPES_WAIT").parse().unwrap());
    let (script, rounds) = (variable("TAPES_SCRIPT"), variable("TAPES_ROUNDS").parse::<u32>().unwrap());
    let mut driver = Driver::new(Path::new(&variable("TAPES_DIR")), durability, wait);
    let mut out = std::io::stdout();
    // Behind what the test harness has said on its line.
    out.write_all(READY.as_bytes()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for round in 0..rounds {
            for operation in script.lines().map(|line| line.replace('%', &round.to_string())) {
                // `?`: it may be refused, and the next is tried all the same.
                if let Some(operation) = operation.strip_suffix('?') {
                    let _refused = driver.act(operation).await;
                    continue;
                }
                let outcome = driver.act(&operation).await;
                // One write: a line is said or not.
                let line = match &outcome {
                    Ok(()) => format!("{DONE}{operation}\n"),
                    Err(error) => format!("{FAILED}{operation}: {}\n", error.to_string().replace('\n', "\\n")),
                };
                out.write_all(line.as_bytes()).unwrap();
                if outcome.is_err() {
                    return;
                }
            }
        }
    });
}
