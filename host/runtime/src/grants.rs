//! What a plugin may import, one file a WIT interface. A grant is checked where the import is served, and nowhere else.

pub mod budget;
pub mod chat;
mod config;
pub mod consent;
pub mod flow;
pub mod fs;
pub mod guard;
pub mod http;
pub mod ledger;
mod log;
pub mod powers;
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
