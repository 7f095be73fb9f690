//! A stream whose producer runs in the consumer's task.
//!
//! A separate task costs two wake-ups per item, often across threads, which takes longer than producing most items.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use tokio::sync::mpsc::Receiver;

/// A producer and its items.
pub struct LocalStream<W: Future, T> {
    /// `None` once it has ended, or was taken.
    work: Option<W>,
    said: Receiver<T>,
    ended: Option<W::Output>,
}

impl<W: Future + Unpin, T> LocalStream<W, T> {
    /// A producer that sends to the other end of `said`. It starts at the first call of [`next`](Self::next).
    pub fn new(work: W, said: Receiver<T>) -> Self {
        Self { work: Some(work), said, ended: None }
    }

    /// The next item; `None` after the last one. The producer runs meanwhile.
    pub async fn next(&mut self) -> Option<T> {
        let said = poll_fn(|context| {
            while let Some(work) = &mut self.work {
                // Checked without registering a waker: the work would trigger it within this task, which would then be
                // polled once more in vain.
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
            // Its last items may still be queued, or it has moved the sender elsewhere.
            None => self.said.recv().await,
        }
    }

    /// The next item that is available without waiting.
    pub fn try_next(&mut self) -> Option<T> {
        self.said.try_recv().ok()
    }

    /// Takes the producer, to run it elsewhere; `None` if it was taken or has ended.
    pub fn take(&mut self) -> Option<W> {
        self.work.take()
    }

    /// Closes the channel, which the producer notices.
    pub fn close(&mut self) {
        self.said.close();
    }

    /// The result of the work, once it has ended.
    pub fn ended(self) -> Option<W::Output> {
        self.ended
    }
}
