//! The caller whose message a turn is about, for quarantine and quotas.

use super::principal;
use crate::host::Host;
use crate::plugin::Caller;
use crate::turn::{CallScope, Identity, Turn};
use bub_config::Quota;
use bub_tape::Media;
use bub_types::Envelope;
use std::sync::Arc;

impl CallScope {
    /// All plugins of this moment, for what is asked about a message before its turn begins. `speaker`: who says
    /// it, where its channel does not know better.
    pub fn with_identity(host: &Arc<Host>, identity: Option<Identity>) -> Arc<Self> {
        let (plugins, media) = (host.plugins(), Media::default());
        Arc::new(Self { host: host.clone(), plugins, media, channel: None, identity, recorder: None })
    }

    /// The caller whose message that is, as far as is known before its turn begins.
    pub fn caller_of(&self, message: &Envelope) -> Caller {
        let spoken = self.identity.as_ref().map(|identity| identity.principal);
        let principal = spoken.unwrap_or_else(|| principal(&self.host, message));
        Caller::new(principal, &message.channel, message.sender.as_deref())
    }
}

impl Turn {
    /// The caller whose message the turn is about: what breaks in it is quarantined for that caller first.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The quota of the caller.
    pub fn quota(&self) -> Quota {
        let Envelope { channel, sender, .. } = &*self.message;
        self.scope.host.config.quota(self.principal, channel, sender.as_deref())
    }
}
