//! The work that follows the answer of a turn: its observers, and what only later turns need.

use super::data::Turn;
use crate::hooks;
use crate::host::HeadDelivery;
use std::sync::Arc;
use tracing::Instrument;

impl Turn {
    /// Begins the work behind the answer, if there is one, after that of the session's earlier turns.
    pub(super) fn begin_after_answer(self: &Arc<Self>, output: Option<String>) {
        let work = Arc::clone(self).after_answer(output);
        self.scope.host.post_turn_tasks.begin(&self.session_id, work);
    }

    /// Notifies the observers that the answer is delivered, if there is one. The session is free already.
    fn after_answer(self: Arc<Self>, output: Option<String>) -> impl Future<Output = ()> + Send + use<> {
        // The turn's own span ends with the answer.
        let parent = bub_telemetry::current().map(tracing::field::display);
        let span = tracing::info_span!(target: "otel", parent: None, "after-answer", otel.parent = parent);
        self.follow_answer(output).instrument(span)
    }

    async fn follow_answer(self: Arc<Self>, output: Option<String>) {
        if let Some(output) = output {
            hooks::after_turn(&self, &output).await;
        }
        // The answer is delivered, whatever becomes of this.
        if let Err(error) = self.write_audit().await {
            tracing::warn!("what the turn's last hooks used is not on the tape: {error}");
        }
        self.scope.host.processes.end_turn(&self.id).await;
        self.end_program_proxies();
        self.write_recording(None);
        self.index_tape().await;
        self.compact_memory().await;
        if let Err(error) = HeadDelivery::new(&self.scope.host.config).run(true).await {
            tracing::warn!("{error:#}");
        }
    }
}
