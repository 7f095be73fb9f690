//! A host inside this process, as in `serve`.

use bub_config::Config;
use bub_model::Settings;
use bub_runtime::channel::Channel;
use bub_runtime::error::Failure;
use bub_runtime::host::Host;
use bub_runtime::turn::{TurnOptions, run_turn};
use bub_tests::Home;
use bub_types::Envelope;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::watch;

/// An empty home.
pub fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_bub-wasm"), env!("CARGO_TARGET_TMPDIR"))
}

/// A host in this process, with that model.
pub async fn host(home: &Home, model: Settings) -> Arc<Host> {
    let mut config = Config::load(Some(&home.bub_home())).expect("an empty configuration");
    // The environment may configure a model.
    config.model = model;
    // The program compiles plugins in a child process, not this benchmark.
    config.program = env!("CARGO_BIN_EXE_bub-wasm").into();
    let host = Host::start(config, &home.workspace(), Box::new(Nowhere)).await;
    host.expect("the host starts")
}

/// Runs a turn and returns its answer. In a task, as in `serve`: the measuring thread is not one of the runtime's, and
/// would be woken from another thread for each event.
pub async fn said(host: &Arc<Host>, session: &str) -> String {
    let (host, message) = (host.clone(), message(session));
    let task = tokio::spawn(async move {
        let (_sender, cancel) = watch::channel(false);
        run_turn(&host, message, TurnOptions::new(cancel)).await.expect("the turn ends well").output
    });
    task.await.expect("the turn ends")
}

/// A message to that session.
pub fn message(session: &str) -> Envelope {
    Envelope {
        session_id: Some(session.to_owned()),
        sender: Some("human".to_owned()),
        context: vec![("sender_id".to_owned(), r#""human""#.to_owned())],
        ..Envelope::new("cli", "local", "hi")
    }
}

/// A channel that drops all messages.
pub struct Nowhere;

impl Channel for Nowhere {
    fn send<'a>(&'a self, _: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
