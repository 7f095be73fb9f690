//! What a tool call may do: by who caused the turn, whether text from outside is in it, what the tool declares, and what
//! this one call would do beyond that.
//!
//! Injection cannot be detected. What an injected model may do can be bounded. The verdict is a pure function of a
//! [`PolicyInput`]; its facts are found by others: the flows by `grants/flow.rs`, what runs later by [`run_later`].

mod approval;
pub mod destructive;
pub mod run_later;

use bub_types::Effect;
use bub_types::Principal;
use std::fmt::{self, Display, Formatter};

pub use approval::ApprovalMode;

/// The host's verdict on a tool call, after all plugins. Later ones permit less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It is made.
    Allow,
    /// The owner's approval is needed.
    Ask,
    /// It is not made.
    Deny,
}

/// What one call would do beyond what its tool declares: data that moves, or a file that gains another meaning. Each raises
/// the effect that the call is judged by, and none lowers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flow {
    /// A request goes to an address that is neither in the owner's words nor on a fetched page.
    UnknownAddress {
        /// The address, clipped.
        address: String,
    },
    /// A request goes to an address that the arguments do not name, and no grant does.
    UnnamedAddress,
    /// A request holds text that the conversation has read.
    Leak {
        /// What the text is, for people: `` text read by `fs.read` ``.
        source: String,
        /// Where it would go.
        to: String,
    },
    /// A request holds text of which it cannot be said whether it was read.
    Unchecked {
        /// Where it would go.
        to: String,
    },
    /// A change of a file that some program executes or obeys later.
    RunsLater {
        /// As the call names it.
        path: String,
    },
    /// A command destroys what cannot be brought back, as far as that can be seen of it.
    Destructive {
        /// What of it, clipped: `rm -rf build`.
        command: String,
    },
    /// A turn inside the turn goes on in a session that is not the turn's own: it reads that conversation and adds to it.
    OtherSession {
        /// Its id, clipped.
        session: String,
    },
}

impl Flow {
    /// What the call does because of it.
    pub fn effect(&self) -> Effect {
        match self {
            Self::UnknownAddress { .. } | Self::UnnamedAddress | Self::Leak { .. } | Self::Unchecked { .. } => {
                Effect::Send
            }
            Self::RunsLater { .. } | Self::Destructive { .. } => Effect::Run,
            Self::OtherSession { .. } => Effect::Write,
        }
    }
}

impl Display for Flow {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAddress { address } => {
                write!(f, "`{address}` is neither in the owner's words nor on a fetched page")
            }
            Self::UnnamedAddress => f.write_str("it sends a request to an address that its arguments do not name"),
            Self::Leak { source, to } => write!(f, "{source} would go to `{to}`"),
            Self::Unchecked { to } => {
                write!(f, "more was read, or would go to `{to}`, than is compared: what was read may be in it")
            }
            Self::RunsLater { path } => write!(f, "`{path}` runs later"),
            Self::Destructive { command } => write!(f, "`{command}` may destroy something"),
            Self::OtherSession { session } => write!(f, "session `{session}` would be read and written to"),
        }
    }
}

/// The input of a policy decision.
#[derive(Debug, Clone, Copy)]
pub struct PolicyInput<'a> {
    /// The turn's principal.
    pub principal: Principal,
    /// The approval mode.
    pub mode: ApprovalMode,
    /// Whether the owner is asked about a destructive command also where `mode` would let it be made, but for
    /// [`ApprovalMode::All`].
    pub asks_destructive: bool,
    /// Why the turn is tainted; none if it is not.
    pub taint: Option<&'a str>,
    /// The effect that the tool declares.
    pub declared: Effect,
    /// Whether the channel allows the tool to peers and anonymous senders.
    pub is_listed: bool,
    /// Further flows of this call.
    pub flows: &'a [Flow],
}

/// A verdict and its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDecision {
    /// The verdict.
    pub verdict: Verdict,
    /// What the call does: what the tool declares, or what a flow raises it to. Approvals are given for this.
    pub effect: Effect,
    /// Why, in words for the owner and the model: why text from outside is in the turn, then each flow, then the mode.
    pub why: String,
}

/// Decides on a tool call. The approval mode applies to the owner: `auto` allows everything in a clean turn, and needs
/// approval for all but reading in a tainted one. Others may use the read-only tools that the channel lists.
pub fn decide(input: &PolicyInput<'_>) -> PolicyDecision {
    let effects = input.flows.iter().map(Flow::effect);
    let effect = effects.fold(input.declared, |one, other| if rank(other) > rank(one) { other } else { one });
    let is_destructive = input.flows.iter().any(|flow| matches!(flow, Flow::Destructive { .. }));
    let verdict = match (input.principal, input.mode, effect) {
        (Principal::Owner, ApprovalMode::All, _) | (Principal::Owner, _, Effect::Read) => Verdict::Allow,
        (Principal::Owner, ApprovalMode::ReadOnly, _) => Verdict::Deny,
        (Principal::Owner, ApprovalMode::Ask, _) => Verdict::Ask,
        (Principal::Owner, ApprovalMode::Auto, _) if input.taint.is_some() => Verdict::Ask,
        (Principal::Owner, ApprovalMode::Auto, _) if input.asks_destructive && is_destructive => Verdict::Ask,
        (Principal::Owner, ApprovalMode::Auto, _) => Verdict::Allow,
        (_, _, Effect::Read) if input.is_listed => Verdict::Allow,
        _ => Verdict::Deny,
    };
    let taint = input.taint.into_iter().map(str::to_owned);
    let mut why: Vec<String> = taint.chain(input.flows.iter().map(Flow::to_string)).collect();
    if verdict == Verdict::Ask && why.is_empty() {
        why.push("the approval mode is `ask`".to_owned());
    }
    PolicyDecision { verdict, effect, why: why.join("; ") }
}

/// The rank of an effect: a higher one includes the lower ones.
pub fn rank(effect: Effect) -> u8 {
    match effect {
        Effect::Read => 0,
        Effect::Write => 1,
        Effect::Send => 2,
        Effect::Run => 3,
    }
}
