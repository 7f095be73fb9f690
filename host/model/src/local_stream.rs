//! Work that says something as it goes on, in the task of whoever listens.
//!
//! Work with a task of its own is woken for each thing that it waits for, and wakes its listener for each thing that it says;
//! where a thread is free, each of both wakes that one too, which takes longer than most of what is said takes to be made.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use tokio::sync::mpsc::Receiver;

/// Work, and what it has said.
pub struct LocalStream<W: Future, T> {
    /// None once it has ended, or was taken elsewhere.
    work: Option<W>,
    said: Receiver<T>,
    ended: Option<W::Output>,
}

impl<W: Future + Unpin, T> LocalStream<W, T> {
    /// Work that writes to the other end of `said`. It begins when something is waited for.
    pub fn new(work: W, said: Receiver<T>) -> Self {
        Self { work: Some(work), said, ended: None }
    }

    /// What it says next; `None` once it has ended and all of it was heard. It goes on while that is waited for.
    pub async fn next(&mut self) -> Option<T> {
        let said = poll_fn(|context| {
            while let Some(work) = &mut self.work {
                // Looked at without leaving a waker: the work would use it in the middle of this task, which would run
                // once more for nothing.
                if let Ok(said) = self.said.try_recv() {
                    return Poll::Ready(Some(said));
                }
                match Pin::new(work).poll(context) {
                    Poll::Ready(ended) => (self.work, self.ended) = (None, Some(ended)),
                    Poll::Pending => return self.said.try_recv().map_or(Poll::Pending, |said| Poll::Ready(Some(said))),
                }
            }
            Poll::Ready(None)
        });
        match said.await {
            Some(said) => Some(said),
            // What it said at last is still on the way, or somebody else speaks for it.
            None => self.said.recv().await,
        }
    }

    /// What it has said already.
    pub fn try_next(&mut self) -> Option<T> {
        self.said.try_recv().ok()
    }

    /// The work, to be done elsewhere, unless that was asked before or it has ended.
    pub fn take(&mut self) -> Option<W> {
        self.work.take()
    }

    /// Nobody listens any more: whoever writes is told so.
    pub fn close(&mut self) {
        self.said.close();
    }

    /// What the work came to, once it has ended.
    pub fn ended(self) -> Option<W::Output> {
        self.ended
    }
}
