//! The policy for tool calls: based on the turn's principal and taint, the tool's declared effect, and the data flows
//! of the call.
//!
//! Prompt injection cannot be detected reliably, but its effects can be limited. The verdict is a pure function of a
//! [`PolicyInput`]; the runtime finds the flows (`imports/flow.rs`), and [`run_later`] finds files that run later.

mod approval;
pub mod commands;
pub mod destructive;
mod kept_rule;
mod network;
pub mod run_later;
pub mod shell;

use bub_types::Effect;
use bub_types::Principal;
use commands::{RuleDecision, RuleVerdict};
use std::fmt::{self, Display, Formatter};

pub use approval::ApprovalMode;
pub use kept_rule::KeptRule;
pub use network::{NetworkInput, NetworkMode, network};

/// The host's verdict on a tool call, after all plugins; in order of strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The call is made.
    Allow,
    /// The owner's approval is needed.
    Ask,
    /// The call is refused.
    Deny,
}

/// A data flow or side effect of one call beyond what its tool declares. Each raises the effect by which the call is
/// judged; none lowers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flow {
    /// A request goes to an address that is neither in the owner's words nor on a fetched page.
    UnknownAddress {
        /// The address, clipped.
        address: String,
    },
    /// A request goes to an address that neither the arguments nor a grant name.
    UnnamedAddress,
    /// A request contains text that the conversation has read.
    Leak {
        /// A description of the text: `` text read by `fs.read` ``.
        source: String,
        /// The destination.
        to: String,
    },
    /// A request contains text that could not be compared with what was read.
    Unchecked {
        /// The destination.
        to: String,
    },
    /// A change of a file that a program executes or obeys later.
    RunsLater {
        /// The path as in the call.
        path: String,
    },
    /// A command that destroys data irrevocably, as far as can be recognized.
    Destructive {
        /// The destructive part, clipped: `rm -rf build`.
        command: String,
    },
    /// A command that would run outside of the sandbox. Every owner's turn is asked about it, whatever else it may do.
    Outside {
        /// The command, clipped.
        command: String,
    },
    /// A sub-turn in another session, which reads that conversation and adds to it.
    OtherSession {
        /// The session's id, clipped.
        session: String,
    },
}

impl Flow {
    /// The effect that the call has because of it.
    pub fn effect(&self) -> Effect {
        match self {
            Self::UnknownAddress { .. } | Self::UnnamedAddress | Self::Leak { .. } | Self::Unchecked { .. } => {
                Effect::Send
            }
            Self::RunsLater { .. } | Self::Destructive { .. } | Self::Outside { .. } => Effect::Run,
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
                write!(
                    f,
                    "not all text that was read could be compared with what would go to `{to}`, which may contain it"
                )
            }
            Self::RunsLater { path } => write!(f, "`{path}` runs later"),
            Self::Destructive { command } => write!(f, "`{command}` may destroy something"),
            Self::Outside { command } => write!(f, "`{command}` would run outside of the sandbox"),
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
    /// Whether destructive commands need approval also where `mode` would allow them, except with
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
    /// What the user's rules say about the command that the call runs.
    pub rule: Option<&'a RuleVerdict>,
}

/// What a verdict follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The owner may always read.
    Reads,
    /// The owner is asked about nothing in a clean turn.
    Clean,
    /// The approval mode.
    Mode,
    /// Text of another author is in the conversation.
    Taint,
    /// What the call does beyond what its tool declares.
    Flow,
    /// A rule of the user for commands.
    Rule,
    /// Another sender than the owner caused the turn.
    Principal,
    /// The channel lets other senders use the tool.
    Listed,
}

impl Cause {
    /// Its name in events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Clean => "clean",
            Self::Mode => "mode",
            Self::Taint => "taint",
            Self::Flow => "flow",
            Self::Rule => "rule",
            Self::Principal => "principal",
            Self::Listed => "listed",
        }
    }
}

