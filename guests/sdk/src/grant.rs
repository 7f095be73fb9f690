//! Grants: what a plugin asks the user for, as values that the calls which need them take.
//!
//! `plugin!` declares them, each with the reason that the user reads, and writes them into the manifest. No other code makes
//! such a value, so a call whose grant is not in the manifest does not compile, and a grant that nothing uses is reported as
//! an unused constant.
//!
//! | type | grant | what takes it or is called on it |
//! | --- | --- | --- |
//! | [`TapeRead`] | `tape:read` | [`Turn::tape`](crate::Turn::tape) |
//! | [`TapeWorkspace`] | `tape:workspace` | [`Turn::workspace_tape`](crate::Turn::workspace_tape) |
//! | [`TapeAppend`], [`TapeEvent`] | `tape:append`, `tape:event` | [`Tape::writer`](crate::Tape::writer) and sidecars |
//! | [`TapeReset`] | `tape:reset` | [`Tape::reset`](crate::Tape::reset) |
//! | [`Model`] | `model:NAME` | [`Model::complete`] |
//! | [`Tools`] | `tools:NAME` | [`Tools::list`], [`Tools::call`] |
//! | [`Agent`] | `agent` | [`Agent::run`] and the stages of an agent loop |
//! | [`Usage`] | `usage` | [`Usage::session`], [`Usage::today`] |
//! | [`Recall`] | `recall` | [`Recall::search`] |
//! | [`Process`] | `process` | [`Process::spawn`], [`Process::find`] |
//! | [`SandboxedProcess`] | `process:sandboxed` | [`SandboxedProcess::spawn`], [`SandboxedProcess::find`] |
//! | [`Program`] | `process:SERVER` | [`Program::open`] |
//! | [`Http`] | `http:HOST` | [`Http::get`], [`Http::post`] |
//! | [`Secret`] | `secret:NAME` | [`Secret::placeholder`] |
//! | [`Directory`] | `fs:PATH:ro` | `std::fs` |

use crate::Error;
use crate::backend::config;

/// A grant that the manifest asks for.
pub trait Grant {
    /// The grant as users write it, such as `http:api.example.com`.
    fn grant(&self) -> String;

    /// Succeeds if the plugin holds it now. Ask this for resources that are silently absent without their grant, such as a
    /// directory.
    ///
    /// # Errors
    ///
    /// `denied`, with the command that gives it.
    fn check(&self) -> Result<(), Error> {
        config::granted(&self.grant())
    }
}

macro_rules! plain {
    ($($(#[$doc:meta])* $name:ident = $grant:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy)]
            pub struct $name(());

            impl $name {
                #[doc(hidden)]
                pub const PREFIX: &'static str = $grant;

                #[doc(hidden)]
                pub const fn declare() -> Self {
                    Self(())
                }
            }

            impl Grant for $name {
                fn grant(&self) -> String {
                    Self::PREFIX.to_owned()
                }
            }
        )*
    };
}

plain! {
    /// Reading the session's tape.
    TapeRead = "tape:read";
    /// Writing entries of any kind.
    TapeAppend = "tape:append";
    /// Writing events.
    TapeEvent = "tape:event";
    /// Opening the tape that the sessions of a workspace share.
    TapeWorkspace = "tape:workspace";
    /// Emptying the session's tape.
    TapeReset = "tape:reset";
    /// Calling the hooks of other plugins, and running nested turns.
    Agent = "agent";
    /// Reading what model calls have used.
    Usage = "usage";
    /// Searching memory, notes and earlier conversations.
    Recall = "recall";
    /// Starting programs that may do all that the user may do.
    Process = "process";
    /// Starting programs in a sandbox of the operating system.
    SandboxedProcess = "process:sandboxed";
}

macro_rules! named {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy)]
            pub struct $name(pub(crate) &'static str);

            impl $name {
                #[doc(hidden)]
                pub const PREFIX: &'static str = $prefix;

                #[doc(hidden)]
                pub const fn declare(name: &'static str) -> Self {
                    Self(name)
                }

                /// The part after the colon.
                pub const fn name(&self) -> &'static str {
                    self.0
                }
            }

            impl Grant for $name {
                fn grant(&self) -> String {
                    format!("{}{}", Self::PREFIX, self.0)
                }
            }
        )*
    };
}

named! {
    /// Calling models: `Model("openai:*")`.
    Model = "model:";
    /// Calling the tools of all plugins: `Tools("fs.*")`.
    Tools = "tools:";
    /// Speaking with a program that the user has configured as a server: `Program("time")`.
    Program = "process:";
    /// Requests to a host: `Http("api.example.com")`.
    Http = "http:";
    /// A secret of the user, which goes into requests in place of a placeholder: `Secret("example")`.
    Secret = "secret:";
    /// A directory, which `std::fs` opens: `Directory("<workspace>:ro")`. The workspace is `.`; any other directory has its
    /// own path.
    Directory = "fs:";
}

/// A grant to write to tapes.
pub trait MayWrite: Grant {}

impl MayWrite for TapeAppend {}
impl MayWrite for TapeEvent {}
