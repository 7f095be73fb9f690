//! The way from the task that reads an answer to whoever wants it.

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::model::error::{Error, ErrorKind};
use crate::model::exchange::Event;

/// Events that wait for a slow reader. Then the server waits too.
const CAPACITY: usize = 64;

/// An answer that is under way. Dropping it ends the request.
#[derive(Debug)]
pub struct Completion {
    events: mpsc::Receiver<Result<Event, Error>>,
    task: JoinHandle<()>,
    is_over: bool,
}

impl Completion {
    /// Runs `work` as a task that writes to the other end.
    pub(crate) fn spawn<W, F>(work: W) -> Completion
    where
        W: FnOnce(Outlet) -> F,
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, events) = mpsc::channel(CAPACITY);
        let outlet = Outlet { sender, has_sent: false };
        Completion { events, task: tokio::spawn(work(outlet)), is_over: false }
    }

    /// The next event; `None` after [`Event::Finish`] or an error.
    ///
    /// # Errors
    ///
    /// An error is the last thing to come. It is [`ErrorKind::Cancelled`] if the task was ended from outside, by a
    /// runtime that shuts down.
    pub async fn next(&mut self) -> Option<Result<Event, Error>> {
        if self.is_over {
            return None;
        }
        let next = self.events.recv().await.unwrap_or_else(|| {
            Err(Error::new(ErrorKind::Cancelled, "the request was ended before its answer was whole"))
        });
        self.is_over = matches!(next, Ok(Event::Finish(_)) | Err(_));
        Some(next)
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The writing end.
pub(crate) struct Outlet {
    sender: mpsc::Sender<Result<Event, Error>>,
    has_sent: bool,
}

impl Outlet {
    /// Whether the reader has been told anything. From then on no other request may answer in this one's place.
    pub(crate) fn has_sent(&self) -> bool {
        self.has_sent
    }

    /// Waits while the reader is slow. What is sent to a reader that has left is lost: its leaving aborts the task.
    pub(crate) async fn send(&mut self, event: Event) {
        self.has_sent = true;
        let _ = self.sender.send(Ok(event)).await;
    }

    /// The last thing that is sent.
    pub(crate) async fn fail(self, error: Error) {
        let _ = self.sender.send(Err(error)).await;
    }
}
