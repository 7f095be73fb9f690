//! `mcp serve`: an MCP server on standard input and output. The client is the owner.

mod caller;
mod channel;

use super::super::approval::Approval;
use super::super::run::on_signal;
use anyhow::{Context, Result, bail};
use bub_config::Config;
use bub_mcp::rmcp::service::{QuitReason, ServerInitializeError, ServiceExt};
use bub_mcp::{LineTransport, McpServer};
use bub_runtime::approval_board::random_name;
use bub_runtime::host::{Host, StartOptions};
use bub_types::check_session_id;
use caller::LocalConnection;
use channel::OutOfTurn;
use std::path::Path;
use std::process::ExitCode;
use tokio::io::{BufReader, stdin, stdout};
use tokio_util::sync::CancellationToken;

/// What `--session` defaults to begins with; a random part follows.
const SESSION: &str = "mcp:";

#[derive(clap::Args)]
pub(in crate::cli) struct Arguments {
    /// Session of tool calls, and of turns that name none [default: a new one, `mcp:ID`]
    #[arg(long = "session", visible_alias = "session-id", value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    approval: Approval,
}

pub(in crate::cli) async fn run(arguments: Arguments, mut config: Config, workspace: &Path) -> Result<ExitCode> {
    let session = match arguments.session {
        Some(session) => session,
        None => format!("{SESSION}{}", &random_name()?[..8]),
    };
    check_session_id(&session).map_err(anyhow::Error::msg)?;
    config.make_home()?;
    config.warn_of_unread();
    arguments.approval.apply(&mut config);
    let mut stop = on_signal()?;
    let options = StartOptions { session: Some(&session), ..StartOptions::default() };
    let host = Host::start_with(config, workspace, Box::new(OutOfTurn), options).await?;
    host.plugins().announce(&host.grants, &host.quarantined());
    tracing::info!("tool calls are recorded in session `{session}`");
    let connection = LocalConnection::new(&host, session);
    let turns = connection.turns();
    let ending = CancellationToken::new();
    let serving = serve(connection, ending.clone());
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        _ = stop.wait_for(|stop| *stop) => {
            ending.cancel();
            serving.await
        }
    };
    // Turns that were cancelled save their state.
    turns.close();
    turns.wait().await;
    host.close().await;
    host.compile_in_background();
    served.map(|()| ExitCode::SUCCESS)
}

/// Answers the client until it closes its end.
async fn serve(connection: LocalConnection, ending: CancellationToken) -> Result<()> {
    let transport = LineTransport::new(BufReader::new(stdin()), stdout(), ending.clone());
    let running = match McpServer::new(connection).serve_with_ct(transport, ending).await {
        Ok(running) => running,
        // It never began.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {
            bail!("the client sent another message before `initialize`")
        }
        Err(error) => return Err(error).context("the client did not begin"),
    };
    match running.waiting().await? {
        QuitReason::JoinError(error) => Err(error).context("an answer was not sent"),
        _ => Ok(()),
    }
}
