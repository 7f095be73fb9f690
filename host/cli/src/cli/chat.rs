//! `chat`: a conversation in the terminal, or line by line without one.

mod chat_channel;
mod complete;
mod editor;
mod foreign_commands;
mod input;
mod keys;
mod plain;
mod question;
mod resume;
mod screen;
mod suspend;
mod turn_view;
mod undoing;
mod view;

pub use input::{ChatInput, InputOutcome};

use super::approval::Approval;
use super::denied::DeniedCalls;
use super::plugin::{GrantOptions, PendingPlugins};
use super::sessions::Sessions;
use super::style::Style;
use super::terminal_mode::KeepReturns;
use super::watchdog::Watchdog;
use super::{log, text};
use anyhow::Result;
use bub_config::Config;
use bub_runtime::channel::{kind_of, message};
use bub_runtime::host::Host;
use bub_runtime::turn::{TurnResult, UndoCommand};
use bub_types::{Envelope, MessageKind};
pub(super) use chat_channel::{ChannelEvent, ChatChannel};
use complete::CHAT_COMMANDS;
use editor::{Editor, EditorInput};
pub(super) use question::brief;
pub(super) use resume::ChatHistory;

use resume::Choice;
use screen::Screen;
use std::collections::VecDeque;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use turn_view::Conversation;

/// The default session of a chat.
const SESSION: &str = "cli_session";

/// How long the line editor may take to restore the terminal.
const EDITOR_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the running turn may take to end after a signal.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The chat within the channel
    #[arg(long, default_value = "local")]
    chat_id: String,
    /// Session to continue or start; the same as in `run --session` [default: cli_session]
    #[arg(long, visible_alias = "session-id", value_name = "ID")]
    session: Option<String>,
    /// Continue a session of this workspace, by id or name, and show how it ended; without one, choose from a list
    #[arg(long, value_name = "SESSION", num_args = 0..=1, conflicts_with = "session")]
    resume: Option<Option<String>>,
    #[command(flatten)]
    grant_options: GrantOptions,
    #[command(flatten)]
    approval: Approval,
}

pub(super) async fn run(arguments: Arguments, mut config: Config, workspace: &Path) -> Result<ExitCode> {
    let Arguments { chat_id, session, resume, grant_options, approval } = arguments;
    let is_interactive = is_interactive();
    let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let history = ChatHistory::new(&config, &workspace);
    let _returns = is_interactive.then(KeepReturns::new);
    let sessions = Sessions::new(&config);
    let mut pending_plugins = PendingPlugins::new(&grant_options, is_interactive)?;
    if is_interactive {
        config = history.ask_for_trust(config, &workspace)?;
    }
    config.make_home()?;
    config.warn_of_unread();
    approval.apply(&mut config);
    let denied = DeniedCalls::default();
    let (channel, channel_events) = ChatChannel::new(is_interactive, denied.clone());
    let host = Host::start(config, &workspace, Box::new(channel)).await?;
    pending_plugins.decide(&host)?;
    host.plugins().announce(&host.grants, &host.quarantined());
    let resumed = match &resume {
        Some(wanted) => match resume::choose(&host, wanted.as_deref(), is_interactive).await? {
            Choice::Session(session) => Some(session),
            Choice::New => None,
            Choice::Leave => {
                host.close().await;
                return Ok(ExitCode::SUCCESS);
            }
        },
        None => None,
    };
    let session = resumed.clone().or(session).unwrap_or_else(|| SESSION.to_owned());
    resume::warn_of_holder(&host, &session).await;
    let _watch = host.watch();
    let preparing = host.clone();
    let preparing = tokio::spawn(async move { preparing.prepare_plugins().await });
    sessions.note(&session, &workspace);
    let envelope = envelope_factory(&host, chat_id, session.clone());
    let stop = stop_signal()?;
    let outcome = if is_interactive {
        let style = Style::for_stdout();
        print_banner(&host, &session, style)?;
        if resumed.is_some() {
            resume::show(&host, &session, style).await?;
        }
        let (taker, logs) = mpsc::unbounded_channel();
        log::redirect(taker);
        let conversation = Conversation {
            host: Arc::clone(&host),
            channel_events,
            logs,
            stop,
            style,
            thinking: false,
            envelope,
            pending_plugins,
            shows_summary: true,
        };
        converse(conversation, &history.history()).await
    } else {
        plain::run(&host, channel_events, &*envelope, stop, pending_plugins, &denied).await
    };
    preparing.abort();
    sessions.note(&session, &workspace);
    host.close().await;
    outcome
}

