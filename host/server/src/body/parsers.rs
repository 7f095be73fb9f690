//! The threads on which large bodies are parsed.

use anyhow::{Context, Result, anyhow};
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

/// A fixed set of threads: the allocator keeps freed memory per thread, so a pool that used any thread for a body would
/// keep the memory of a parse for each of them.
pub(crate) struct ParserPool {
    /// Only its blocking threads are used. `None` during the drop.
    runtime: Option<Runtime>,
    free: Arc<Semaphore>,
}

impl ParserPool {
    /// A pool of that many threads, each started when it is first needed.
    ///
    /// # Errors
    ///
    /// The system cannot create the runtime.
    pub(crate) fn new(threads: usize) -> Result<Self> {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.max_blocking_threads(threads).thread_name("parser").build();
        let runtime = runtime.context("cannot start the threads that parse bodies")?;
        Ok(Self { runtime: Some(runtime), free: Arc::new(Semaphore::new(threads)) })
    }

    /// Runs `work` on the next free thread. Dropping the future cancels work that has not started; work that has started
    /// is finished.
    ///
    /// # Errors
    ///
    /// The pool is being dropped, or the work panicked.
    pub(crate) async fn run<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> Result<R> {
        let permit = Arc::clone(&self.free).acquire_owned().await?;
        let runtime = self.runtime.as_ref().ok_or_else(|| anyhow!("the threads that parse bodies have ended"))?;
        let worked = runtime.spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        Ok(worked.await?)
    }
}

impl Drop for ParserPool {
    fn drop(&mut self) {
        // A runtime that is dropped waits for its threads, which an async task must not.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
