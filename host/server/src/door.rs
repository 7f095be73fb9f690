//! Who comes in, and under which names this program is asked for: replaced as a whole when the configuration changes.

use super::guard::Guard;
use super::tls::Tls;
use super::token::{Bearer, Tokens};
use bub_config::Serve;
use std::sync::Arc;
use tokio::sync::watch;

/// What is asked of requests at this moment.
#[derive(Clone)]
pub struct Door(watch::Sender<Arc<Rules>>);

/// The tokens that are known, and the pages and names that may be used.
pub(super) struct Rules {
    pub tokens: Tokens,
    pub guard: Guard,
    /// What connections are encrypted with that begin now; none: they are not.
    pub tls: Option<Tls>,
    /// Whether a proxy stands in front, whose headers say where a request came from.
    pub behind_proxy: bool,
}

impl Rules {
    fn new(tokens: Tokens, tls: Option<Tls>, settings: &Serve) -> Arc<Self> {
        let behind_proxy = settings.behind_proxy;
        Arc::new(Self { tokens, guard: Guard::new(settings), tls, behind_proxy })
    }
}

impl Door {
    /// Accepts these tokens, over connections that are encrypted so.
    pub fn new(tokens: Tokens, tls: Option<Tls>, settings: &Serve) -> Self {
        Self(watch::Sender::new(Rules::new(tokens, tls, settings)))
    }

    /// From here on these tokens count, and no others: the next request of one that is gone is refused.
    /// Connections that are open stay encrypted as they are.
    pub fn renew(&self, tokens: Tokens, tls: Option<Tls>, settings: &Serve) {
        self.0.send_replace(Rules::new(tokens, tls, settings));
    }

    pub(super) fn rules(&self) -> Arc<Rules> {
        self.0.borrow().clone()
    }

    /// Somebody who is inside, for as long as they may be.
    pub(super) fn inside(&self, bearer: Bearer) -> Inside {
        Inside { rules: self.0.subscribe(), bearer }
    }
}

/// The bearer of a token who stays on a connection.
pub(super) struct Inside {
    rules: watch::Receiver<Arc<Rules>>,
    pub bearer: Bearer,
}

impl Inside {
    /// Waits until their token is gone, or says something else than it did.
    pub async fn is_over(&mut self) {
        let bearer = &self.bearer;
        let is_over = self.rules.wait_for(|rules| !rules.tokens.knows(bearer)).await.is_ok();
        if !is_over {
            // The door is gone, and with it whoever could shut it.
            std::future::pending().await
        }
    }
}
