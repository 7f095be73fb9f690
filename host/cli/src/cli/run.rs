//! `run`: runs one turn and prints its answer.

mod output;
mod piped;

use super::approval::Approval;
use super::chat::{self, ChatChannel, ChatHistory, SingleMessage};
use super::denied::{self, DeniedCalls};
use super::sessions::Sessions;
use super::watchdog::Watchdog;
use crate::cli::progress::Progress;
use anyhow::{Context, Result};
use bub_config::{AnswerFormat, Config};
use bub_permissions::policy::ApprovalMode;
use bub_runtime::channel::{attach, kind_of, message};
use bub_runtime::host::{Host, StartOptions};
use bub_runtime::turn::{TurnOptions, TurnResult, run_turn};
use bub_types::{Envelope, MessageKind, Passage, Provenance};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use output::Output;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Message to the agent; `-` reads it from standard input
    message: Option<String>,
    /// `-` waits for the end of standard input and appends it to the message
    #[arg(value_name = "-", value_parser = ["-"])]
    waits: Option<String>,
    /// Channel of the message
    #[arg(long, default_value = "cli")]
    channel: String,
    /// The chat within the channel
    #[arg(long, default_value = "local")]
    chat_id: String,
    /// Sender of the message
    #[arg(long, default_value = "human")]
    sender_id: String,
    /// Session to continue or start; the same as in `chat --session` [default: CHANNEL:CHAT_ID]
    #[arg(long = "session", visible_alias = "session-id", value_name = "ID")]
    session_id: Option<String>,
    /// Continue the session that `run` or `chat` used last in this workspace
    #[arg(short, long = "continue", conflicts_with = "session_id")]
    continues: bool,
    /// Model for this turn; overrides the configuration and the session
    #[arg(short, long, value_name = "PROVIDER:MODEL")]
    model: Option<String>,
    /// Output format [default: $BUB_FORMAT, else text]
    #[arg(long, value_parser = format())]
    format: Option<AnswerFormat>,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[command(flatten)]
    approval: Approval,
    /// Attach an image, sound, video or document: a file, or an https URL that the model's provider fetches
    #[arg(long, value_name = "FILE|URL")]
    attach: Vec<String>,
    /// Add to this file how each model request is made; `blame --file` reads it
    #[arg(long, value_name = "FILE")]
    trails: Option<PathBuf>,
}

fn format() -> impl TypedValueParser<Value = AnswerFormat> {
    // clap has rejected every other word.
    PossibleValuesParser::new(AnswerFormat::NAMES).map(|name| AnswerFormat::parse(&name).unwrap_or_default())
}

/// Buffered events of a turn.
const MAX_EVENTS: usize = 256;

/// The silence after which a notice is printed.
const SILENCE_NOTICE: Duration = Duration::from_secs(10);

pub(super) async fn run(mut arguments: Arguments, mut config: Config, workspace: &Path) -> Result<ExitCode> {
    let folder = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let format = if arguments.json { AnswerFormat::Json } else { arguments.format.unwrap_or(config.format) };
    let commands = config.commands(&arguments.channel);
    let is_command = |text: &str| kind_of(commands, text) == MessageKind::Command;
    let piped = match &arguments.message {
        // A command must be typed.
        Some(text) if is_command(text) && arguments.waits.is_none() => None,
        Some(text) => piped::read(text == "-" || arguments.waits.is_some())?,
        None => piped::read(false)?,
    };
    let said = arguments.message.take().filter(|text| text != "-");
    // Piped text without a message is the message, but not a command: only typed text can be one.
    let (content, piped, kind) = match (said, piped) {
        (Some(said), piped) => {
            let kind = kind_of(commands, &said);
            (said, piped, kind)
        }
        (None, Some(piped)) => (piped.trim_end().to_owned(), None, MessageKind::Normal),
        (None, None) => return Ok(nothing_said()),
    };
    // Other channels have other senders.
    let is_terminals = arguments.channel == "cli";
    let is_interactive = format == AnswerFormat::Text && chat::is_interactive();
    config.make_home()?;
    config.warn_of_unread();
    let mode = arguments.approval.mode(&config);
    if is_interactive
        && is_terminals
        && kind != MessageKind::Command
        && matches!(mode, ApprovalMode::Ask | ApprovalMode::Auto)
    {
        config = ChatHistory::new(&config, &folder).ask_for_trust(config, &folder)?;
    }
    if let Some(model) = &arguments.model {
        config = Config::load_for(Some(&config.home), Some(model))?;
    }
    arguments.approval.apply(&mut config);
    let foreign = (!config.trusts(&folder)).then_some(folder.as_path());
    let media = attach::items(&arguments.attach, kind, foreign)?;
    let sessions = Sessions::new(&config);
    let session = match arguments.continues {
        true => Some(sessions.latest(&folder)?.with_context(|| {
            format!("no session was held in `{}` yet: leave `-c` out to begin one", folder.display())
        })?),
        false => arguments.session_id,
    };
    let addressed = [arguments.channel.as_str(), &arguments.chat_id, &arguments.sender_id];
    let expected = session.clone().unwrap_or_else(|| format!("{}:{}", arguments.channel, arguments.chat_id));
    let message = Envelope { media, ..message(session, addressed, &content, kind) };
    let message = with_piped(with_model(message, arguments.model.as_deref()), piped, foreign.is_some());
    let denied = DeniedCalls::default();
    let (channel, channel_events) = ChatChannel::new(is_interactive, denied.clone());
    let trails = arguments.trails.as_deref().map(super::blame::to_file).transpose()?;
    let options = StartOptions { session: Some(&expected), is_short: true, trails, ..StartOptions::default() };
    let host = Host::start_with(config, workspace, Box::new(channel), options).await?;
    host.plugins().announce(&host.grants, &host.quarantined());
    let (outcome, code) = match is_interactive {
        true => chat::run_once(SingleMessage { host: &host, channel_events, message }, &denied).await?,
        false => unattended(&host, channel_events, message, format, &denied).await?,
    };
    if let (Some(turn), true) = (&outcome, is_terminals) {
        sessions.note(&turn.session_id, &folder);
    }
    // They could not be continued: the next run is another process.
    host.close().await;
    host.compile_in_background();
    denied.tell(&mut std::io::stderr(), host.config.policy.approve)?;
    // The process ends here. The kernel takes its memory back faster than every plugin's code is unmapped by itself.
    std::mem::forget(host);
    Ok(ExitCode::from(code))
}

