//! The paths of the components that `build.rs` made, a constant each, and the list of those that only tests use.

include!(concat!(env!("OUT_DIR"), "/programs.rs"));
