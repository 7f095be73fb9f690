//! One reader of a board for all who follow it in a process, so that fifty open pages cost as much as one.

use super::{ApprovalBoard, INTERVAL, Question, RENEWAL, random_name};
use anyhow::{Result, anyhow};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// The questions at one moment, or why they cannot be read.
type Reading = Option<Result<Arc<[Question]>, String>>;

/// Reads a board as long as anyone follows it.
pub struct BoardReader {
    board: Arc<dyn ApprovalBoard>,
    shared: Mutex<Weak<Shared>>,
}

impl BoardReader {
    /// A reader of that board. It reads nothing yet.
    pub fn new(board: Arc<dyn ApprovalBoard>) -> Self {
        Self { board, shared: Mutex::default() }
    }

    /// The board that it reads.
    pub fn board(&self) -> &dyn ApprovalBoard {
        &*self.board
    }

    /// Follows the questions of sessions that begin with the prefix, and attends the board for them until the follower is
    /// dropped.
    ///
    /// # Errors
    ///
    /// The board cannot be written.
    pub async fn follow(&self, session_prefix: &str) -> Result<Follower> {
        let shared = {
            let mut current = self.shared.lock().await;
            current.upgrade().unwrap_or_else(|| {
                let shared = Shared::begin(&self.board);
                *current = Arc::downgrade(&shared);
                shared
            })
        };
        let attendance = shared.attend(&self.board, session_prefix).await?;
        let readings = shared.readings.clone();
        Ok(Follower {
            prefix: session_prefix.to_owned(),
            readings,
            last: None,
            _attendance: attendance,
            _shared: shared,
        })
    }
}

/// What all followers share. Dropped with the last of them.
struct Shared {
    readings: watch::Receiver<Reading>,
    /// The attendances of the followers, by prefix.
    attendances: Mutex<HashMap<String, Weak<Attendance>>>,
    reading: JoinHandle<()>,
}

impl Shared {
    fn begin(board: &Arc<dyn ApprovalBoard>) -> Arc<Self> {
        let (sender, readings) = watch::channel(None);
        let reading = tokio::spawn(read(Arc::clone(board), sender));
        Arc::new(Self { readings, attendances: Mutex::default(), reading })
    }

    async fn attend(&self, board: &Arc<dyn ApprovalBoard>, session_prefix: &str) -> Result<Arc<Attendance>> {
        let mut attendances = self.attendances.lock().await;
        if let Some(attendance) = attendances.get(session_prefix).and_then(Weak::upgrade) {
            return Ok(attendance);
        }
        let attendance = Arc::new(Attendance::begin(Arc::clone(board), session_prefix).await?);
        attendances.retain(|_, attendance| attendance.strong_count() > 0);
        attendances.insert(session_prefix.to_owned(), Arc::downgrade(&attendance));
        Ok(attendance)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

async fn read(board: Arc<dyn ApprovalBoard>, readings: watch::Sender<Reading>) {
    loop {
        let reading = board.questions().await.map(Arc::from).map_err(|error| format!("{error:#}"));
        readings.send_if_modified(|before| {
            let is_new = before.as_ref() != Some(&reading);
            if is_new {
                *before = Some(reading);
            }
            is_new
        });
        sleep(INTERVAL).await;
    }
}

/// Follows the questions of sessions with a prefix.
pub struct Follower {
    prefix: String,
    readings: watch::Receiver<Reading>,
    last: Option<Vec<Question>>,
    _attendance: Arc<Attendance>,
    _shared: Arc<Shared>,
}

impl Follower {
    /// The questions, as soon as they are others than the call before has returned; cancel safe.
    ///
    /// # Errors
    ///
    /// The board cannot be read. A later call may succeed.
    pub async fn next(&mut self) -> Result<Vec<Question>> {
        loop {
            // The guard of the channel's lock must not be held across a wait.
            let reading = self.readings.borrow_and_update().clone();
            match reading {
                Some(Ok(all)) => {
                    let reached = all.iter().filter(|question| question.session_id.starts_with(&self.prefix));
                    let questions: Vec<Question> = reached.cloned().collect();
                    if self.last.as_ref() != Some(&questions) {
                        self.last = Some(questions.clone());
                        return Ok(questions);
                    }
                }
                Some(Err(error)) => {
                    self.last = None;
                    return Err(anyhow!(error));
                }
                None => {}
            }
            self.readings.changed().await.map_err(|_| anyhow!("the questions are not read any more"))?;
        }
    }
}

/// An approver, who attends until this is dropped.
struct Attendance {
    board: Arc<dyn ApprovalBoard>,
    id: String,
    task: tokio::task::JoinHandle<()>,
}

impl Attendance {
    /// Attends the board for sessions that begin with the prefix.
    ///
    /// # Errors
    ///
    /// The board cannot be written.
    async fn begin(board: Arc<dyn ApprovalBoard>, session_prefix: &str) -> Result<Self> {
        let (id, prefix) = (random_name()?, session_prefix.to_owned());
        board.attend(&id, &prefix).await?;
        let (renewing, named) = (Arc::clone(&board), id.clone());
        let task = tokio::spawn(async move {
            loop {
                sleep(RENEWAL).await;
                if let Err(error) = renewing.attend(&named, &prefix).await {
                    tracing::warn!("turns do not see that the owner can be asked: {error:#}");
                }
            }
        });
        Ok(Self { board, id, task })
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        self.task.abort();
        let (board, id) = (Arc::clone(&self.board), std::mem::take(&mut self.id));
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Err(error) = board.leave(&id).await {
                tracing::debug!("an approver who has left is seen until it expires: {error:#}");
            }
        });
    }
}