/// Whether stdin and stdout are a terminal that can be drawn on.
pub(super) fn is_interactive() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !is_dumb
}

/// A single message of a person at the terminal.
pub(super) struct SingleMessage<'h> {
    pub(super) host: &'h Arc<Host>,
    pub(super) channel_events: mpsc::Receiver<ChannelEvent>,
    pub(super) message: Envelope,
}

/// Runs a turn as in a chat, and further turns for messages that were typed meanwhile. Returns the result of the last turn,
/// unless it failed, and the exit code.
///
/// # Errors
///
/// The terminal has gone.
pub(super) async fn run_once(message: SingleMessage<'_>, denied: &DeniedCalls) -> Result<(Option<TurnResult>, u8)> {
    let SingleMessage { host, channel_events, message } = message;
    let stop = stop_signal()?;
    let (taker, logs) = mpsc::unbounded_channel();
    log::redirect(taker);
    let (commands, like) = (host.config.commands(&message.channel), message.clone());
    // Messages that are typed meanwhile have the same sender and chat.
    let envelope = Box::new(move |content: &str| Envelope {
        content: content.to_owned(),
        kind: kind_of(commands, content),
        passages: Vec::new(),
        media: Vec::new(),
        ..like.clone()
    });
    let (host, style, pending_plugins) = (Arc::clone(host), Style::for_stdout(), PendingPlugins::default());
    let mut conversation = Conversation {
        host,
        channel_events,
        logs,
        stop,
        style,
        thinking: false,
        envelope,
        pending_plugins,
        shows_summary: false,
    };
    let mut queue = VecDeque::from([message]);
    let mut result = None;
    while let Some(message) = queue.pop_front() {
        let turn_end = conversation.turn(message, String::new(), None).await?;
        result = turn_end.result;
        queue.extend(turn_end.queue);
        if turn_end.quits || result.is_none() {
            break;
        }
    }
    log::restore();
    let code = super::run::exit_code(result.is_some(), denied);
    Ok((result, code))
}

