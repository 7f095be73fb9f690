//! The cost of a call: the provider's figures, or a guess where it gives none.

use super::call::ModelCall;
use super::response::ResponseRecorder;
use bub_model::usage::{Call, Tokens};
use bub_types::{Error, ErrorKind, Principal};

impl ModelCall {
    /// The most tokens that the call may use: the prompt, by what the model's provider has reported, and the longest answer.
    pub(super) fn demand(&self) -> u64 {
        let host = &self.turn.scope.host;
        let prompt = host.budget.token_calibration(&self.request.model).correct(self.request.weight());
        prompt.saturating_add(self.request.max_tokens().unwrap_or(host.config.model.max_tokens))
    }

    /// The call as it is written down; none when no model was asked, or the one that was asked failed before it had said
    /// anything: that is not charged.
    pub(super) fn bill(&self, response: &ResponseRecorder<'_>, error: Option<&Error>) -> Option<Call> {
        let reported = response.usage.as_deref().and_then(Tokens::reported);
        // A caller that leaves early gets no usage, but the call costs all the same.
        let is_charged = error.is_none_or(|error| error.kind == ErrorKind::Cancelled) || response.events > 0;
        if response.model.is_empty() || (reported.is_none() && !is_charged) {
            return None;
        }
        // Held against what was reported, and of no use without.
        let weighed = reported.map_or(0, |_| self.request.weight());
        let tokens = reported.unwrap_or_else(|| Tokens::estimated(self.request.bytes(), response.received));
        let call = Call::now(
            &response.model,
            self.turn.billed_session(),
            &self.turn.workspace.to_string_lossy(),
            &self.caller.plugin.name,
            &self.request.purpose,
            tokens,
        );
        let call = call.weighed(weighed);
        // The owner's own calls are told apart only where that has a use.
        let is_counted = self.turn.principal() != Principal::Owner || self.turn.quota().tokens_per_day.is_some();
        Some(if is_counted { call.caused_by(&self.turn.caller().account) } else { call })
    }
}
