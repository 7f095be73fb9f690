//! `bub:channel/channel`: a plugin brings messages in and takes answers out. The meaning of its errors, faults and
//! wrong answers is decided here: the operation fails, and [`Failure::retry_after`] says whether trying it again helps.
//! The caller decides when to try again, and what of the operation survives the process.
//!
//! A call of a channel has no turn: nothing that it brings has begun one yet. Its functions are counted and quarantined
//! each by its own name, so that a channel whose webhooks break still sends.

mod inbound;
mod webhook;

use super::call_one;
use super::guest_call::guest_call;
use crate::channel::OWN;
use crate::error::Failure;
use crate::guest::CallContext;
use crate::guest::bindings::channel::channel::Description;
use crate::plugin::{DeclaredChannel, Plugin, contract};
use crate::turn::CallScope;
use bub_egress::secret;
use bub_permissions::Grant;
use bub_types::hook::{Call, Hook};
use bub_types::text::one_line;
use bub_types::{Envelope, Error};
use std::sync::Arc;
use std::time::Duration;

pub use crate::guest::bindings::channel::channel::WebhookRequest;
pub use webhook::WebhookResponse;

/// The hook's name, and that of the call in which a channel says what it is.
const HOOK: Hook = Hook::Channel;

/// The longest name of a channel, in bytes.
const MAX_NAME: usize = 64;

/// The longest handle of a delivery, in bytes.
const MAX_HANDLE: usize = 4 << 10;

/// A channel that a plugin brings.
pub struct GuestChannel {
    /// `channel` of its envelopes: small letters, digits, `-` and `_`.
    pub name: String,
    plugin: Arc<Plugin>,
    /// It is asked what came.
    pub supports_polling: bool,
    /// It receives webhook requests.
    pub webhook: bool,
    /// It can change messages that it has sent.
    pub supports_edits: bool,
    /// A message that is sent twice under one key arrives once.
    pub deduplicates: bool,
    /// People there say one thing in several messages.
    pub needs_debounce: bool,
}

/// The messages of one poll.
pub struct Inbox {
    /// In their order.
    pub arrivals: Vec<Arrival>,
    /// Why other messages were not taken, each by its name. The log and the event bus have it already.
    pub refused: Vec<String>,
    /// JSON, for the next poll: to be stored once the arrivals are.
    pub cursor: String,
    /// Until the next poll.
    pub wait: Duration,
}

/// One message, as the host takes it: its channel, session, kind and where answers go are the host's word.
pub struct Arrival {
    /// The message.
    pub message: Envelope,
    /// Meant for the agent.
    pub active: bool,
}

/// The channels of all plugins that are granted the hook and can say what they are, by name. Of two of one name it is the
/// one of the plugin that was registered first. The errors of the others are logged.
pub async fn channels(scope: &Arc<CallScope>) -> Vec<GuestChannel> {
    let (channels, refused) = described(scope).await;
    for (_, reason) in refused {
        tracing::warn!("{reason}");
    }
    channels
}

/// The same, with why there is no channel of a plugin that has one, by the plugin's name.
pub async fn described(scope: &Arc<CallScope>) -> (Vec<GuestChannel>, Vec<(String, String)>) {
    let context = CallContext::outside(HOOK);
    let plugins: Vec<Arc<Plugin>> = scope.callable(&context).cloned().collect();
    let (mut channels, mut refused): (Vec<GuestChannel>, Vec<_>) = (Vec::new(), Vec::new());
    for plugin in plugins.into_iter().rev() {
        let described = match plugin.declared_channel() {
            Some(declared) => Ok(from_manifest(scope, declared)),
            None => {
                let ask = guest_call!(channel.call_describe(), description => Ok(Ok(description)));
                call_one(scope, &plugin, context.clone(), ask).await
            }
        };
        let reason = match described {
            Ok(description) => match self::refused(&description.name, &channels) {
                None => {
                    channels.push(GuestChannel::new(description, plugin));
                    continue;
                }
                Some(reason) => {
                    let name = one_line(&description.name.chars().take(MAX_NAME).collect::<String>());
                    format!("the channel `{name}` of plugin `{}` is not there: {reason}", plugin.name)
                }
            },
            Err(failure) => format!("{failure}; its channel is not there"),
        };
        refused.push((plugin.name.clone(), reason));
    }
    channels.sort_by(|a, b| a.name.cmp(&b.name));
    (channels, refused)
}

