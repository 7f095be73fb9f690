//! Asks the owner about hosts. A question outlives the connection that raised it, because many programs give up after
//! seconds and try again.

use crate::approval_board;
use crate::channel::{ApprovalDecision, ApprovalRequest};
use crate::host::ApprovalKey;
use crate::plugin::Plugin;
use crate::turn::Turn;
use bub_egress::{Destination, HostRule};
use bub_permissions::policy::KeptRule;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio_util::task::AbortOnDropHandle;

/// Hosts that the owner is asked about for one turn. An injected program would otherwise ask until it gets a yes.
const MAX_QUESTIONS: usize = 16;

/// The name under which the host asks: it is no tool.
const NETWORK: &str = "network";

/// What approves it in advance: a program that connects may send something out.
const EFFECT: &str = "send";

/// The owner's answer about a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Its programs may reach it, until the turn ends.
    Yes,
    /// They may not.
    No,
    /// The owner cannot be asked.
    NoOwner,
    /// Too many hosts were asked about.
    TooMany,
}

/// An answer that is known or still to come.
pub(super) type Pending = Shared<BoxFuture<'static, Answer>>;

/// The questions of a turn. Dropping this withdraws them.
#[derive(Default)]
pub(super) struct Questions {
    asked: Mutex<HashMap<Destination, Pending>>,
    /// One question at a time.
    one: Arc<tokio::sync::Mutex<()>>,
}

impl Questions {
    /// The owner's answer, also to an earlier question about the same host.
    pub(super) fn ask(&self, turn: &Arc<Turn>, plugin: &Plugin, destination: &Destination) -> Pending {
        let session = &turn.outermost().session_id;
        // What was said of this host holds for it alone, whatever its tool's name.
        let key = ApprovalKey::new(session, NETWORK, &destination.to_string(), &plugin.name);
        let kept = turn.scope.host.approvals.get(&key);
        match kept {
            Some(true) => return settled(Answer::Yes),
            Some(false) => return settled(Answer::No),
            None if turn.is_approved(EFFECT) => return settled(Answer::Yes),
            None => {}
        }
        let mut asked = self.asked.lock();
        match asked.get(destination) {
            Some(pending) => pending.clone(),
            None if asked.len() >= MAX_QUESTIONS => settled(Answer::TooMany),
            None => {
                let pending = self.begin(turn, plugin, destination, key);
                asked.insert(destination.clone(), pending.clone());
                pending
            }
        }
    }

    fn begin(&self, turn: &Arc<Turn>, plugin: &Plugin, destination: &Destination, key: ApprovalKey) -> Pending {
        let (scope, session) = (Arc::clone(&turn.scope), turn.outermost().session_id.clone());
        let one = Arc::clone(&self.one);
        let why =
            format!("a program that the plugin `{}` has started connects to it, and no rule names it", plugin.name);
        let question = ApprovalRequest {
            tool: NETWORK.to_owned(),
            plugin: None,
            arguments: serde_json::json!({ "host": destination.to_string() }).to_string(),
            effect: EFFECT,
            why,
            ends_with_trust: false,
            rules: vec![KeptRule::Host(HostRule::shortest(destination).to_string())],
        };
        let (asked_for, host) = (Arc::downgrade(turn), destination.to_string());
        let ask = async move {
            let _one = one.lock().await;
            let answer = approval_board::ask(&scope, &session, &question).await;
            let decision = answer.as_ref().map(|answer| answer.decision);
            if let Some(turn) = asked_for.upgrade() {
                let said = decision.map(ApprovalDecision::name);
                let by = answer.map(|answer| answer.place);
                turn.receipt(
                    "approval",
                    serde_json::json!({ "host": host, "effect": EFFECT, "decision": said, "by": by }),
                );
            }
            if let Some(lasting @ (ApprovalDecision::Always | ApprovalDecision::Never)) = decision {
                scope.host.approvals.keep([key], lasting == ApprovalDecision::Always);
            }
            if decision == Some(ApprovalDecision::Rule)
                && let Err(error) = scope.host.rules.keep(&question.rules)
            {
                tracing::warn!("the host is reached, but no rule is kept: {error:#}");
            }
            match decision {
                Some(ApprovalDecision::Once | ApprovalDecision::Always | ApprovalDecision::Rule) => Answer::Yes,
                Some(ApprovalDecision::No | ApprovalDecision::Never) => Answer::No,
                None => {
                    scope.host.channel().not_asked(&question);
                    Answer::NoOwner
                }
            }
        };
        // A task of its own, so that it goes on while no connection waits.
        let task = AbortOnDropHandle::new(tokio::spawn(ask));
        async move { task.await.unwrap_or(Answer::NoOwner) }.boxed().shared()
    }
}

fn settled(answer: Answer) -> Pending {
    std::future::ready(answer).boxed().shared()
}
