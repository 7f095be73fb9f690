//! Plugins in registries of the Open Container Initiative: the protocol, signatures, trust in keys, the lock file and
//! advisories.
//!
//! A plugin is stored as the tools of the Bytecode Alliance store a component: an image manifest with the configuration
//! `application/vnd.wasm.config.v0+json` and one layer `application/wasm`. What it wants is known from the annotations of the
//! manifest before the layer is fetched. Everything that a registry sends is bounded in size, time and count, and hashed.
//!
//! | module | content |
//! | --- | --- |
//! | `reference` | `oci://HOST/NAME:VERSION` |
//! | `transport`, `authentication`, `registry` | requests, logins, the protocol |
//! | `manifest`, `artifact` | what is read, and what is pushed |
//! | `key`, `signature`, `author`, `identity`, `trust` | keys and identities of authors, signatures, whose plugins are loaded |
//! | `lock`, `advisory` | `plugins.lock`, and what is known of bad plugins |
//!
//! The crate knows nothing of WebAssembly beyond its first four bytes, and nothing of grants.

#![warn(missing_docs, unreachable_pub)]

mod advisory;
mod artifact;
mod authentication;
mod author;
mod digest;
mod identity;
mod key;
mod lock;
pub mod manifest;
mod reference;
mod registry;
mod signature;
mod transport;
mod trust;
mod version;

pub use advisory::{Advisories, ECOSYSTEM, Finding};
pub use artifact::{Publication, Published};
pub use authentication::Credentials;
pub use author::{Author, PluginSignature};
pub use bub_sigstore::{Bundle, MAX_BUNDLE, TrustedRoot};
pub use digest::Digest;
pub use identity::{OwnIdentity, Sigstore, TrustedIdentity};
pub use key::{PublicKey, SecretKey};
pub use lock::{LOCK_FILE, Lock, Locked, Quarantined};
pub use reference::{Host, Reference, Repository, SCHEME};
pub use registry::{Artifact, Registry, Settings};
pub use signature::{Signature, Statement};
pub use trust::{Moment, PluginTrust, Signer, Trust, TrustedKey, today};
pub use version::{is_newer, newest};
