//! Draws a turn at the terminal while it runs, and handles keys.

use super::super::plugin::PendingPlugins;
use super::super::style::Style;
use super::super::{prompt, question as asked, text};
use super::chat_channel::ChannelEvent;
use super::editor::Editor;
use super::input::{ChatInput, InputOutcome};
use super::keys::{Keys, is_suspend};
use super::question;
use super::screen::Screen;
use super::suspend::suspend;
use super::view::{Footer, View};
use anyhow::Result;
use bub_runtime::channel::{ApprovalDecision, ApprovalRequest};
use bub_runtime::error::Failure;
use bub_runtime::hooks;
use bub_runtime::hooks::Admission;
use bub_runtime::host::Host;
use bub_runtime::turn::{CallScope, Steering, TurnOptions, TurnResult, run_turn};
use bub_types::text::one_line;
use bub_types::{Envelope, MessageKind};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use termimad::crossterm::event::Event;
use tokio::sync::{mpsc, oneshot, watch};

/// The interval of redrawing.
const FRAME_INTERVAL: Duration = Duration::from_millis(80);

/// Buffered events of a turn.
const MAX_EVENTS: usize = 256;

/// The state of a conversation that its turns share.
pub(super) struct Conversation {
    pub(super) host: Arc<Host>,
    pub(super) channel_events: mpsc::Receiver<ChannelEvent>,
    pub(super) logs: mpsc::UnboundedReceiver<String>,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) style: Style,
    /// Whether the model's reasoning is shown.
    pub(super) thinking: bool,
    /// Makes an envelope of a typed line.
    pub(super) envelope: Box<dyn Fn(&str) -> Envelope + Send>,
    pub(super) pending_plugins: PendingPlugins,
    /// Whether the end of a turn shows its duration and usage.
    pub(super) shows_summary: bool,
}

/// The result of a turn for the conversation.
pub(super) struct TurnEnd {
    /// Messages that need turns of their own, in order.
    pub(super) queue: VecDeque<Envelope>,
    /// The text in the input line.
    pub(super) typed: String,
    /// Whether the user quits.
    pub(super) quits: bool,
    /// The result of the turn; `None`: it failed.
    pub(super) result: Option<TurnResult>,
}

/// A turn that is drawn.
struct RunningTurn<'t> {
    conversation: &'t mut Conversation,
    /// Records messages in the history; `None`: they are not recorded.
    editor: Option<&'t mut Editor>,
    screen: Screen,
    view: View,
    input: ChatInput,
    asked: VecDeque<(Box<ApprovalRequest>, oneshot::Sender<ApprovalDecision>)>,
    /// Whether the first of the requests is on the screen.
    shown: bool,
    /// The number of that request; each has its own.
    question: u64,
    steering: Steering,
    later: VecDeque<Envelope>,
    session_id: Option<String>,
    said_error: bool,
    quits: bool,
}

impl Conversation {
    /// Asks for the grants of new plugins. Returns `false` at a signal to end the program.
    ///
    /// # Errors
    ///
    /// The terminal has gone, or the configuration cannot be written.
    pub(super) async fn ask_for_pending_plugins(&mut self) -> Result<bool> {
        if self.pending_plugins.pending(&self.host).is_empty() {
            return Ok(true);
        }
        // Earlier log lines come first.
        while let Ok(line) = self.logs.try_recv() {
            text::fold(line.trim_end(), Screen::width()).iter().for_each(|line| println!("{}", self.style.dim(line)));
        }
        let (host, mut pending_plugins) = (Arc::clone(&self.host), std::mem::take(&mut self.pending_plugins));
        // Waiting for a person blocks.
        let mut asking = tokio::task::spawn_blocking(move || {
            let decided = pending_plugins.decide(&host);
            (pending_plugins, decided)
        });
        let mut stop = self.stop.clone();
        tokio::select! {
            asked = &mut asking => {
                let (pending_plugins, decided) = asked?;
                self.pending_plugins = pending_plugins;
                decided.map(|()| true)
            }
            _ = stop.wait_for(|stop| *stop) => {
                prompt::restore();
                Ok(false)
            }
        }
    }

