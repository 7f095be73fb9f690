//! The network of programs that plugins start: none, the hosts that rules and the owner allow, or that of the machine.

mod policy;
mod question;

use crate::guest::State;
use crate::host::Unreached;
use crate::turn::{ProgramProxy, Turn};
use bub_permissions::Grant;
use bub_permissions::policy::{NetworkInput, NetworkMode, network};
use bub_sandbox::Network;
use bub_sandbox_proxy::{Limits, Proxy};
use bub_types::{Error, ErrorKind};
use policy::HostPolicy;
use std::sync::Arc;

/// The network of one program.
pub(super) enum ProgramNetwork {
    /// None, for that reason.
    Off(String),
    /// What the proxy lets through.
    Proxied(Arc<ProgramProxy>),
    /// That of the machine.
    Free,
}

impl ProgramNetwork {
    /// As the sandbox is told.
    pub(super) fn network(&self) -> Network {
        match self {
            Self::Off(_) => Network::Off,
            Self::Free => Network::Free,
            Self::Proxied(given) => Network::Proxy {
                socket: given.proxy.socket().to_owned(),
                loopback: given.loopback.iter().map(ToString::to_string).collect(),
            },
        }
    }

    /// Why programs do not reach what they try to reach.
    pub(super) fn reasons(&self) -> Unreached {
        match self {
            Self::Off(why) => Unreached::Offline(why.clone()),
            Self::Free => Unreached::Nothing,
            Self::Proxied(given) => given.unreached.clone(),
        }
    }
}

impl State {
    /// The network of a sandboxed program that the plugin starts by that grant.
    ///
    /// # Errors
    ///
    /// The proxy cannot be started.
    pub(super) fn program_network(&self, turn: &Arc<Turn>, grant: &Grant) -> Result<ProgramNetwork, Error> {
        // The tool of a typed command is one call deeper than the command.
        let is_typed = self.depth.checked_sub(1).is_some_and(|depth| turn.is_typed(depth));
        match mode(turn, is_typed) {
            Err(why) => Ok(ProgramNetwork::Off(why)),
            Ok(NetworkMode::Free) => Ok(ProgramNetwork::Free),
            Ok(_) => {
                let start = || {
                    let policy = HostPolicy::new(turn, &self.plugin, grant, is_typed);
                    let (loopback, unreached) = (policy.loopback(), policy.unreached());
                    let proxy = Proxy::start(Arc::new(policy), self.host.network.clone(), Limits::default())?;
                    Ok(ProgramProxy { proxy, loopback, unreached })
                };
                let started = turn.program_proxy(&self.plugin.name, is_typed, start);
                let failed = |error| {
                    Error::new(ErrorKind::Unknown, format!("the proxy for programs cannot be started: {error}"))
                };
                started.map(ProgramNetwork::Proxied).map_err(failed)
            }
        }
    }
}

/// What a program of the turn may reach now.
fn mode(turn: &Turn, is_typed: bool) -> Result<NetworkMode, String> {
    let taint = turn.tainted();
    let ceiling = turn.scope.host.config.process.network;
    network(&NetworkInput { principal: turn.principal(), taint: taint.as_deref(), is_typed, ceiling })
}
