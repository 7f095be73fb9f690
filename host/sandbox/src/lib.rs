//! Programs in a sandbox of the operating system.
//!
//! A [`Confinement`] says what a program may reach: data, computed by the caller. A [`Sandbox`] is what this machine can
//! enforce it with: bubblewrap, or Landlock with seccomp and namespaces, which a hidden command of the program applies
//! ([`launcher`]). [`Sandbox::wrap`] makes words that come before a command and start it confined.
//!
//! The crate has no knowledge of plugins, turns or grants.

#![warn(missing_docs, unreachable_pub)]

mod backend;
mod confinement;
mod git;
mod home;
mod private;
mod relay;
mod sandbox;
mod variables;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod bubblewrap;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#[allow(unsafe_code, reason = "system calls that no library offers in a safe form; each has its reason")]
mod enter;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod filter;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod known;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod limits;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod mounts;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod namespaces;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod launcher;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[path = "launcher_elsewhere.rs"]
pub mod launcher;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod preparation;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[path = "preparation_elsewhere.rs"]
mod preparation;

pub use backend::{Backend, Setting};
pub use confinement::{Confinement, Limits, Network};
pub use home::{READ as DEFAULT_READ, SOCKET_VARIABLES};
pub use preparation::{Listeners, Preparation};
pub use private::Private;
pub use relay::Relay;
pub use sandbox::{Sandbox, Wrapped};
pub use variables::variables;
