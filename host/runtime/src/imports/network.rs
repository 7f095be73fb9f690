//! The network of programs that plugins start: none, the hosts that rules and the owner allow, or that of the machine.

mod policy;
mod question;

use crate::guest::State;
use crate::host::Unreached;
use crate::turn::{ProgramProxy, Turn};
use bub_egress::Destination;
use bub_permissions::Grant;
use bub_permissions::policy::{NetworkInput, NetworkMode, network};
use bub_sandbox::{Network, Preparation};
use bub_sandbox_proxy::{Limits, Proxy};
use bub_system::process::Hooks;
use bub_types::{Error, ErrorKind};
use parking_lot::Mutex;
use policy::HostPolicy;
use std::io;
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
    /// As the sandbox is told. `needs_socket`: a program reaches the proxy by a path.
    ///
    /// # Errors
    ///
    /// The socket of the proxy cannot be made.
    pub(super) fn network(&self, needs_socket: bool) -> Result<Network, Error> {
        Ok(match self {
            Self::Off(_) => Network::Off,
            Self::Free => Network::Free,
            Self::Proxied(given) => {
                let socket = needs_socket.then(|| given.proxy.socket()).transpose().map_err(|error| {
                    Error::new(ErrorKind::Unknown, format!("the proxy for programs cannot be started: {error}"))
                })?;
                Network::Proxy { socket, loopback: given.loopback.iter().map(ToString::to_string).collect() }
            }
        })
    }

    /// What is done around the start of a program of that preparation.
    pub(super) fn hooks(&self, preparation: Preparation) -> Hooks {
        let proxy = match self {
            Self::Proxied(given) => Some(Arc::clone(given)),
            Self::Off(_) | Self::Free => None,
        };
        // The thread that starts it joins groups first, and completes it in the end.
        let preparation = Arc::new(Mutex::new(Some(preparation)));
        let begun = Arc::clone(&preparation);
        Hooks {
            before: Box::new(move || begun.lock().as_ref().map_or(Ok(()), Preparation::begin)),
            after: Box::new(move || {
                let preparation = preparation.lock().take().unwrap_or_default();
                let (listeners, mut ways) = (preparation.complete()?, Vec::new());
                if let Some(given) = proxy {
                    if let Some(listener) = listeners.proxy {
                        ways.push(given.proxy.listen(listener, None)?);
                    }
                    for (listener, text) in listeners.forwarded {
                        let destination = Destination::parse(&text).map_err(io::Error::other)?;
                        ways.push(given.proxy.listen(listener, Some(destination))?);
                    }
                }
                Ok(Box::new(ways))
            }),
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
    pub(super) fn program_network(&self, turn: &Arc<Turn>, grant: &Grant) -> ProgramNetwork {
        // The tool of a typed command is one call deeper than the command.
        let is_typed = self.depth.checked_sub(1).is_some_and(|depth| turn.is_typed(depth));
        match mode(turn, is_typed) {
            Err(why) => ProgramNetwork::Off(why),
            Ok(NetworkMode::Free) => ProgramNetwork::Free,
            Ok(_) => ProgramNetwork::Proxied(turn.program_proxy(&self.plugin.name, is_typed, || {
                let policy = HostPolicy::new(turn, &self.plugin, grant, is_typed);
                let (loopback, unreached) = (policy.loopback(), policy.unreached());
                let proxy = Proxy::new(Arc::new(policy), self.host.network.clone(), Limits::default());
                ProgramProxy { proxy, loopback, unreached }
            })),
        }
    }
}

/// What a program of the turn may reach now.
fn mode(turn: &Turn, is_typed: bool) -> Result<NetworkMode, String> {
    let taint = turn.tainted();
    let ceiling = turn.scope.host.config.process.network;
    network(&NetworkInput { principal: turn.principal(), taint: taint.as_deref(), is_typed, ceiling })
}
