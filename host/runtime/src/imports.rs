//! What a plugin may import, one file a WIT interface. A grant is checked where the import is served, and nowhere else.

pub mod approvals;
pub mod budget;
pub mod chat;
mod config;
pub mod flow;
pub mod fs;
pub mod grant_registry;
pub mod grant_risk;
pub mod guard;
pub mod http;
mod log;
pub mod process;
mod recall;
mod secrets;
pub mod selection;
mod sidecars;
pub mod sink;
mod spill;
pub mod stages;
mod subturn;
pub mod tape;
pub mod toolbox;
pub mod turn;
mod usage;
pub mod view;
