//! The network of programs that tools start: by the principal and the taint of the turn.

use bub_types::Principal;
use serde::Deserialize;
use std::fmt::{self, Display, Formatter};

/// What programs may reach at most, in order of width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// Nothing.
    Off,
    /// The hosts that the user's rules name.
    Hosts,
    /// These, and others that the owner allows when a program first connects.
    #[default]
    Ask,
    /// Everything that the machine reaches, without a proxy.
    Free,
}

impl NetworkMode {
    /// The name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Hosts => "hosts",
            Self::Ask => "ask",
            Self::Free => "free",
        }
    }
}

impl Display for NetworkMode {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The facts of a turn that decide about the network of its programs.
#[derive(Debug, Clone, Copy)]
pub struct NetworkInput<'a> {
    /// Who caused the turn.
    pub principal: Principal,
    /// Why text from outside is in it, if it is.
    pub taint: Option<&'a str>,
    /// Whether the owner typed the command that starts the program: a taint of the conversation is not one of that.
    pub is_typed: bool,
    /// What the user allows at most.
    pub ceiling: NetworkMode,
}

/// The network of a program that starts or connects now. It is asked for again at each connection, so that a turn that
/// becomes tainted opens no further ones.
///
/// # Errors
///
/// It has none, for that reason.
pub fn network(input: &NetworkInput<'_>) -> Result<NetworkMode, String> {
    let NetworkInput { principal, taint, is_typed, ceiling } = *input;
    if principal != Principal::Owner {
        return Err("programs have a network in turns of the owner alone".to_owned());
    }
    if let Some(why) = taint.filter(|_| !is_typed) {
        return Err(format!("programs have no network in this turn: {why}"));
    }
    match ceiling {
        NetworkMode::Off => Err("`network` of `[process]` is `off`".to_owned()),
        mode => Ok(mode),
    }
}
