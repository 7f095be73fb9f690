//! The network of programs, by principal and taint.

use bub_permissions::policy::{NetworkInput, NetworkMode, network};
use bub_types::Principal;

const MODES: [NetworkMode; 4] = [NetworkMode::Off, NetworkMode::Hosts, NetworkMode::Ask, NetworkMode::Free];

#[test]
fn a_clean_turn_of_the_owner_has_what_is_configured_and_no_other_turn_has_any() {
    for principal in [Principal::Owner, Principal::Peer, Principal::Anonymous] {
        for taint in [None, Some("a page was read")] {
            for is_typed in [false, true] {
                for ceiling in MODES {
                    let given = network(&NetworkInput { principal, taint, is_typed, ceiling });
                    let has_any =
                        principal == Principal::Owner && (taint.is_none() || is_typed) && ceiling != NetworkMode::Off;
                    assert_eq!(
                        given.clone().ok(),
                        has_any.then_some(ceiling),
                        "{principal:?} {taint:?} {is_typed} {given:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_reason_says_what_it_is() {
    let input = NetworkInput {
        principal: Principal::Owner,
        taint: Some("a page was read"),
        is_typed: false,
        ceiling: NetworkMode::Free,
    };
    assert_eq!(network(&input).unwrap_err(), "programs have no network in this turn: a page was read");
    let input = NetworkInput { principal: Principal::Peer, ..input };
    assert_eq!(network(&input).unwrap_err(), "programs have a network in turns of the owner alone");
}