/// A verdict and its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDecision {
    /// The verdict.
    pub verdict: Verdict,
    /// The effect: the declared one, or what a flow raises it to. Approvals apply to it.
    pub effect: Effect,
    /// The reasons, for the owner and the model: taint, then each flow, then a rule, then the mode.
    pub why: String,
    /// What decided.
    pub cause: Cause,
}

/// Decides on a tool call. The approval mode applies to the owner: `auto` allows everything in a clean turn, and needs
/// approval for all but reading in a tainted one, and for what leaves the sandbox. Others may use the read-only tools that the channel lists.
///
/// A rule for commands that denies does so for everyone. One that asks adds a question, except with
/// [`ApprovalMode::All`]. One that allows takes a question away from the owner, if nothing but the command is the reason
/// for it; in a tainted turn only if it says so.
pub fn decide(input: &PolicyInput<'_>) -> PolicyDecision {
    let effects = input.flows.iter().map(Flow::effect);
    let effect = effects.fold(input.declared, |one, other| if rank(other) > rank(one) { other } else { one });
    let is_destructive = input.flows.iter().any(|flow| matches!(flow, Flow::Destructive { .. }));
    let is_outside = input.flows.iter().any(|flow| matches!(flow, Flow::Outside { .. }));
    let (by_default, cause) = match (input.principal, input.mode, effect) {
        (Principal::Owner, _, Effect::Read) => (Verdict::Allow, Cause::Reads),
        (Principal::Owner, ApprovalMode::All, _) => (Verdict::Allow, Cause::Mode),
        (Principal::Owner, ApprovalMode::ReadOnly, _) => (Verdict::Deny, Cause::Mode),
        (Principal::Owner, ApprovalMode::Ask, _) => (Verdict::Ask, Cause::Mode),
        (Principal::Owner, ApprovalMode::Auto, _) if input.taint.is_some() => (Verdict::Ask, Cause::Taint),
        (Principal::Owner, ApprovalMode::Auto, _) if is_outside => (Verdict::Ask, Cause::Flow),
        (Principal::Owner, ApprovalMode::Auto, _) if input.asks_destructive && is_destructive => {
            (Verdict::Ask, Cause::Flow)
        }
        (Principal::Owner, ApprovalMode::Auto, _) => (Verdict::Allow, Cause::Clean),
        (_, _, Effect::Read) if input.is_listed => (Verdict::Allow, Cause::Listed),
        _ => (Verdict::Deny, Cause::Principal),
    };
    let verdict = by_default;
    let verdict = match input.rule.map(|rule| (rule.decision, rule)) {
        Some((RuleDecision::Deny, _)) => Verdict::Deny,
        Some((RuleDecision::Ask, _)) if input.principal != Principal::Owner => Verdict::Deny,
        Some((RuleDecision::Ask, _)) if verdict == Verdict::Allow && input.mode != ApprovalMode::All => Verdict::Ask,
        Some((RuleDecision::Allow, rule)) if verdict == Verdict::Ask && is_about_command(input, rule) => Verdict::Allow,
        _ => verdict,
    };
    let taint = input.taint.into_iter().map(str::to_owned);
    let rule = input.rule.map(|rule| rule.why.clone()).filter(|why| !why.is_empty());
    let mut why: Vec<String> = taint.chain(input.flows.iter().map(Flow::to_string)).chain(rule).collect();
    if verdict == Verdict::Ask && why.is_empty() {
        why.push("the approval mode is `ask`".to_owned());
    }
    let is_denied = input.rule.is_some_and(|rule| rule.decision == RuleDecision::Deny);
    let cause = if verdict == by_default && !is_denied { cause } else { Cause::Rule };
    PolicyDecision { verdict, effect, why: why.join("; "), cause }
}

/// Whether a rule that allows the command answers all that would be asked.
fn is_about_command(input: &PolicyInput<'_>, rule: &RuleVerdict) -> bool {
    (input.taint.is_none() || rule.tainted)
        && input.flows.iter().all(|flow| match flow {
            Flow::Destructive { .. } => true,
            // No rule lets a command leave in a tainted turn.
            Flow::Outside { .. } => rule.outside && input.taint.is_none(),
            _ => false,
        })
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
