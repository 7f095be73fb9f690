//! Logins to servers of the Model Context Protocol: the authorization code flow of OAuth 2.1 with PKCE, as the protocol's
//! specification of authorization describes it (2025-11-25). Discovery, registration and tokens are rmcp's; this crate
//! supplies the network with its address rules, the files that hold a login, and the address on this machine to which a
//! browser comes back.
//!
//! | module | content |
//! | --- | --- |
//! | `callback` | the address on this machine |
//! | `error` | what people read of a failure |
//! | `http` | requests |
//! | `login` | a new login, and a new token for one |
//! | `store` | the files of a login |

#![warn(missing_docs, unreachable_pub)]

mod callback;
mod error;
mod http;
mod login;
mod store;

pub use callback::Callback;
pub use login::{ClientId, Login, ensure_fresh};
pub use store::LoginFiles;
