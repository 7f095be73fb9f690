//! Tasks that run after a turn's answer. Only the end of the program waits for them.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::task::JoinSet;

/// The turns whose observers still run.
#[derive(Default)]
pub struct PostTurnTasks(Mutex<Running>);

#[derive(Default)]
struct Running {
    tasks: JoinSet<()>,
    /// Of a session they run one behind the other: the second would do what the first is about to have done.
    sessions: HashMap<String, Arc<tokio::sync::Mutex<()>>>,
}

impl PostTurnTasks {
    /// Spawns the work of a session behind its answer, after the work that its earlier turns left.
    pub(crate) fn begin(&self, session: &str, work: impl Future<Output = ()> + Send + 'static) {
        let mut running = self.running();
        while running.tasks.try_join_next().is_some() {}
        running.sessions.retain(|_, session| Arc::strong_count(session) > 1);
        let session = running.sessions.entry(session.to_owned()).or_default().clone();
        running.tasks.spawn(async move {
            let _alone = session.lock().await;
            work.await;
        });
    }

    /// Spawns a task that only the end of the program waits for.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.running().tasks.spawn(work);
    }

    /// Waits until what had begun by now is done, of all sessions: what it writes must not come behind what follows.
    pub(crate) async fn wait_for_begun(&self) {
        let sessions: Vec<_> = self.running().sessions.values().cloned().collect();
        for session in sessions {
            drop(session.lock().await);
        }
    }

    /// Waits until all of it is done. Does not wait for tasks that begin meanwhile.
    pub async fn wait(&self) {
        let tasks = std::mem::take(&mut self.running().tasks);
        // Each hook has its deadline. One that breaks has broken itself only.
        let _ = tokio::spawn(tasks.join_all()).await;
    }

    /// Never held while something is awaited.
    fn running(&self) -> MutexGuard<'_, Running> {
        self.0.lock()
    }
}
