//! The caller whose message a call is about. A plugin that one caller's messages break stays available to others.

use bub_types::Principal;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The longest name that is kept as it is, in bytes: a sender's name is a stranger's word.
const MAX_NAME: usize = 128;

/// How far the configuration trusts a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// The owner: one caller on all channels.
    Owner,
    /// A peer, or the owner's schedule.
    Peer,
    /// Other senders, and calls without a known caller.
    Untrusted,
}

/// The principal of a message with its channel and sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// `owner`, `peer CHANNEL/SENDER`, `anonymous CHANNEL/SENDER`; empty: unknown.
    pub name: Arc<str>,
    /// The same, with the owner's channel and sender, too: what quotas are counted by.
    pub account: Arc<str>,
    /// How far the configuration trusts the caller.
    pub trust: Trust,
}

impl Caller {
    /// The caller of a message from that channel.
    pub fn new(principal: Principal, channel: &str, sender: Option<&str>) -> Self {
        let trust = match principal {
            Principal::Owner => Trust::Owner,
            Principal::Schedule | Principal::Peer => Trust::Peer,
            Principal::Anonymous => Trust::Untrusted,
        };
        let mut account = format!("{} {channel}/{}", principal.name(), sender.unwrap_or_default());
        if account.len() > MAX_NAME {
            let print = crc32fast::hash(account.as_bytes());
            account.truncate(account.floor_char_boundary(MAX_NAME - 9));
            account.push_str(&format!("-{print:08x}"));
        }
        let account: Arc<str> = account.into();
        let name = if trust == Trust::Owner { principal.name().into() } else { account.clone() };
        Self { name, account, trust }
    }

    /// Of a call that no message has led to, or of which it is not known.
    pub fn unknown() -> Self {
        Self { name: "".into(), account: "".into(), trust: Trust::Untrusted }
    }
}
