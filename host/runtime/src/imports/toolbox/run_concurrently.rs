//! Work that is done side by side.

use futures_util::stream::{FuturesUnordered, StreamExt};
use std::pin::Pin;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// How long several of them work in the task that waits for them. To begin a task for each would wake other threads, which
/// is dearer than most of what tools do.
const SHORT: Duration = Duration::from_millis(1);

/// One of several.
pub(super) type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The results of all of them, in the order in which they end. Dropping the future drops them. They share this task as
/// long as all of it is short, and get a task each when it is not.
pub(super) async fn run_concurrently<T: Send + 'static>(all: impl IntoIterator<Item = Work<T>>) -> Vec<T> {
    let mut here: FuturesUnordered<Work<T>> = all.into_iter().collect();
    let mut ended = Vec::with_capacity(here.len());
    let mut busy = Duration::ZERO;
    while !here.is_empty() && (busy < SHORT || here.len() == 1) {
        let next = std::future::poll_fn(|context| {
            let start = Instant::now();
            let polled = here.poll_next_unpin(context);
            busy += start.elapsed();
            match polled {
                std::task::Poll::Pending if busy >= SHORT && here.len() > 1 => std::task::Poll::Ready(None),
                other => other,
            }
        });
        ended.extend(next.await);
    }
    let mut apart = JoinSet::new();
    for work in here {
        apart.spawn(work);
    }
    ended.extend(apart.join_all().await);
    ended
}
