//! Calls into guests: instances with their limits, what they hold, and the bindings of the contracts. Each call has a
//! fresh instance, from an `InstancePre` that is created once: sessions share no state, stores need no mutex, and an
//! instance that faulted is dropped. Embedded plugins reuse their instances for the calls of one turn
//! (`instance_pool`). The imports of guests are implemented for [`State`] in `imports`.

pub mod bindings;
mod call;
mod classify;
pub mod completion;
mod context;
pub(crate) mod convert;
mod determinism;
pub mod handles;
mod host_call_hook;
mod imported;
mod instance;
mod instance_pool;
mod limiter;
mod linked;
mod linker;
mod output;
mod query;
mod running;
pub mod selection;
mod signature;
pub(crate) mod state;
pub mod view;
pub(crate) mod wasi;

pub use bindings::SERVED;
pub use call::{CallFuture, GuestCall, call};
pub use context::CallContext;
pub(crate) use imported::packed_request;
pub use instance_pool::InstancePool;
pub(crate) use linker::ImportLinker;
pub(crate) use query::LoadQuery;
pub use running::{Running, running};
pub use state::State;
