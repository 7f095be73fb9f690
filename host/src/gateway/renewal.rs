//! Another configuration, while turns run.

use super::Gateway;
use crate::host::Host;
use std::sync::{Arc, PoisonError};

impl Gateway {
    /// Lets that host have the turns, polls and deliveries that begin from here on. Turns that run end with the one that
    /// they began with; polls begin anew, because they may wait for hours.
    pub async fn renew(self: &Arc<Self>, host: Arc<Host>) {
        self.places.resize(host.config.serve.max_turns);
        *self.host.write().unwrap_or_else(PoisonError::into_inner) = host;
        self.find_again().await;
    }
}
