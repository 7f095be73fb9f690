//! The board of one home: a folder with a file for each question, decision and approver.

use super::{ApprovalBoard, BoardFuture, Decided, Decision, LIFETIME, Question};
use crate::plugin::PrivateDir;
use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::future::ready;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The folder below `$BUB_HOME`.
const DIR: &str = "approvals";

/// The largest file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// How long a decision is kept after its question is withdrawn.
const KEPT: Duration = Duration::from_secs(600);

/// Files that expire at a time.
#[derive(Serialize, Deserialize)]
struct Expiring<T> {
    until: Timestamp,
    value: T,
}

/// The folder.
pub(super) struct FileBoard {
    dir: PathBuf,
}

impl FileBoard {
    pub(super) fn new(home: &Path) -> Self {
        Self { dir: home.join(DIR) }
    }

    fn open(&self) -> Result<PrivateDir> {
        PrivateDir::open(&self.dir).map_err(|reason| anyhow::anyhow!("`{}` {reason}", self.dir.display()))
    }

    fn write<T: Serialize>(&self, name: &str, value: T) -> Result<()> {
        let dir = self.open()?;
        sweep(&dir)?;
        let until = Timestamp::now() + SignedDuration::from_secs(LIFETIME);
        let text = serde_json::to_vec(&Expiring { until, value })?;
        dir.write(name, &[&text]).with_context(|| format!("`{}` cannot be written", self.dir.display()))
    }

    fn remove(&self, name: &str) -> Result<()> {
        if !self.dir.exists() {
            return Ok(());
        }
        Ok(self.open()?.remove(name)?)
    }

    /// What has not expired of the files whose names begin so.
    fn all<T: DeserializeOwned>(&self, prefix: &str) -> Result<Vec<T>> {
        // A home without a board is not given one by a look.
        if !self.dir.exists() {
            return Ok(Vec::new());
        }
        let (dir, now) = (self.open()?, Timestamp::now());
        let files = dir.list()?.into_iter().filter(|file| file.name.starts_with(prefix));
        let values = files.filter_map(|file| read::<Expiring<T>>(&dir, &file.name));
        Ok(values.filter(|file| now < file.until).map(|file| file.value).collect())
    }

    fn find_decision(&self, id: &str) -> Result<Option<Decision>> {
        if !self.dir.exists() {
            return Ok(None);
        }
        Ok(read(&self.open()?, &decision_name(id)))
    }

    fn find_questions(&self) -> Result<Vec<Question>> {
        let mut questions: Vec<Question> = self.all("question-")?;
        let mut undecided = Vec::with_capacity(questions.len());
        questions.sort_by(|one, other| one.asked.cmp(&other.asked).then_with(|| one.id.cmp(&other.id)));
        for question in questions {
            if self.find_decision(&question.id)?.is_none() {
                undecided.push(question);
            }
        }
        Ok(undecided)
    }

    fn write_decision(&self, id: &str, decision: &Decision) -> Result<Decided> {
        let dir = self.open()?;
        let (draft, name) = (format!("draft-{}", super::random_name()?), decision_name(id));
        dir.write(&draft, &[&serde_json::to_vec(decision)?])?;
        // A second name fails where the first exists, and the file is complete when it gets it.
        let linked = std::fs::hard_link(self.dir.join(&draft), self.dir.join(&name));
        dir.remove(&draft)?;
        match linked {
            Ok(()) => Ok(Decided::First),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let decision = read(&dir, &name).with_context(|| format!("`{name}` is damaged"))?;
                Ok(Decided::Already(decision))
            }
            Err(error) => Err(error).with_context(|| format!("`{}` cannot be written", self.dir.display())),
        }
    }
}

impl ApprovalBoard for FileBoard {
    fn post<'a>(&'a self, question: &'a Question) -> BoardFuture<'a, ()> {
        Box::pin(ready(self.write(&format!("question-{}", question.id), question)))
    }

    fn withdraw<'a>(&'a self, id: &'a str) -> BoardFuture<'a, ()> {
        Box::pin(ready(self.remove(&format!("question-{id}"))))
    }

    fn questions(&self) -> BoardFuture<'_, Vec<Question>> {
        Box::pin(ready(self.find_questions()))
    }

    fn decide<'a>(&'a self, id: &'a str, decision: &'a Decision) -> BoardFuture<'a, Decided> {
        Box::pin(ready(self.write_decision(id, decision)))
    }

    fn decision<'a>(&'a self, id: &'a str) -> BoardFuture<'a, Option<Decision>> {
        Box::pin(ready(self.find_decision(id)))
    }

    fn attend<'a>(&'a self, id: &'a str, session_prefix: &'a str) -> BoardFuture<'a, ()> {
        Box::pin(ready(self.write(&format!("approver-{id}"), session_prefix)))
    }

    fn leave<'a>(&'a self, id: &'a str) -> BoardFuture<'a, ()> {
        Box::pin(ready(self.remove(&format!("approver-{id}"))))
    }

    fn approvers(&self) -> BoardFuture<'_, Vec<String>> {
        Box::pin(ready(self.all("approver-")))
    }
}

fn decision_name(id: &str) -> String {
    format!("decision-{id}")
}

fn read<T: DeserializeOwned>(dir: &PrivateDir, name: &str) -> Option<T> {
    serde_json::from_slice(&dir.read(name, MAX_FILE)?).ok()
}

/// Removes files that were not written for longer than any of them counts.
fn sweep(dir: &PrivateDir) -> Result<()> {
    let now = SystemTime::now();
    let is_old = |modified: SystemTime| now.duration_since(modified).is_ok_and(|age| age > KEPT);
    dir.list()?.iter().filter(|file| is_old(file.modified)).try_for_each(|file| dir.remove(&file.name))?;
    Ok(())
}
