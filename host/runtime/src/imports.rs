//! The imports of plugins, one file a WIT interface. A grant is checked where the import is served, and nowhere else.

mod approvals;
pub mod chat;
mod config;
mod confinement;
mod confinement_note;
pub mod grant_risk;
mod log;
mod network;
pub mod process;
mod recall;
mod secrets;
mod servers;
mod sidecars;
pub mod sink;
mod spans;
mod spill;
pub mod stages;
mod subturn;
pub mod tape;
pub mod toolbox;
pub mod trail;
mod turn;
mod usage;
pub mod view;
