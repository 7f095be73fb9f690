//! `chat`: a conversation at the terminal, or line by line where there is none.

mod command_output;
mod complete;
mod desk;
mod difference;
mod editor;
mod input;
mod keys;
mod markdown;
mod meant;
mod plain;
mod question;
mod resume;
mod screen;
mod suspend;
mod talk;
mod view;

pub use input::{ChatInput, InputOutcome};

use super::approval::Approval;
use super::denied::DeniedCalls;
use super::paint::Paint;
use super::plugin::{Arrivals, Consent};
use super::sessions::Sessions;
use super::terminal_mode::KeepReturns;
use super::watchdog::Watchdog;
use super::{log, text};
use crate::cli::progress;
use anyhow::Result;
use bub_config::Config;
use bub_runtime::channel::{kind_of, message};
use bub_runtime::host::Host;
use bub_runtime::turn::TurnResult;
use bub_types::{Envelope, MessageKind};
use complete::OWN;
pub(super) use desk::{Desk, Matter};
use editor::{Editor, Typed};
pub(super) use question::brief;
pub(super) use resume::Last;

use resume::Choice;
use screen::Screen;
use std::collections::VecDeque;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use talk::Talk;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

/// The session of a chat that is told no other.
const SESSION: &str = "cli_session";

/// How long the line editor may take to give the terminal back.
const PARTING: Duration = Duration::from_secs(1);

/// How long the turn that runs may take to end once the program is told to.
const ENDING: Duration = Duration::from_secs(20);

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
    consent: Consent,
    #[command(flatten)]
    approval: Approval,
}

pub(super) async fn run(arguments: Arguments, mut config: Config, workspace: &Path) -> Result<ExitCode> {
    let Arguments { chat_id, session, resume, consent, approval } = arguments;
    let sees = sees();
    let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let last = Last::of(&config, &workspace);
    let _returns = sees.then(KeepReturns::new);
    let sessions = Sessions::new(&config);
    let mut arrivals = Arrivals::new(consent, sees)?;
    if sees {
        config = last.ask_for_trust(config, &workspace)?;
    }
    config.make_home()?;
    config.warn_of_unread();
    approval.apply(&mut config);
    let denied = DeniedCalls::default();
    let (desk, matters) = Desk::new(sees, denied.clone());
    let host = progress::start(config, &workspace, Box::new(desk)).await?;
    arrivals.decide(&host)?;
    host.plugins().announce(&host);
    let resumed = match &resume {
        Some(wanted) => match resume::choose(&host, wanted.as_deref(), sees).await? {
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
    resume::tell_holder(&host, &session);
    let _watch = host.watch();
    sessions.note(&session, &workspace);
    let envelope = maker(&host, chat_id, session.clone());
    let stop = on_stop()?;
    let outcome = if sees {
        let paint = Paint::of_stdout();
        hello(&host, &session, paint)?;
        if resumed.is_some() {
            resume::show(&host, &session, paint).await?;
        }
        let (taker, logs) = mpsc::unbounded_channel();
        log::divert(taker);
        let talk = Talk {
            host: Arc::clone(&host),
            matters,
            logs,
            stop,
            paint,
            thinking: false,
            envelope,
            arrivals,
            sums_up: true,
        };
        converse(talk, &last.history()).await
    } else {
        plain::run(&host, matters, &*envelope, stop, arrivals, &denied).await
    };
    sessions.note(&session, &workspace);
    host.close().await;
    outcome
}

/// Whether a person sits there who sees what is drawn, and answers.
pub(super) fn sees() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !is_dumb
}

/// One message, said by a person who looks on.
pub(super) struct Once<'h> {
    pub(super) host: &'h Arc<Host>,
    pub(super) matters: mpsc::Receiver<Matter>,
    pub(super) message: Envelope,
}

/// Runs a turn as a chat does, and others for what is said meanwhile and has to wait. What the last of them came to, unless
/// it failed, and the exit code.
///
/// # Errors
///
/// The terminal has gone.
pub(super) async fn once(once: Once<'_>, denied: &DeniedCalls) -> Result<(Option<TurnResult>, u8)> {
    let Once { host, matters, message } = once;
    let stop = on_stop()?;
    let (taker, logs) = mpsc::unbounded_channel();
    log::divert(taker);
    let (commands, like) = (host.config.commands(&message.channel), message.clone());
    // What is said while it runs is said by the same person in the same place.
    let envelope = Box::new(move |content: &str| Envelope {
        content: content.to_owned(),
        kind: kind_of(commands, content),
        passages: Vec::new(),
        media: Vec::new(),
        ..like.clone()
    });
    let (host, paint, arrivals) = (Arc::clone(host), Paint::of_stdout(), Arrivals::default());
    let mut talk = Talk { host, matters, logs, stop, paint, thinking: false, envelope, arrivals, sums_up: false };
    let mut queue = VecDeque::from([message]);
    let mut result = None;
    while let Some(message) = queue.pop_front() {
        let left = talk.turn(message, String::new(), None).await?;
        result = left.result;
        queue.extend(left.queue);
        if left.leaves || result.is_none() {
            break;
        }
    }
    log::restore();
    let code = super::run::exit_code(result.is_some(), denied);
    Ok((result, code))
}