/// Runs turn after turn until the user quits.
async fn converse(mut conversation: Conversation, history: &Path) -> Result<ExitCode> {
    let stopped = Arc::new(AtomicBool::new(false));
    let mut stop = conversation.stop.clone();
    let tell = Arc::clone(&stopped);
    tokio::spawn(async move {
        if stop.wait_for(|stop| *stop).await.is_ok() {
            tell.store(true, Ordering::Relaxed);
        }
    });
    let mut editor = Editor::new(&conversation.host, history, conversation.style, stopped)?;
    let mut queue: VecDeque<Envelope> = VecDeque::new();
    let mut draft = String::new();
    // The line that a hint was shown for, and that is sent when it is typed again.
    let mut hint_shown_for: Option<String> = None;
    loop {
        let envelope = match queue.pop_front() {
            Some(envelope) => envelope,
            None => {
                // New plugins are asked about only when the input line is empty.
                if draft.is_empty() && !conversation.ask_for_pending_plugins().await? {
                    return Ok(ExitCode::SUCCESS);
                }
                let typing = std::mem::take(&mut draft);
                // The editor blocks on keys.
                let mut reading = tokio::task::spawn_blocking(move || {
                    let typed = editor.read(&typing);
                    (editor, typed)
                });
                let mut stop = conversation.stop.clone();
                let (back, typed) = tokio::select! {
                    read = &mut reading => read?,
                    _ = stop.wait_for(|stop| *stop) => {
                        // The editor restores the terminal. If the terminal was closed, it blocks for ever.
                        let _ = tokio::time::timeout(EDITOR_TIMEOUT, reading).await;
                        return Ok(ExitCode::SUCCESS);
                    }
                };
                editor = back;
                match typed? {
                    EditorInput::End => return Ok(ExitCode::SUCCESS),
                    EditorInput::Nothing => {
                        println!("{}", conversation.style.dim("Ctrl-D or `,quit` leaves"));
                        continue;
                    }
                    EditorInput::Line(line) if line.trim().is_empty() => continue,
                    EditorInput::Line(line) if is_quit(&line) => return Ok(ExitCode::SUCCESS),
                    EditorInput::Line(line) if line.trim() == ",thinking" => {
                        println!("{}", conversation.style.dim(conversation.toggle_thinking()));
                        continue;
                    }
                    EditorInput::Line(line) if UndoCommand::parse(&line).is_some() => {
                        undoing::run(&conversation.host, &line, conversation.style).await?;
                        continue;
                    }
                    EditorInput::Line(line)
                        if hint_shown_for.as_deref() != Some(line.trim())
                            && foreign_commands::hint(&conversation.host, &line).is_some() =>
                    {
                        let hint = foreign_commands::hint(&conversation.host, &line).unwrap_or_default();
                        println!("{}", conversation.style.dim(text::line(&hint)));
                        hint_shown_for = Some(line.trim().to_owned());
                        continue;
                    }
                    EditorInput::Line(line) => {
                        hint_shown_for = None;
                        if conversation.pending_plugins.is_unattended() {
                            conversation.pending_plugins.decide(&conversation.host)?;
                        }
                        (conversation.envelope)(&line)
                    }
                }
            }
        };
        let turn_end = conversation.turn(envelope, std::mem::take(&mut draft), Some(&mut editor)).await?;
        queue.extend(turn_end.queue);
        draft = turn_end.typed;
        if turn_end.quits {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// Whether the line is a command to quit.
fn is_quit(line: &str) -> bool {
    matches!(line.trim(), ",quit" | ",exit")
}

fn print_banner(host: &Host, session: &str, style: Style) -> Result<()> {
    let model = &host.config.model.model;
    let about = format!("{} · session {} · model {model}", host.workspace.display(), text::line(session));
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", style.bold("bub-wasm"))?;
    let hint = "`,help` lists commands, Tab completes them, Ctrl-J begins a new line, Ctrl-D leaves";
    for line in [about.as_str(), hint].iter().flat_map(|text| text::fold(text, Screen::width())) {
        writeln!(out, "{}", style.dim(line))?;
    }
    writeln!(out)?;
    Ok(())
}

/// Returns a function that makes an envelope of a typed line.
fn envelope_factory(host: &Arc<Host>, chat_id: String, session: String) -> Box<dyn Fn(&str) -> Envelope + Send> {
    let commands = host.config.commands("cli");
    Box::new(move |content| {
        // Commands of the chat itself are not messages.
        let is_own = CHAT_COMMANDS.iter().any(|(name, _)| content.trim().strip_prefix(',') == Some(*name))
            || UndoCommand::parse(content).is_some();
        let kind = if is_own { MessageKind::Command } else { kind_of(commands, content) };
        message(Some(session.clone()), ["cli", &chat_id, "human"], content, kind)
    })
}

/// Becomes true at SIGTERM or SIGHUP.
fn stop_signal() -> Result<watch::Receiver<bool>> {
    let _ends_with_the_process = Watchdog::on_terminate(SHUTDOWN_TIMEOUT)?;
    let (sender, receiver) = watch::channel(false);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        let _ = sender.send(true);
        // The sender is kept alive: a closed channel would look like a failure.
        std::future::pending::<()>().await;
    });
    Ok(receiver)
}