fn nothing_said() -> ExitCode {
    eprintln!("error: there is no message: `bub-wasm run MESSAGE`, or pipe a text to `bub-wasm run -`");
    ExitCode::from(2)
}

/// The message with its own model.
fn with_model(mut message: Envelope, model: Option<&str>) -> Envelope {
    if let Some(model) = model {
        message.context.push(("model".to_owned(), serde_json::Value::from(model).to_string()));
    }
    message
}

/// The message with the piped text, which is the user's in a trusted workspace, and that of another author elsewhere, as a
/// file of the workspace is.
fn with_piped(mut message: Envelope, piped: Option<String>, is_foreign: bool) -> Envelope {
    let Some(text) = piped else { return message };
    if !is_foreign {
        message.content = format!("{}\n\n{}", message.content, text.trim_end());
        return message;
    }
    let author = Some("standard input".to_owned());
    message.passages.push(Passage { author, provenance: Provenance::Attached, text });
    message
}

/// Runs a turn without a person at the terminal. Returns the result, unless it failed, and the exit code.
async fn unattended(
    host: &Arc<Host>,
    mut channel_events: mpsc::Receiver<chat::ChannelEvent>,
    message: Envelope,
    format: AnswerFormat,
    denied: &DeniedCalls,
) -> Result<(Option<TurnResult>, u8)> {
    let cancel = on_signal()?;
    let (listener, mut heard) = mpsc::channel(MAX_EVENTS);
    let turn = run_turn(host, message, TurnOptions::new(cancel).with_listener(listener));
    tokio::pin!(turn);
    let mut output = Output::new(format);
    // The first line of output takes its place.
    let mut progress = Some(Progress::begin());
    let mut silent_since = Instant::now();
    let outcome = loop {
        tokio::select! {
            biased;
            Some(heard) = heard.recv() => {
                progress = None;
                silent_since = Instant::now();
                output.hear(heard)?;
            }
            Some(channel_event) = channel_events.recv() => {
                progress = None;
                output.channel_event(channel_event)?;
            }
            outcome = &mut turn => break outcome,
            () = tokio::time::sleep_until(silent_since + SILENCE_NOTICE) => {
                progress = None;
                output.slow(SILENCE_NOTICE)?;
                silent_since = Instant::now();
            }
        }
    };
    drop(progress);
    while let Ok(heard) = heard.try_recv() {
        output.hear(heard)?;
    }
    while let Ok(channel_event) = channel_events.try_recv() {
        output.channel_event(channel_event)?;
    }
    let code = exit_code(outcome.is_ok(), denied);
    output.end(&outcome, denied, code)?;
    Ok((outcome.ok(), code))
}

/// 0: success; 1: failure; 3: success, except for calls that were denied because no person could be asked.
pub(super) fn exit_code(went_well: bool, denied: &DeniedCalls) -> u8 {
    match (went_well, denied.is_empty()) {
        (false, _) => 1,
        (true, true) => 0,
        (true, false) => denied::EXIT_CODE,
    }
}

/// How long a turn may take to end after a signal.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);

/// Ctrl-C and SIGTERM end the turn, which saves its state and keeps its tape. A second signal ends the process.
pub(super) fn on_signal() -> Result<watch::Receiver<bool>> {
    let _ends_with_the_process = Watchdog::start(SHUTDOWN_TIMEOUT)?;
    until_signal()
}

/// Becomes true at Ctrl-C or SIGTERM.
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