/// Turn after turn, until the person leaves.
async fn converse(mut talk: Talk, history: &Path) -> Result<ExitCode> {
    let stopped = Arc::new(AtomicBool::new(false));
    let mut stop = talk.stop.clone();
    let tell = Arc::clone(&stopped);
    tokio::spawn(async move {
        if stop.wait_for(|stop| *stop).await.is_ok() {
            tell.store(true, Ordering::Relaxed);
        }
    });
    let mut editor = Editor::new(&talk.host, history, talk.paint, stopped)?;
    let mut queue: VecDeque<Envelope> = VecDeque::new();
    let mut begun = String::new();
    // What was said in another program's words, and not sent yet.
    let mut hinted: Option<String> = None;
    loop {
        let envelope = match queue.pop_front() {
            Some(envelope) => envelope,
            None => {
                // A person in the middle of a sentence is asked about new plugins behind it.
                if begun.is_empty() && !talk.greet().await? {
                    return Ok(ExitCode::SUCCESS);
                }
                let typing = std::mem::take(&mut begun);
                // The editor waits for keys, which nothing else must wait for.
                let mut reading = tokio::task::spawn_blocking(move || {
                    let typed = editor.read(&typing);
                    (editor, typed)
                });
                let mut stop = talk.stop.clone();
                let (back, typed) = tokio::select! {
                    read = &mut reading => read?,
                    _ = stop.wait_for(|stop| *stop) => {
                        // It gives the terminal back, unless the terminal has gone: then it waits for keys for ever.
                        let _ = tokio::time::timeout(PARTING, reading).await;
                        return Ok(ExitCode::SUCCESS);
                    }
                };
                editor = back;
                match typed? {
                    Typed::End => return Ok(ExitCode::SUCCESS),
                    Typed::Nothing => {
                        println!("{}", talk.paint.dim("Ctrl-D or `,quit` leaves"));
                        continue;
                    }
                    Typed::Line(line) if line.trim().is_empty() => continue,
                    Typed::Line(line) if leaves(&line) => return Ok(ExitCode::SUCCESS),
                    Typed::Line(line) if line.trim() == ",thinking" => {
                        println!("{}", talk.paint.dim(talk.toggle_thinking()));
                        continue;
                    }
                    Typed::Line(line)
                        if hinted.as_deref() != Some(line.trim()) && meant::hint(&talk.host, &line).is_some() =>
                    {
                        let hint = meant::hint(&talk.host, &line).unwrap_or_default();
                        println!("{}", talk.paint.dim(text::line(&hint)));
                        hinted = Some(line.trim().to_owned());
                        continue;
                    }
                    Typed::Line(line) => {
                        hinted = None;
                        if talk.arrivals.are_decided() {
                            talk.arrivals.decide(&talk.host)?;
                        }
                        (talk.envelope)(&line)
                    }
                }
            }
        };
        let left = talk.turn(envelope, std::mem::take(&mut begun), Some(&mut editor)).await?;
        queue.extend(left.queue);
        begun = left.typed;
        if left.leaves {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// Whether somebody says that they leave.
fn leaves(line: &str) -> bool {
    matches!(line.trim(), ",quit" | ",exit")
}

fn hello(host: &Host, session: &str, paint: Paint) -> Result<()> {
    let model = &host.config.model.model;
    let about = format!("{} · session {} · model {model}", host.workspace.display(), text::line(session));
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", paint.bold("bub-wasm"))?;
    let hint = "`,help` lists commands, Tab completes them, Ctrl-J begins a new line, Ctrl-D leaves";
    for line in [about.as_str(), hint].iter().flat_map(|text| text::fold(text, Screen::width())) {
        writeln!(out, "{}", paint.dim(line))?;
    }
    writeln!(out)?;
    Ok(())
}

/// Makes an envelope of what is typed.
fn maker(host: &Arc<Host>, chat_id: String, session: String) -> Box<dyn Fn(&str) -> Envelope + Send> {
    let commands = host.config.commands("cli");
    Box::new(move |content| {
        // What the chat itself understands is no message.
        let is_own = OWN.iter().any(|(name, _)| content.trim().strip_prefix(',') == Some(*name));
        let kind = if is_own { MessageKind::Command } else { kind_of(commands, content) };
        message(Some(session.clone()), ["cli", &chat_id, "human"], content, kind)
    })
}

/// Becomes true when somebody ends the program politely.
fn on_stop() -> Result<watch::Receiver<bool>> {
    let _ends_with_the_process = Watchdog::on_terminate(ENDING)?;
    let (sender, receiver) = watch::channel(false);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        let _ = sender.send(true);
        // Nobody may be there to see it: held so that it does not count as an end of another kind.
        std::future::pending::<()>().await;
    });
    Ok(receiver)
}
