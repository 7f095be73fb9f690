//! How programs are ended.

use super::descendants::Descendants;
use super::life::Life;
use rustix::process::Signal;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// What a program has to tidy up after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);

/// How long the system is given to carry out a SIGKILL, and the task behind a program to notice its end.
const MOMENT: Duration = Duration::from_secs(1);

/// How often is looked whether all are gone.
const LOOK: Duration = Duration::from_millis(10);

/// Ends these groups side by side: SIGTERM, three seconds, SIGKILL. What was started in them and has left them ends with
/// them, as far as it can be told. Afterwards each has its exit code, unless the system itself holds it. It goes on when
/// the caller leaves: a group that ignored SIGTERM must not get away with it.
pub(super) async fn end(lives: Vec<Arc<Life>>) {
    // An error says that the runtime goes down, and the tasks that go with it kill their groups.
    let _ = tokio::spawn(async move {
        // One that is over may have left its number to a stranger.
        let groups: HashSet<i32> = lives.iter().filter(|life| !life.is_over()).map(|life| life.group.id()).collect();
        let mut descendants = Descendants::default();
        descendants.look(&groups);
        lives.iter().for_each(|life| life.group.terminate());
        descendants.signal(Signal::TERM);
        all_gone(&lives, &descendants, GRACE).await;
        // What ignored SIGTERM may have started more meanwhile.
        if !lives.iter().all(|life| life.group.is_gone()) || !descendants.are_gone() {
            let groups = groups
                .into_iter()
                .filter(|id| lives.iter().any(|life| life.group.id() == *id && !life.group.is_gone()));
            descendants.look(&groups.collect());
        }
        lives.iter().for_each(|life| life.group.kill());
        descendants.signal(Signal::KILL);
        all_gone(&lives, &descendants, MOMENT).await;
        let deadline = Instant::now() + MOMENT;
        for life in &lives {
            let mut phase = life.phase.subscribe();
            let _ = timeout_at(deadline, phase.wait_for(|phase| phase.exit_code().is_some())).await;
        }
    })
    .await;
}

async fn all_gone(lives: &[Arc<Life>], descendants: &Descendants, patience: Duration) {
    let deadline = Instant::now() + patience;
    let gone = || lives.iter().all(|life| life.group.is_gone()) && descendants.are_gone();
    while !gone() && Instant::now() < deadline {
        sleep(LOOK).await;
    }
}
