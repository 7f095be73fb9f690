//! `run`: one message, one turn, its answer.

use super::sessions::Sessions;
use super::watchdog::Watchdog;
use crate::channel::{Printer, attach, kind_of, message};
use crate::config::Config;
use crate::host::Host;
use crate::plugin::bindings::Envelope;
use crate::turn::{Audience, run_turn};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// What to say to the agent
    message: String,
    /// The channel that the message comes from
    #[arg(long, default_value = "cli")]
    channel: String,
    /// The chat within the channel
    #[arg(long, default_value = "local")]
    chat_id: String,
    /// Who says it
    #[arg(long, default_value = "human")]
    sender_id: String,
    /// The session to go on with [default: CHANNEL:CHAT_ID]
    #[arg(long)]
    session_id: Option<String>,
    /// Go on with the session that was used last in this workspace, by `run` or `chat`
    #[arg(short, long = "continue", conflicts_with = "session_id")]
    continues: bool,
    /// Allow what would be asked: effects of tools, as in `write,run`
    #[arg(long, value_delimiter = ',', value_parser = ["write", "send", "run"])]
    allow: Vec<String>,
    /// Send an image, sound, video or document along: a file, or an https address that the model's side fetches
    #[arg(long, value_name = "FILE|URL")]
    attach: Vec<String>,
}

pub(super) async fn run(arguments: Arguments, config: Config, workspace: &Path) -> Result<ExitCode> {
    let commands = config.commands(&arguments.channel);
    let folder = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let foreign = (!config.trusts(&folder)).then_some(folder.as_path());
    let media = attach::items(&arguments.attach, kind_of(commands, &arguments.message), foreign)?;
    let sessions = Sessions::new(&config);
    let session = match arguments.continues {
        true => Some(sessions.latest(&folder)?.with_context(|| {
            format!("no session was held in `{}` yet: leave `-c` out to begin one", folder.display())
        })?),
        false => arguments.session_id.clone(),
    };
    config.make_home()?;
    let printer = Printer::allowing(arguments.allow.clone());
    let host = Host::start(config, workspace, Box::new(printer.clone())).await?;
    host.plugins().announce(&host);
    let cancel = on_signal()?;
    let Arguments { message: content, channel, chat_id, sender_id, .. } = arguments;
    let kind = kind_of(commands, &content);
    // On another channel it is somebody else who speaks.
    let is_terminals = channel == "cli";
    let message = Envelope { media, ..message(session, [&channel, &chat_id, &sender_id], &content, kind) };
    let outcome = run_turn(&host, message, Audience::new(cancel)).await;
    if let (Ok(turn), true) = (&outcome, is_terminals) {
        sessions.note(&turn.session_id, &folder);
    }
    // Nobody could find them again: the next run is another process.
    host.close().await;
    match outcome {
        Ok(_) => Ok(ExitCode::SUCCESS),
        // An observer of `on-error` has said it already.
        Err(_) if printer.said_error() => Ok(ExitCode::FAILURE),
        Err(failure) => Err(failure.into()),
    }
}

/// How long a turn may take to end once it is told to.
const ENDING: Duration = Duration::from_secs(20);

/// Ctrl-C and a polite kill end the turn: its state is saved and its tape kept. A second one ends the process.
pub(super) fn on_signal() -> Result<watch::Receiver<bool>> {
    let _ends_with_the_process = Watchdog::start(ENDING)?;
    until_signal()
}

/// Becomes true at Ctrl-C or a polite kill.
pub(super) fn until_signal() -> Result<watch::Receiver<bool>> {
    let (sender, receiver) = watch::channel(false);
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        let _ = sender.send(true);
    });
    Ok(receiver)
}
