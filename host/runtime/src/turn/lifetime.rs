//! How long a turn runs: its deadline, its cancellation and the tasks that work for it.

use super::data::Turn;
use crate::error::Failure;
use std::future::Future;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// How deep turns inside turns may go.
pub(super) const MAX_NESTED: usize = 3;

/// How long a turn that no turn may be inside of waits for its tasks at its end.
const TASK_TIMEOUT: Duration = Duration::from_secs(1);

impl Turn {
    /// The time until the turn's deadline.
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The stage's answer, unless the turn is cancelled or its time is over first. The stage's work is dropped
    /// where it stands: guests' instances, their requests and their tools.
    pub(super) async fn or_cancelled<T>(&self, stage: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let ended = tokio::select! {
            biased;
            () = self.options.cancelled() => Err(Failure::Cancelled),
            () = self.tape.lease_lost() => {
                // At once: another worker may have begun.
                self.scope.host.processes.end_turn(&self.id).await;
                self.end_program_proxies();
                self.scope.host.processes.end_session(&self.session_id).await;
                Err(Failure::LeaseLost)
            }
            answer = stage => match answer {
                // The guest got another message.
                Err(_) if self.check_lease().is_err() => Err(Failure::LeaseLost),
                answer => return answer,
            },
            () = tokio::time::sleep_until(self.deadline) => {
                Err(Failure::Deadline(self.scope.host.config.limits().turn_deadline()))
            }
        };
        self.wait_for_tasks().await;
        ended
    }

    /// Rejects what must not happen once another worker may have claimed the lease of this turn, or of one around it.
    ///
    /// # Errors
    ///
    /// [`bub_tape::Error::LeaseLost`].
    pub fn check_lease(&self) -> bub_tape::Result<()> {
        std::iter::once(self).chain(self.ancestors().map(|turn| &**turn)).try_for_each(|turn| turn.tape.check_lease())
    }

    /// Waits for the tasks that worked for the turn to be gone: they are told to stop when the stage is dropped, and must
    /// not write behind its back.
    pub(super) async fn wait_for_tasks(&self) {
        // A turn inside this one waits for its own tasks first.
        let timeout = TASK_TIMEOUT * (MAX_NESTED.saturating_sub(self.nesting()) as u32 + 1);
        self.tasks.close();
        // A task that ignores its end is left behind.
        let _ = tokio::time::timeout(timeout, self.tasks.wait()).await;
    }

    /// Fuel that the turn's calls have used so far.
    pub fn fuel(&self) -> u64 {
        self.fuel.load(Ordering::Relaxed)
    }

    /// Held by a task for as long as it works for the turn.
    pub fn task_token(&self) -> TaskTrackerToken {
        self.tasks.token()
    }
}
