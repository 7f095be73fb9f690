//! Whether a program works here: it says its version, reads the home, and its `doctor` finds nothing wrong that the present
//! program's does not find too.

use crate::NAME;
use anyhow::{Context, Result, bail, ensure};
use bub_system::environment;
use bub_types::text::{escaped, one_line};
use serde::Deserialize;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::timeout;

/// How long a program may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// How long its `doctor` may take: it may compile all plugins anew, and asks servers.
const DOCTOR_TIMEOUT: Duration = Duration::from_secs(300);

/// The longest output that is read, in bytes.
const MAX_OUTPUT: u64 = 4 << 20;

/// Findings that are looked at, at most.
const MAX_FINDINGS: usize = 10_000;

/// A program that is tried.
pub struct Trial {
    program: PathBuf,
    home: PathBuf,
    workspace: PathBuf,
}

/// What `doctor --json` prints.
#[derive(Deserialize)]
struct Findings {
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    what: String,
    state: String,
    text: String,
}

/// What a program has answered.
struct Answer {
    succeeded: bool,
    stdout: String,
    stderr: String,
}

impl Answer {
    /// The first line that says what is wrong.
    fn line(&self) -> String {
        let lines = self.stderr.lines().chain(self.stdout.lines());
        let line = lines.map(str::trim).find(|line| !line.is_empty()).unwrap_or("it says nothing");
        one_line(line.strip_prefix("error: ").unwrap_or(line)).chars().take(500).collect()
    }
}

impl Trial {
    /// A trial of the program with that home and workspace.
    pub fn new(program: &Path, home: &Path, workspace: &Path) -> Self {
        Self { program: program.to_owned(), home: home.to_owned(), workspace: workspace.to_owned() }
    }

    /// The version that the program says it has.
    ///
    /// # Errors
    ///
    /// It does not start, or says something else.
    pub async fn version(&self) -> Result<String> {
        let answer = self.ask(&["--version"], ANSWER_TIMEOUT).await?;
        let said = answer.stdout.trim();
        match said.strip_prefix(NAME).and_then(|rest| rest.strip_prefix(' ')) {
            Some(version) if answer.succeeded => Ok(escaped(version, 64)),
            _ => bail!("it does not say which version it is: {}", answer.line()),
        }
    }

    /// Checks that the program reads the home: one of a newer program it refuses.
    ///
    /// # Errors
    ///
    /// It does not, and says why.
    pub async fn reads_home(&self) -> Result<()> {
        let answer = self.ask(&["home"], ANSWER_TIMEOUT).await?;
        ensure!(answer.succeeded, "it does not read the home: {}", answer.line());
        Ok(())
    }

    /// Takes the home back by one version.
    ///
    /// # Errors
    ///
    /// The program cannot do so.
    pub async fn downgrade_home(&self) -> Result<()> {
        let answer = self.ask(&["home", "downgrade"], ANSWER_TIMEOUT).await?;
        ensure!(answer.succeeded, "the home cannot be taken back: {}", answer.line());
        Ok(())
    }

    /// Runs the program's `doctor`. What the present program's `doctor` finds wrong too is no reason against it.
    ///
    /// # Errors
    ///
    /// It finds something else that is wrong, or does not end.
    pub async fn doctor(&self, present: &Trial) -> Result<()> {
        let (succeeded, found) = match self.findings().await? {
            Ok(found) => found,
            Err(line) => {
                // A home that no `doctor` can look at was ill before.
                if matches!(present.findings().await, Ok(Err(before)) if before == line) {
                    return Ok(());
                }
                bail!("its `doctor` ends with: {line}");
            }
        };
        if succeeded {
            return Ok(());
        }
        let known = match present.findings().await {
            Ok(Ok((_, known))) => known,
            Ok(Err(_)) | Err(_) => Vec::new(),
        };
        let new = found.iter().find(|finding| !known.iter().any(|known| known.what == finding.what));
        if let Some(new) = new {
            let line: String = one_line(&format!("{}: {}", new.what, new.text)).chars().take(500).collect();
            bail!("its `doctor` finds wrong what the present one's does not: {line}");
        }
        ensure!(!found.is_empty(), "its `doctor` fails and does not say why");
        Ok(())
    }

    /// Whether `doctor` succeeded and what it found wrong; or the line that it ended with.
    async fn findings(&self) -> Result<Result<(bool, Vec<Finding>), String>> {
        let answer = self.ask(&["doctor", "--json"], DOCTOR_TIMEOUT).await?;
        Ok(match serde_json::from_str::<Findings>(&answer.stdout) {
            Ok(Findings { mut findings }) => {
                findings.truncate(MAX_FINDINGS);
                findings.retain(|finding| finding.state == "wrong");
                Ok((answer.succeeded, findings))
            }
            // Programs to come may write something else.
            Err(_) if answer.succeeded => Ok((true, Vec::new())),
            Err(_) => Err(answer.line()),
        })
    }

    async fn ask(&self, arguments: &[&str], patience: Duration) -> Result<Answer> {
        let mut command = Command::new(&self.program);
        command.arg("--home").arg(&self.home).arg("--workspace").arg(&self.workspace).args(arguments);
        // The block that this process was started with has no keys any more.
        command.env_clear().envs(environment::all());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true).process_group(0);
        let mut child = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => {
                anyhow::anyhow!("it cannot be started: {error}; is its file system `noexec`?")
            }
            _ => anyhow::anyhow!("it cannot be started on this machine: {error}"),
        })?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let ended = timeout(patience, async {
            let (stdout, stderr, status) = tokio::join!(read(out), read(err), child.wait());
            anyhow::Ok((stdout?, stderr?, status?))
        });
        let ended = ended.await;
        if !matches!(ended, Ok(Ok(_)))
            && let Some(group) = group
        {
            // Its own programs too.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let named = arguments.first().copied().unwrap_or_default();
        let (stdout, stderr, status) = ended
            .map_err(|_| anyhow::anyhow!("its `{named}` does not end within {} s", patience.as_secs()))?
            .context("it cannot be run")?;
        Ok(Answer { succeeded: status.success(), stdout, stderr })
    }
}

/// The output of a program. What is longer ends it: its next write fails.
async fn read(from: Option<impl AsyncRead + Unpin>) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(MAX_OUTPUT).read_to_end(&mut bytes).await?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
