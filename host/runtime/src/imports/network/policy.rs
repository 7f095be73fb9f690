//! Decides about the hosts of a turn's programs, and records what they reach.

use super::question::{Answer, Questions};
use crate::host::Unreached;
use crate::plugin::Plugin;
use crate::turn::{Denial, DenialReason, Turn};
use bub_egress::{Destination, HostRule};
use bub_permissions::Grant;
use bub_permissions::policy::NetworkMode;
use bub_redact::Patterns;
use bub_sandbox_proxy::{Direction, Policy, PolicyFuture, Verdict};
use bub_types::text::one_line;
use std::sync::{Arc, Weak};

const ENDED: &str = "the turn of this program has ended, and its network with it";

/// The rules and the questions of a turn.
pub(super) struct HostPolicy {
    /// The turn holds the proxy, and the proxy this.
    turn: Weak<Turn>,
    plugin: Arc<Plugin>,
    grant: Grant,
    is_typed: bool,
    allowed: Vec<HostRule>,
    denied: Vec<HostRule>,
    questions: Questions,
    unreached: Unreached,
}

impl HostPolicy {
    /// The rules of the configuration as they are now.
    pub(super) fn new(turn: &Arc<Turn>, plugin: &Arc<Plugin>, grant: &Grant, is_typed: bool) -> Self {
        let process = turn.scope.host.rules.process();
        Self {
            turn: Arc::downgrade(turn),
            plugin: Arc::clone(plugin),
            grant: grant.clone(),
            is_typed,
            allowed: process.allowed_hosts(),
            denied: process.denied_hosts(),
            questions: Questions::default(),
            unreached: Unreached::Refused(Arc::default()),
        }
    }

    /// The ports of this machine that rules open.
    pub(super) fn loopback(&self) -> Vec<Destination> {
        self.allowed.iter().filter_map(HostRule::loopback).filter(|found| !self.is_denied(found)).collect()
    }

    /// What is refused, for the results of programs.
    pub(super) fn unreached(&self) -> Unreached {
        self.unreached.clone()
    }

    fn is_denied(&self, destination: &Destination) -> bool {
        self.denied.iter().any(|rule| rule.matches(destination))
    }

    /// Whether the rules that are for the destination name exactly its host; none: there is no rule for it.
    fn allows(&self, destination: &Destination) -> Option<bool> {
        let exact = self.allowed.iter().filter(|rule| rule.matches(destination)).map(HostRule::is_exact);
        exact.reduce(|one, other| one || other)
    }

    async fn judge(&self, destination: &Destination) -> Verdict {
        let Some(turn) = self.running_turn() else {
            return Verdict::Deny(ENDED.to_owned());
        };
        let mode = match super::mode(&turn, self.is_typed) {
            Ok(mode) => mode,
            Err(why) => return Verdict::Deny(why),
        };
        if self.is_denied(destination) {
            return Verdict::Deny(format!("`deny_hosts` of `[process]` names `{destination}`"));
        }
        if let Some(exact) = self.allows(destination) {
            return Verdict::Allow { exact };
        }
        let no_rule = |more: &str| {
            let rule = HostRule::shortest(destination);
            let help = format!("to allow it: `allow_hosts = [\"{rule}\"]` in `[process]` of config.toml");
            Verdict::Deny(format!("no rule names `{destination}`{more}; {help}"))
        };
        // Where keys of the machine are handed out, a hasty yes is too little.
        if mode != NetworkMode::Ask || destination.is_special() {
            return no_rule("");
        }
        // An address of a private network is what was asked about. A name may lead there without the owner's knowledge.
        let allow = Verdict::Allow { exact: destination.is_local() };
        let answer = self.questions.ask(&turn, &self.plugin, destination);
        // Meanwhile the turn may end, which withdraws the question.
        drop(turn);
        match answer.await {
            Answer::Yes => match self.running_turn().map(|turn| super::mode(&turn, self.is_typed)) {
                Some(Ok(_)) => allow,
                Some(Err(why)) => Verdict::Deny(why),
                None => Verdict::Deny(ENDED.to_owned()),
            },
            Answer::No => Verdict::Deny(format!("the owner was asked about `{destination}` and said no")),
            Answer::NoOwner => no_rule(", and no owner can be asked"),
            Answer::TooMany => no_rule(", and the owner was asked about too many hosts in this turn"),
        }
    }

    /// The turn, unless its tape is written already.
    fn running_turn(&self) -> Option<Arc<Turn>> {
        self.turn.upgrade().filter(|turn| !turn.is_settled())
    }
}

impl Policy for HostPolicy {
    fn decide<'a>(&'a self, destination: &'a Destination) -> PolicyFuture<'a> {
        Box::pin(self.judge(destination))
    }

    fn reached(&self, destination: &Destination) {
        if let Some(turn) = self.turn.upgrade() {
            turn.reached(&self.plugin, &self.grant, &destination.to_string());
        }
    }

    fn moved(&self, destination: &Destination, direction: Direction, bytes: u64) {
        if let Some(turn) = self.turn.upgrade() {
            let (sent, received) = match direction {
                Direction::Sent => (bytes, 0),
                Direction::Received => (0, bytes),
            };
            turn.moved(&self.plugin, &self.grant, &destination.to_string(), sent, received);
        }
    }

    fn refused(&self, destination: &Destination, why: &str) {
        let (host, message) = (destination.to_string(), one_line(why));
        tracing::info!("a program of plugin `{}` does not reach `{host}`: {message}", self.plugin.name);
        self.unreached.refused(&message);
        if let Some(turn) = self.turn.upgrade() {
            let reason = DenialReason::Reach;
            let (plugin, grant) = (self.plugin.name.as_str(), self.grant.as_str());
            turn.denied(Denial { reason, plugin, tool: "", grant, host: &host, message: &message });
        }
    }

    fn known_secrets(&self) -> Vec<Patterns> {
        self.turn.upgrade().map(|turn| turn.scope.host.config.known_secrets().into()).unwrap_or_default()
    }
}
