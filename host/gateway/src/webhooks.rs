//! Passes webhooks to the channels that plugins provide.

use super::gateway::Gateway;
use super::task::Refusal;
use bub_runtime::error::Failure;
use bub_runtime::hooks::{Arrival, WebhookRequest, WebhookResponse};
use bub_runtime::turn::CallScope;
use std::sync::Arc;

/// Why a channel did not answer a webhook.
#[derive(Debug)]
pub enum WebhookError {
    /// The gateway accepts nothing now.
    Refused(Refusal),
    /// The channel failed.
    Failed(Failure),
}

impl Gateway {
    /// Whether a channel of that name accepts webhooks now.
    pub fn takes_webhooks(&self, name: &str) -> bool {
        self.channels.get(name).is_some_and(|channel| channel.webhook)
    }

    /// Passes a webhook to its channel. `None`: there is no such channel.
    ///
    /// # Errors
    ///
    /// The gateway refused the webhook, or the channel failed.
    pub async fn receive(
        self: &Arc<Self>,
        name: &str,
        request: WebhookRequest,
    ) -> Option<Result<WebhookResponse, WebhookError>> {
        let channel = self.channels.get(name).filter(|channel| channel.webhook)?;
        if self.is_stopping() {
            return Some(Err(WebhookError::Refused(Refusal::Stopping)));
        }
        let host = self.host();
        if self.load().1 >= host.config.serve.max_waiting {
            return Some(Err(WebhookError::Refused(Refusal::Busy)));
        }
        let mut response = match channel.receive(&CallScope::new(&host), request).await {
            Ok(response) => response,
            Err(failure) => return Some(Err(WebhookError::Failed(failure))),
        };
        let arrivals: Vec<Arrival> = std::mem::take(&mut response.arrivals);
        match self.receive_arrivals(arrivals, None).await {
            Ok(()) => Some(Ok(response)),
            Err(error) => Some(Err(WebhookError::Refused(Refusal::Storage(error)))),
        }
    }
}
