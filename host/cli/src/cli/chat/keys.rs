//! Keys that are typed while a turn runs and no line editor reads.

use super::super::watchdog::Interrupts;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use termimad::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc;

/// How long the reader waits for a key before it checks whether it has to stop.
const POLL_TIMEOUT: Duration = Duration::from_millis(40);

/// How long the reader may take to stop.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);

/// The longest line that is typed while a turn runs, in bytes.
const MAX_TYPED: usize = 16 << 10;

/// Reads keys until it is dropped.
pub(super) struct Keys {
    read: mpsc::UnboundedReceiver<(Instant, Event)>,
    wanted: Arc<AtomicBool>,
    reader: JoinHandle<()>,
    interrupts: Interrupts,
}

impl Keys {
    pub(super) fn new() -> Self {
        let (found, read) = mpsc::unbounded_channel();
        let wanted = Arc::new(AtomicBool::new(true));
        let still = Arc::clone(&wanted);
        let interrupts = Interrupts::default();
        let pressed = interrupts.clone();
        let reader = std::thread::spawn(move || {
            while still.load(Ordering::Relaxed) {
                let sent = match event::poll(POLL_TIMEOUT) {
                    Ok(false) => continue,
                    Ok(true) => event::read().map(|event| {
                        if is_interrupt(&event) {
                            pressed.press();
                        }
                        found.send((Instant::now(), event))
                    }),
                    Err(error) => Err(error),
                };
                if !matches!(sent, Ok(Ok(()))) {
                    return;
                }
            }
        });
        Self { read, wanted, reader, interrupts }
    }

    /// The next key or resize event, and when it was read: it may be handled later.
    pub(super) async fn next(&mut self) -> Option<(Instant, Event)> {
        let read = self.read.recv().await;
        if read.as_ref().is_some_and(|(_, event)| is_interrupt(event)) {
            self.interrupts.heard();
        }
        read
    }
}

/// Whether it is Ctrl-Z.
pub(super) fn is_suspend(event: &Event) -> bool {
    let is_pressed = |key: &KeyEvent| key.kind == KeyEventKind::Press;
    matches!(event, Event::Key(key) if key.code == KeyCode::Char('z') && key.modifiers == KeyModifiers::CONTROL && is_pressed(key))
}

fn is_interrupt(event: &Event) -> bool {
    matches!(event, Event::Key(key) if key.code == KeyCode::Char('c') && key.modifiers == KeyModifiers::CONTROL)
}

impl Keys {
    /// Stops reading and returns the events that were read and not handled, so that text typed at the end of a turn is not
    /// lost.
    pub(super) fn rest(mut self) -> Vec<(Instant, Event)> {
        self.stop();
        std::iter::from_fn(|| self.read.try_recv().ok()).collect()
    }

    fn stop(&self) {
        self.wanted.store(false, Ordering::Relaxed);
        // The line editor reads from the same terminal, so only one of them may. If the terminal was closed, neither reads.
        let began = Instant::now();
        while !self.reader.is_finished() && began.elapsed() < STOP_TIMEOUT {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The action of a key while a turn runs.
pub(super) enum KeyAction {
    /// End the turn.
    Interrupt,
    /// Submit the line.
    Submit(String),
    /// The line may have changed.
    Changed,
}

/// An input line without an editor: the keys that add, remove and submit.
#[derive(Default)]
pub(super) struct LineBuffer(String);

impl From<String> for LineBuffer {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl LineBuffer {
    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Takes the text.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.0)
    }

    /// Appends pasted text.
    pub(super) fn paste(&mut self, text: &str) {
        if self.0.len() + text.len() <= MAX_TYPED {
            self.0.push_str(text);
        }
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> KeyAction {
        if key.kind == KeyEventKind::Release {
            return KeyAction::Changed;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return KeyAction::Interrupt,
            KeyCode::Char('u') if control => self.0.clear(),
            KeyCode::Char('w') if control => {
                let kept = self.0.trim_end().rfind(' ').map_or(0, |at| at + 1);
                self.0.truncate(kept);
            }
            KeyCode::Char('j') if control && self.0.len() < MAX_TYPED => self.0.push('\n'),
            KeyCode::Char(_) if control => {}
            KeyCode::Char(character) if self.0.len() < MAX_TYPED => self.0.push(character),
            KeyCode::Backspace => drop(self.0.pop()),
            KeyCode::Esc => self.0.clear(),
            KeyCode::Enter if key.modifiers.contains(KeyModifiers::ALT) => self.0.push('\n'),
            KeyCode::Enter if !self.0.trim().is_empty() => return KeyAction::Submit(self.take()),
            _ => {}
        }
        KeyAction::Changed
    }
}
