//! Commands that leave the sandbox.

use bub_permissions::policy::{ApprovalMode, Flow, PolicyInput, Verdict, decide};
use bub_types::{Effect, Principal};

#[test]
fn what_leaves_the_sandbox_is_asked_about_in_every_turn_of_the_owner_and_denied_to_others() {
    let flows = [Flow::Outside { command: "make install".to_owned() }];
    let decided = |principal, mode, taint| {
        decide(&PolicyInput {
            principal,
            mode,
            asks_destructive: false,
            taint,
            declared: Effect::Run,
            is_listed: true,
            flows: &flows,
            rule: None,
        })
    };
    for taint in [None, Some("a page is in the conversation")] {
        for (mode, verdict) in [
            (ApprovalMode::Auto, Verdict::Ask),
            (ApprovalMode::Ask, Verdict::Ask),
            (ApprovalMode::ReadOnly, Verdict::Deny),
            (ApprovalMode::All, Verdict::Allow),
        ] {
            let decision = decided(Principal::Owner, mode, taint);
            assert_eq!(decision.verdict, verdict, "{mode} {taint:?}");
            assert!(decision.why.contains("`make install` would run outside of the sandbox"), "{}", decision.why);
            for other in [Principal::Peer, Principal::Anonymous, Principal::Schedule] {
                assert_eq!(decided(other, mode, taint).verdict, Verdict::Deny, "{mode} {taint:?}");
            }
        }
    }
}
