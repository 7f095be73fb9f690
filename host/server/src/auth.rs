//! The tokens, origins, host names and TLS identity that apply now: replaced as a whole when the configuration changes.

use super::origin_check::OriginPolicy;
use super::tls::Tls;
use super::token::{Bearer, Tokens};
use bub_config::Serve;
use std::sync::Arc;
use tokio::sync::watch;

/// The requirements on requests, shared by all connections.
#[derive(Clone)]
pub struct AuthState(watch::Sender<Arc<AuthRules>>);

/// One version of the requirements.
pub(crate) struct AuthRules {
    pub tokens: Tokens,
    pub origins: OriginPolicy,
    /// The identity of new connections; `None`: they are not encrypted.
    pub tls: Option<Tls>,
    /// Whether a reverse proxy sets the headers that name a request's origin.
    pub behind_proxy: bool,
}

impl AuthRules {
    fn new(tokens: Tokens, tls: Option<Tls>, settings: &Serve) -> Arc<Self> {
        let behind_proxy = settings.behind_proxy;
        Arc::new(Self { tokens, origins: OriginPolicy::new(settings), tls, behind_proxy })
    }
}

impl AuthState {
    /// Accepts these tokens, on connections with this TLS identity.
    pub fn new(tokens: Tokens, tls: Option<Tls>, settings: &Serve) -> Self {
        Self(watch::Sender::new(AuthRules::new(tokens, tls, settings)))
    }

    /// Replaces everything: the next request with a token that was removed is refused. Open connections keep their
    /// encryption.
    pub fn reload(&self, tokens: Tokens, tls: Option<Tls>, settings: &Serve) {
        self.0.send_replace(AuthRules::new(tokens, tls, settings));
    }

    pub(crate) fn rules(&self) -> Arc<AuthRules> {
        self.0.borrow().clone()
    }

    /// A lease of the bearer's authentication, for a connection that stays open.
    pub(crate) fn lease(&self, bearer: Bearer) -> AuthLease {
        AuthLease { rules: self.0.subscribe(), bearer }
    }
}

/// The authentication of a bearer on a connection that stays open.
pub(crate) struct AuthLease {
    rules: watch::Receiver<Arc<AuthRules>>,
    pub bearer: Bearer,
}

impl AuthLease {
    /// Waits until the token is removed or changed.
    pub(crate) async fn revoked(&mut self) {
        let bearer = &self.bearer;
        let is_revoked = self.rules.wait_for(|rules| !rules.tokens.contains(bearer)).await.is_ok();
        if !is_revoked {
            // The state was dropped, so the token cannot be revoked any more.
            std::future::pending().await
        }
    }
}