/// The description that a manifest declares. A channel is not polled before the secret is set without which there is
/// nothing to poll.
fn from_manifest(scope: &CallScope, declared: &DeclaredChannel) -> Description {
    let secrets = &scope.host.config.secrets;
    let is_missing = |name: &String| matches!(secrets.matches(name, b""), Err(secret::Error::NotFound { .. }));
    Description {
        name: declared.name.clone(),
        needs_debounce: declared.needs_debounce,
        supports_polling: declared.supports_polling && !declared.polling_secret.as_ref().is_some_and(is_missing),
        webhook: declared.webhook,
        supports_edits: declared.supports_edits,
        deduplicates: declared.deduplicates,
    }
}

/// Why a channel cannot have that name.
fn refused(name: &str, taken: &[GuestChannel]) -> Option<String> {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if !begins || name.len() > MAX_NAME || !name.chars().all(is_letter) {
        return Some(format!(
            "its name is not at most {MAX_NAME} small letters, digits, `-` and `_`, a letter or digit first"
        ));
    }
    if OWN.contains(&name) {
        return Some("that is one of the program's own".to_owned());
    }
    let other = taken.iter().find(|channel| channel.name == name)?;
    Some(format!("plugin `{}` has one of that name", other.plugin.name))
}

impl GuestChannel {
    fn new(description: Description, plugin: Arc<Plugin>) -> Self {
        let Description { name, needs_debounce, supports_polling, webhook, supports_edits, deduplicates } = description;
        Self { name, plugin, supports_polling, webhook, supports_edits, deduplicates, needs_debounce }
    }

    /// The plugin's name.
    pub fn plugin(&self) -> &str {
        &self.plugin.name
    }

    /// The messages since `cursor`. It may take as long as a turn.
    ///
    /// # Errors
    ///
    /// The channel's own error, its fault, or that it may not be asked.
    pub async fn poll(&self, scope: &CallScope, cursor: Option<String>) -> Result<Inbox, Failure> {
        self.check(scope)?;
        let cursor = cursor.as_ref();
        let ask = guest_call!(channel.call_poll(cursor), answer => match answer {
            Ok(inbox) => inbound::inbox(self, scope, inbox).map(Ok),
            Err(error) => Ok(Err(error)),
        });
        call_one(scope, &self.plugin, CallContext::about(Call::Poll, &self.name), ask).await
    }

    /// Hands over what came by HTTP.
    ///
    /// # Errors
    ///
    /// As [`Self::poll`]; of kind `invalid-input`, when the request is larger than the plugin is given.
    pub async fn receive(&self, scope: &CallScope, request: WebhookRequest) -> Result<WebhookResponse, Failure> {
        self.check(scope)?;
        webhook::check(&request)?;
        let request = &request;
        let ask = guest_call!(channel.call_receive(request), answer => match answer {
            Ok(response) => webhook::response(self, scope, response).map(Ok),
            Err(error) => Ok(Err(error)),
        });
        call_one(scope, &self.plugin, CallContext::about(Call::Receive, &self.name), ask).await
    }

    /// Delivers, and answers a handle for [`Self::update`] where there is one. `key` is the same when it is tried again.
    ///
    /// # Errors
    ///
    /// As [`Self::poll`].
    pub async fn send(&self, scope: &CallScope, message: &Envelope, key: &str) -> Result<Option<String>, Failure> {
        self.check(scope)?;
        let ask = guest_call!(channel.call_send(message, key), answer => match answer {
            Ok(Some(handle)) if handle.len() > MAX_HANDLE => {
                Err(contract(format!("its handle is longer than {MAX_HANDLE} bytes")))
            }
            answer => Ok(answer),
        });
        call_one(scope, &self.plugin, self.toward(Call::Send, message), ask).await
    }

    /// Puts the message in the place of what was delivered under that handle.
    ///
    /// # Errors
    ///
    /// As [`Self::poll`].
    pub async fn update(&self, scope: &CallScope, handle: &str, message: &Envelope) -> Result<(), Failure> {
        self.check(scope)?;
        let ask = guest_call!(channel.call_update(handle, message));
        call_one(scope, &self.plugin, self.toward(Call::Update, message), ask).await
    }

    /// A fault counts for the session of the message.
    fn toward(&self, call: Call, message: &Envelope) -> CallContext {
        CallContext::about(call, message.session_id.as_deref().unwrap_or(&self.name))
    }

    /// The set of plugins is that of some time ago; the grant is this moment's.
    fn check(&self, scope: &CallScope) -> Result<(), Failure> {
        let refused = || Failure::Refused(Error::denied(self.plugin.refusal(&Grant::hook(HOOK)).message));
        scope.may_answer(&self.plugin, HOOK).then_some(()).ok_or_else(refused)
    }
}