    /// Turns the display of reasoning on or off, and returns the notice about it.
    pub(super) fn toggle_thinking(&mut self) -> &'static str {
        self.thinking = !self.thinking;
        if self.thinking { "the model's reasoning is shown" } else { "the model's reasoning is not shown" }
    }

    /// Runs a turn and draws it. `typed` is the initial text of the input line; `editor` records messages that are typed
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// The terminal was closed. A failure of the turn itself is drawn.
    pub(super) async fn turn(
        &mut self,
        envelope: Envelope,
        typed: String,
        editor: Option<&mut Editor>,
    ) -> Result<TurnEnd> {
        let (end, cancel) = watch::channel(false);
        let (listener, mut heard) = mpsc::channel(MAX_EVENTS);
        let steering = Steering::default();
        let audience = TurnOptions::new(cancel).with_listener(listener).with_steering(steering.clone());
        let view = View::new(self.style, envelope.kind == MessageKind::Command, self.thinking);
        let session_id = envelope.session_id.clone();
        let host = Arc::clone(&self.host);
        let mut turn = tokio::spawn(async move { run_turn(&host, envelope, audience).await });
        let mut stop = self.stop.clone();
        let mut keys = Keys::new();
        let mut frames = tokio::time::interval(FRAME_INTERVAL);
        let mut running = RunningTurn {
            conversation: self,
            editor,
            screen: Screen::take()?,
            view,
            input: ChatInput::new(typed),
            asked: VecDeque::new(),
            shown: false,
            question: 0,
            steering,
            later: VecDeque::new(),
            session_id,
            said_error: false,
            quits: false,
        };
        let outcome = loop {
            tokio::select! {
                biased;
                event = keys.next() => match event {
                    Some((at, event)) => if running.event(&event, at).await { let _ = end.send(true); },
                    None => { let _ = end.send(true); break (&mut turn).await },
                },
                Some(heard) = heard.recv() => running.view.hear(heard, Screen::width()),
                Some(channel_event) = running.conversation.channel_events.recv() => running.channel_event(channel_event),
                Some(line) = running.conversation.logs.recv() => running.log(&line),
                _ = frames.tick() => if running.draw().is_err() {
                    // The terminal was closed: the turn is ended.
                    running.quits = true;
                    let _ = end.send(true);
                },
                stopped = stop.wait_for(|stop| *stop), if !running.quits => {
                    running.quits = stopped.is_ok();
                    let _ = end.send(true);
                }
                outcome = &mut turn => break outcome,
            }
        };
        for (at, event) in keys.rest() {
            running.event(&event, at).await;
        }
        while let Ok(channel_event) = running.conversation.channel_events.try_recv() {
            running.channel_event(channel_event);
        }
        running.finish(outcome.map_err(|error| Failure::Channel(format!("the turn broke: {error}"))).flatten())
    }
}

