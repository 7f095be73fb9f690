//! How programs are ended.

use super::descendants::Descendants;
use super::state::ProcessState;
use rustix::process::Signal;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// What a program has to tidy up after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);

/// How long the system is given to carry out a SIGKILL, and the task behind a program to notice its end.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// How often is looked whether all are gone.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Ends these groups side by side: SIGTERM, three seconds, SIGKILL. What was started in them and has left them ends with
/// them, as far as it can be told. Afterwards each has its exit code, unless the system itself holds it. It goes on when
/// the caller leaves: a group that ignored SIGTERM must not get away with it.
pub(super) async fn terminate(states: Vec<Arc<ProcessState>>) {
    // An error says that the runtime goes down, and the tasks that go with it kill their groups.
    let _ = tokio::spawn(async move {
        // One that is over may have left its number to a stranger.
        let groups: HashSet<i32> =
            states.iter().filter(|state| !state.is_over()).map(|state| state.group.id()).collect();
        let mut descendants = Descendants::default();
        descendants.look(&groups);
        states.iter().for_each(|state| state.group.terminate());
        descendants.signal(Signal::TERM);
        all_gone(&states, &descendants, GRACE).await;
        // What ignored SIGTERM may have started more meanwhile.
        if !states.iter().all(|state| state.group.is_gone()) || !descendants.are_gone() {
            let groups = groups
                .into_iter()
                .filter(|id| states.iter().any(|state| state.group.id() == *id && !state.group.is_gone()));
            descendants.look(&groups.collect());
        }
        states.iter().for_each(|state| state.group.kill());
        descendants.signal(Signal::KILL);
        all_gone(&states, &descendants, SETTLE_TIME).await;
        let deadline = Instant::now() + SETTLE_TIME;
        for state in &states {
            let mut phase = state.phase.subscribe();
            let _ = timeout_at(deadline, phase.wait_for(|phase| phase.exit_code().is_some())).await;
        }
    })
    .await;
}

async fn all_gone(states: &[Arc<ProcessState>], descendants: &Descendants, patience: Duration) {
    let deadline = Instant::now() + patience;
    let gone = || states.iter().all(|state| state.group.is_gone()) && descendants.are_gone();
    while !gone() && Instant::now() < deadline {
        sleep(POLL_INTERVAL).await;
    }
}
