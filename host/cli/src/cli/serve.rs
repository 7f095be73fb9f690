//! `serve`: runs the gateway and the HTTP API until a signal.

mod config_reloader;
mod worker;

use super::telemetry;
use super::watchdog::Watchdog;
use anyhow::Result;
use bub_config::{Config, DEFAULT_MODEL, Fingerprint};
use bub_gateway::Gateway;
use bub_runtime::channel::{ApprovalDecision, ApprovalRequest, Channel};
use bub_runtime::error::Failure;
use bub_runtime::host::{Host, StartOptions};
use bub_server::{AuthState, Tls, Tokens};
use bub_types::Envelope;
use config_reloader::{CommandLine, ConfigReloader};
use std::future::{Future, ready};
use std::io::{IsTerminal, stderr, stdin, stdout};
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use worker::Worker;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Address to listen on [default: `serve.listen` of config.toml, else 127.0.0.1:8420]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Accept unencrypted connections from other machines; tokens and conversations can then be read on the network
    #[arg(long)]
    insecure_http: bool,
    /// Check that everything is in place to serve, and exit
    #[arg(long)]
    check: bool,
}

pub(super) async fn run(arguments: Arguments, mut config: Config, workspace: &Path) -> Result<ExitCode> {
    if let Some(listen) = arguments.listen {
        config.serve.listen = listen;
    }
    config.serve.check_exposure(arguments.insecure_http)?;
    config.make_home()?;
    config.policy.unattended();
    config.warn_of_unread();
    // The first load creates the owner's token, so that its file is part of the fingerprint.
    Tokens::load(&config)?;
    let fingerprint = Fingerprint::of_files(config_reloader::own_files(&config));
    let (tokens, tls) = (Tokens::load(&config)?, Tls::load(&config)?);
    let watchdog = Watchdog::start(Duration::from_secs(config.serve.drain_seconds))?;
    let stop = super::run::until_signal()?;
    let mut hangup = signal(SignalKind::hangup())?;
    let had_terminal = has_terminal();
    let auth = AuthState::new(tokens, tls, &config.serve);
    // A check finds what is wrong with any plugin, before one is called.
    let options = StartOptions { opens_plugins: arguments.check, ..StartOptions::default() };
    let host = Host::start_with(config, workspace, Box::new(NoTerminal), options).await?;
    if arguments.check {
        println!("ready to serve at {}", host.config.serve.listen);
        if host.config.model.model == DEFAULT_MODEL {
            println!("no model is configured: `{DEFAULT_MODEL}` only repeats messages; set `BUB_MODEL` or `model`");
        }
        host.close().await;
        return Ok(ExitCode::SUCCESS);
    }
    host.plugins().announce(&host.grants, &host.quarantined());
    let gateway = Gateway::start(host.clone()).await?;
    let server = bub_server::listen(gateway.clone(), auth.clone()).await?;
    let command_line = CommandLine { listen: arguments.listen, insecure_http: arguments.insecure_http };
    let reloader =
        ConfigReloader::new(gateway.clone(), auth, command_line, host.config.fingerprint.clone().and(fingerprint));
    let watch = reloader.watch();
    let worker = Worker::start(&gateway);
    telemetry::export_metrics(&server);
    println!("serving at {}://{}", server.scheme(), server.address());
    println!("the owner's token is in {}", host.config.home.join("serve.token").display());
    // A log that is kept gets no link.
    match stdout().is_terminal().then(|| server.login_link()).transpose()? {
        Some(link) => println!("open {link} in a browser; `bub-wasm open` prints a new link"),
        None => println!("`bub-wasm open` prints a link for a browser"),
    }
    let preparing = host.clone();
    let mut preparing = tokio::spawn(async move { preparing.prepare_plugins().await });
    let (mut stop, mut is_preparing) = (stop, true);
    loop {
        tokio::select! {
            // Whether or not one of them could be compiled: the log says so.
            _ = &mut preparing, if is_preparing => {
                is_preparing = false;
                server.set_plugins_prepared();
            }
            _ = stop.wait_for(|stop| *stop) => break,
            // SIGHUP means stop when the terminal was closed, and reload otherwise.
            Some(()) = hangup.recv() => match had_terminal && !has_terminal() {
                true => break,
                false => {
                    reloader.request();
                    watch.trigger();
                }
            },
        }
    }
    // The setting may have been reloaded.
    watchdog.allow(Duration::from_secs(gateway.host().config.serve.drain_seconds));
    drop(watch);
    if let Some(worker) = worker {
        worker.end().await;
    }
    preparing.abort();
    let is_drained = gateway.stop().await;
    server.stop().await;
    if is_drained {
        host.close().await;
    } else {
        host.budget.flush().await;
        tracing::warn!("turns were interrupted: the next start continues from their journals");
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a terminal is attached and open.
fn has_terminal() -> bool {
    stdin().is_terminal() || stdout().is_terminal() || stderr().is_terminal()
}

/// Logs messages that plugins send outside of a turn, and denies approvals.
struct NoTerminal;

impl Channel for NoTerminal {
    fn send<'a>(&'a self, envelope: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        let (channel, content) = (&envelope.channel, bub_types::text::one_line(&envelope.content));
        tracing::info!("message on channel `{channel}` outside of a turn: {content}");
        Box::pin(ready(Ok(())))
    }

    fn ask<'a>(
        &'a self,
        _: &'a ApprovalRequest,
    ) -> Pin<Box<dyn Future<Output = Option<ApprovalDecision>> + Send + 'a>> {
        Box::pin(ready(None))
    }
}
