//! `serve`: the gateway, until it is told to end.

use crate::channel::{Answer, Channel, Question};
use crate::config::Config;
use crate::error::Failure;
use crate::gateway::Gateway;
use crate::host::Host;
use crate::http::{self, Tokens};
use crate::plugin::bindings::Envelope;
use anyhow::Result;
use std::future::{Future, ready};
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Where to listen [default: `serve.listen` of config.toml, else 127.0.0.1:8420]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Look whether everything is in place to serve, and do not
    #[arg(long)]
    check: bool,
}

pub(super) async fn run(arguments: Arguments, mut config: Config, workspace: &Path) -> Result<ExitCode> {
    if let Some(listen) = arguments.listen {
        config.serve.listen = listen;
    }
    let tokens = Tokens::load(&config)?;
    let stop = super::run::on_signal()?;
    let host = Host::start(config, workspace, Box::new(Nobody)).await?;
    if arguments.check {
        println!("ready to serve at {}", host.config.serve.listen);
        host.close().await;
        return Ok(ExitCode::SUCCESS);
    }
    host.plugins().announce(&host);
    let _watch = host.watch();
    let gateway = Gateway::start(host.clone()).await?;
    let server = http::listen(gateway.clone(), tokens).await?;
    println!("serving at http://{}", server.address());
    println!("the owner's token stands in {}", host.config.home.join("serve.token").display());
    let mut stop = stop;
    let _ = stop.wait_for(|stop| *stop).await;
    let all = gateway.stop().await;
    server.stop().await;
    if all {
        host.close().await;
    } else {
        tracing::warn!("turns still ran: their journals are kept, and the next start goes on with them");
    }
    Ok(ExitCode::SUCCESS)
}

/// What no turn has said: there is nobody to hear it, and nobody to be asked.
struct Nobody;

impl Channel for Nobody {
    fn send<'a>(&'a self, envelope: &'a Envelope) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        let (channel, content) = (&envelope.channel, crate::plugin::one_line(&envelope.content));
        tracing::info!("said on channel `{channel}`, outside of a turn: {content}");
        Box::pin(ready(Ok(())))
    }

    fn ask<'a>(&'a self, _: &'a Question) -> Pin<Box<dyn Future<Output = Option<Answer>> + Send + 'a>> {
        Box::pin(ready(None))
    }
}
