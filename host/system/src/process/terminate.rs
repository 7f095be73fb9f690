//! Termination of programs.

use super::descendants::Descendants;
use super::state::ProcessState;
use rustix::process::Signal;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(3);

/// How long to wait for the effect of SIGKILL.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Terminates groups concurrently: SIGTERM, three seconds, SIGKILL, including known descendants that left their group.
/// Afterwards each has its exit code, unless a process is stuck in the kernel. Not cancelled with the caller, so that a
/// group that ignores SIGTERM is still killed.
pub(super) async fn terminate(states: Vec<Arc<ProcessState>>) {
    // An error means that the runtime shuts down; its tasks kill their groups.
    let _ = tokio::spawn(async move {
        // The id of a group that is gone may be reused.
        let groups: HashSet<i32> =
            states.iter().filter(|state| !state.is_over()).map(|state| state.group.id()).collect();
        let mut descendants = Descendants::default();
        descendants.look(&groups);
        // What is confined is killed as soon as its wrapper ends, so its own processes are asked first.
        let of_wrapper = |state: &&Arc<ProcessState>| state.is_confined && !descendants.is_empty();
        states.iter().filter(|state| !of_wrapper(state)).for_each(|state| state.group.terminate());
        descendants.signal(Signal::TERM);
        all_gone(&states, &descendants, GRACE).await;
        // Processes that ignored SIGTERM may have started more.
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
