//! `acp`: the agent of an editor, on standard input and output. The editor's user is the owner.

use super::approval::Approval;
use super::run::on_signal;
use anyhow::Result;
use bub_acp::Options;
use bub_config::Config;
use std::path::Path;
use std::process::ExitCode;
use tokio::io::{BufReader, stdin, stdout};
use tokio_util::sync::CancellationToken;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    approval: Approval,
}

pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    config.make_home()?;
    config.warn_of_unread();
    let mut stop = on_signal()?;
    let (home, approval) = (config.home, arguments.approval);
    // Read again at each change: `bub-wasm trust` is for sessions that are open, too.
    let configure = move || {
        let mut config = Config::load(Some(&home))?;
        approval.clone().apply(&mut config);
        Ok(config)
    };
    let options = Options { configure: Box::new(configure), workspace: workspace.to_owned() };
    let ending = CancellationToken::new();
    let serving = bub_acp::serve(options, BufReader::new(stdin()), stdout(), ending.clone());
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => {}
        _ = stop.wait_for(|stop| *stop) => {
            ending.cancel();
            serving.await;
        }
    }
    Ok(ExitCode::SUCCESS)
}
