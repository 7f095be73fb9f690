//! A program that is not tested does not compile: for each file of `programs/examples` there is a test of its name.

#![allow(unused_imports, reason = "what is brought into scope here is only looked for")]

use crate::bindgen::{bindgen_channel, bindgen_gate, bindgen_provider, bindgen_selector, bindgen_weather};
use crate::channels::poster_keeps_to_its_contract as poster;
use crate::completion::caller_returns_the_answer_of_the_model as caller;
use crate::faults::{fault_memory, fault_panic, fault_spin, fault_trap, fault_unknown_version, loud};
use crate::guest_store::nonsense::keeper_without_tapes_does_not_fail_a_turn as keeper;
use crate::guest_store::nonsense::query_alone_is_refused_without_the_tapes as query_alone;
use crate::guest_store::nonsense::seeker_finds_matching_entries_despite_invalid_candidates as seeker;
use crate::hooks::{scripted, scripted_stream};
use crate::hostile::beside::obedient_lets_a_message_pass_that_asks_for_nothing as obedient;
use crate::hostile::endless::endless_otherwise_passes_where_it_is_not_told_to_stay as endless_otherwise;
use crate::hostile::endless::endless_passes_where_it_is_not_told_to_stay as endless;
use crate::hostile::hostile_without_a_mode_is_alive as hostile;
use crate::limits::counter_is_denied_calls_without_a_grant as counter;
use crate::limits::glutton_with_little_appetite_is_answered as glutton;
use crate::matrix::trier_without_requested_grants_gets_none_even_if_granted as trier;
use crate::mcp::conformance::conformant_has_the_tools_of_the_conformance_suite as conformant;
use crate::plugin_commands::commander_greets_the_given_name as commander;
use crate::plugins::{model_twice, prompt_upper};
use crate::policy::deeds_are_done_for_a_clean_owner as deeds;
use crate::replay::with::prompt_upper_next;
use crate::selectors::choosy_forks_its_sidecar_eight_deep_with_the_turns_own_and_no_deeper as choosy;
use crate::tools::odd_tools_may_be_plain as odd_tools;
use crate::versions::prompt_trial_adds_to_prompts_of_the_other_version as prompt_trial;

macro_rules! assert_test_exists {
    ($program:ident) => {
        use self::$program as _;
    };
}

bub_tests::foreach_program!(assert_test_exists);
