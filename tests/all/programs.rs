//! A program that is not tested does not compile: for each file of `programs/examples` there is a test of its name.

#![allow(unused_imports, reason = "what is brought into scope here is only looked for")]

use crate::conformance::golden_tools;
use crate::faults::{fault_memory, fault_panic, fault_spin, fault_trap, fault_unknown_version};
use crate::hooks::{scripted, scripted_stream};
use crate::plugins::{model_twice, prompt_upper};

macro_rules! assert_test_exists {
    ($program:ident) => {
        use self::$program as _;
    };
}

bub_tests::foreach_program!(assert_test_exists);