impl RunningTurn<'_> {
    /// Handles an event of the terminal that was read at that time. Returns `true` if the turn is to end.
    async fn event(&mut self, event: &Event, at: Instant) -> bool {
        if is_suspend(event) {
            // The turn stops with the process, except for programs that its tools have started.
            let _ = self.screen.release();
            suspend();
            // If the terminal was closed, the next drawing fails.
            let _ = self.screen.acquire();
            return false;
        }
        match self.input.event(event, at) {
            InputOutcome::Changed => false,
            InputOutcome::Submitted(line) => {
                if let Some(editor) = &mut self.editor {
                    editor.remember(&line);
                }
                self.said(&line).await
            }
            InputOutcome::Answered(answer) => {
                self.answered(answer);
                false
            }
            InputOutcome::Rejected => {
                self.tell(question::REJECTED, Style::dim);
                false
            }
            InputOutcome::Interrupted => {
                self.view.ends();
                true
            }
        }
    }

    /// Passes the answer to the request on the screen.
    fn answered(&mut self, answer: ApprovalDecision) {
        let has_rules = self.asked.front().is_some_and(|(question, _)| !question.rules.is_empty());
        if answer == ApprovalDecision::Rule && !has_rules {
            return self.tell(question::NO_RULE, Style::dim);
        }
        let Some((question, asks)) = self.asked.pop_front() else { return };
        self.shown = false;
        self.view.answered(&question.tool);
        let line = format!("  {}", self.conversation.style.dim(question::said(answer)));
        self.view.put([line, String::new()], Screen::width());
        // The turn, and the call with it, may have ended meanwhile.
        let _ = asks.send(answer);
    }

    /// Handles a message that was typed while the turn runs: it steers, or waits. Returns `true` if the turn is to end.
    async fn said(&mut self, line: &str) -> bool {
        if super::is_quit(line) {
            self.quits = true;
            self.view.ends();
            return true;
        }
        if line.trim() == ",thinking" {
            let said = self.conversation.toggle_thinking();
            self.view.show_reasoning(self.conversation.thinking);
            self.tell(said, Style::dim);
            return false;
        }
        if bub_runtime::turn::UndoCommand::parse(line).is_some() {
            self.tell("type that when the turn is over", Style::dim);
            return false;
        }
        let mut message = (self.conversation.envelope)(line);
        message.session_id.clone_from(&self.session_id);
        let calls = CallScope::new(&self.conversation.host);
        let load = (true, self.steering.len() + self.later.len());
        let admission = match message.kind {
            // A command is a turn of its own, and no part of a conversation.
            MessageKind::Command => Admission::FollowUp,
            _ => hooks::admit_message(&calls, &message, load).await.unwrap_or(Admission::Steer),
        };
        let unheard = match admission {
            Admission::Drop => None,
            Admission::Steer => self.steering.push(message).err().map(|said| Box::new(said.message)),
            Admission::Process | Admission::FollowUp => Some(Box::new(message)),
        };
        let said = match (&unheard, admission) {
            (Some(_), _) => "waits for the end of this turn",
            (None, Admission::Drop) => "dropped by a plugin",
            (None, _) => "added at the next step",
        };
        self.later.extend(unheard.map(|message| *message));
        let shown = text::cut(line, Screen::width().saturating_sub(said.len() + 5));
        let line = format!("› {shown} {}", self.conversation.style.dim(format!("· {said}")));
        self.view.put([line], Screen::width());
        false
    }

    fn channel_event(&mut self, channel_event: ChannelEvent) {
        match channel_event {
            ChannelEvent::ApprovalRequest(question, asks) => self.asked.push_back((question, asks)),
            ChannelEvent::Envelope(envelope) => match envelope.kind {
                MessageKind::Error => {
                    self.said_error = true;
                    self.tell(&one_line(&envelope.content), Style::red);
                }
                // It was streamed already.
                _ if envelope.content.trim() == self.view.all().trim() => {}
                MessageKind::Normal | MessageKind::Command => {
                    let lines = text::fold(&envelope.content, Screen::width());
                    self.view.put(lines, Screen::width());
                }
            },
        }
    }

    fn log(&mut self, line: &str) {
        self.tell(line.trim_end(), Style::dim);
    }

    /// Prints a notice of the program in lines that fit.
    fn tell(&mut self, text: &str, style: fn(Style, String) -> String) {
        let lines = text::fold(text, Screen::width());
        self.view.put(lines.into_iter().map(|line| style(self.conversation.style, line)), Screen::width());
    }

    fn draw(&mut self) -> io::Result<()> {
        // A request whose turn has ended has no receiver.
        if self.asked.front().is_some_and(|(_, asks)| asks.is_closed()) {
            self.asked.pop_front();
            self.shown = false;
        }
        if !self.shown
            && let Some((question, _)) = self.asked.front()
        {
            let lines =
                asked::lines(question, &self.conversation.host.workspace, Screen::width(), self.conversation.style);
            self.view.put(lines, Screen::width());
            self.shown = true;
            self.question += 1;
        }
        let question = self.asked.front().filter(|_| self.shown).map(|(question, _)| &**question);
        let waiting = self.steering.len() + self.later.len();
        let footer = Footer { question, waiting, typed: self.input.text(), is_draft: self.input.holds_draft() };
        let live = self.view.live(&footer, Screen::width());
        let settled = self.view.settled();
        self.screen.draw(&settled, &live)?;
        self.input.drawn(self.shown.then_some(self.question), Instant::now());
        Ok(())
    }

    fn finish(mut self, outcome: Result<TurnResult, Failure>) -> Result<TurnEnd> {
        let (result, failure) = match outcome {
            Ok(result) => (Some(result), None),
            Err(failure) => (None, Some(failure)),
        };
        match &failure {
            Some(Failure::Cancelled) => {
                self.tell("the turn was ended; its entries so far are on the tape", Style::dim);
            }
            Some(failure) if !self.said_error => {
                self.tell(&failure.user_message(), Style::red);
            }
            _ => {}
        }
        while let Ok(line) = self.conversation.logs.try_recv() {
            self.log(&line);
        }
        let mut lines = self.view.finish(Screen::width(), self.conversation.shows_summary);
        if self.conversation.shows_summary {
            lines.push(String::new());
        }
        self.screen.draw(&lines, &[])?;
        let mut queue: VecDeque<Envelope> = self.steering.take().into_iter().map(|said| said.message).collect();
        queue.append(&mut self.later);
        let mut typed = self.input.take();
        if matches!(failure, Some(Failure::Cancelled)) {
            // After an interrupt, waiting messages do not start turns: the user can send them again.
            let unheard: Vec<String> = queue.drain(..).map(|message| message.content).collect();
            typed =
                unheard.into_iter().chain(Some(typed).filter(|typed| !typed.is_empty())).collect::<Vec<_>>().join("\n");
        }
        Ok(TurnEnd { queue, typed, quits: self.quits, result })
    }
}
