//! The backend of the handles of this crate: the imports of the contracts in a component, and fakes of them in a native
//! test. Both offer the same names with the same signatures.

#[cfg(target_family = "wasm")]
pub(crate) use {
    crate::http::wasi as http,
    crate::wit::bub::context::recall,
    crate::wit::bub::context::view::View,
    crate::wit::bub::model::sink::Sink,
    crate::wit::bub::model::{chat, usage},
    crate::wit::bub::plugin::{config, log, secrets},
    crate::wit::bub::process::{process, servers},
    crate::wit::bub::tape::tape::{Cursor, Tape},
    crate::wit::bub::tools::toolbox,
    crate::wit::bub::turn::turn::Turn,
    crate::wit::bub::turn::{stages, subturn},
};

#[cfg(not(target_family = "wasm"))]
pub(crate) use crate::test::backend::*;
