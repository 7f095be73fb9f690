//! How programs are ended.

use super::life::Life;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// What a program has to tidy up after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);

/// How long the system is given to carry out a SIGKILL, and the task behind a program to notice its end.
const MOMENT: Duration = Duration::from_secs(1);

/// How often is looked whether all are gone.
const LOOK: Duration = Duration::from_millis(10);

/// Ends these groups side by side: SIGTERM, three seconds, SIGKILL. Afterwards each has its exit code, unless the system
/// itself holds it. It goes on when the caller leaves: a group that ignored SIGTERM must not get away with it.
pub(super) async fn end(lives: Vec<Arc<Life>>) {
    // An error says that the runtime goes down, and the tasks that go with it kill their groups.
    let _ = tokio::spawn(async move {
        lives.iter().for_each(|life| life.group.terminate());
        all_gone(&lives, GRACE).await;
        lives.iter().for_each(|life| life.group.kill());
        all_gone(&lives, MOMENT).await;
        let deadline = Instant::now() + MOMENT;
        for life in &lives {
            let mut phase = life.phase.subscribe();
            let _ = timeout_at(deadline, phase.wait_for(|phase| phase.exit_code().is_some())).await;
        }
    })
    .await;
}

async fn all_gone(lives: &[Arc<Life>], patience: Duration) {
    let deadline = Instant::now() + patience;
    while !lives.iter().all(|life| life.group.is_gone()) && Instant::now() < deadline {
        sleep(LOOK).await;
    }
}
