//! The cost of a call: the provider's figures, or a guess where it gives none.

use super::call::ModelCall;
use super::response::ResponseRecorder;
use bub_model::usage::{Call, Tokens};
use bub_types::{Error, ErrorKind, Principal};
use reqwest::Url;
use std::time::Instant;

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

    /// Leaves a receipt of the call, if a model was asked.
    pub(super) fn leave_receipt(
        &self,
        response: &ResponseRecorder<'_>,
        call: Option<&Call>,
        error: Option<&Error>,
        began: Instant,
    ) {
        if response.model.is_empty() {
            return;
        }
        let provider = response.model.split_once(':').map_or("", |(provider, _)| provider);
        let by = self.turn.scope.provider(provider).map(|plugin| plugin.name.clone());
        let settings = &self.turn.scope.host.config.model;
        let server = by.is_none().then(|| bub_model::server_of(settings, provider)).flatten();
        self.turn.receipt(
            "model",
            serde_json::json!({
                "model": response.model,
                "host": server.as_ref().map(authority),
                "provider": by,
                "plugin": self.caller.plugin.name,
                "tokens": call.map(|call| tokens(&call.tokens())),
                "bytes": response.received,
                "ms": u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
                "error": error.map(|error| error.kind.name()),
            }),
        );
    }
}

/// Host, and port if the address has one.
fn authority(server: &Url) -> String {
    let host = server.host_str().unwrap_or_default();
    server.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Tokens as receipts have them.
pub(in crate::imports) fn tokens(tokens: &Tokens) -> serde_json::Value {
    serde_json::json!({
        "prompt": tokens.prompt, "completion": tokens.completion, "total": tokens.total, "estimate": tokens.is_estimate,
    })
}
