//! The line editor: history, completion, and messages of more than one line.

use super::super::style::Style;
use super::super::terminal_mode::typed_ahead;
use super::super::text;
use super::complete::Commands;
use super::suspend::suspend;
use anyhow::{Context, Result};
use bub_runtime::host::Host;
use bub_system::files::make_private_dir;
use reedline::{
    ColumnarMenu, EditCommand, Emacs, FileBackedHistory, HistoryItem, KeyCode, KeyModifiers, MenuBuilder, Prompt,
    PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus, Reedline, ReedlineEvent, ReedlineMenu, Signal,
    ValidationResult, Validator, default_emacs_keybindings,
};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Messages that are remembered.
const MAX_HISTORY: usize = 2000;

/// The line editor's word for what Ctrl-Z does.
const SUSPEND: &str = "suspend";

const MENU: &str = "commands";

/// Stands in front of a message.
const PROMPT: &str = "› ";

/// Reads what a person says.
pub(super) struct Editor {
    line: Reedline,
    prompt: ChatPrompt,
    /// Lines that were typed before the terminal was taken over.
    ahead: VecDeque<String>,
}

/// What was typed.
pub(super) enum EditorInput {
    Line(String),
    /// Ctrl-C: nothing.
    Nothing,
    /// Ctrl-D, or somebody wants the program to end.
    End,
}

impl Editor {
    /// An editor that remembers in that file. `stop` takes it away from whoever types.
    ///
    /// # Errors
    ///
    /// The file cannot be read or made.
    pub(super) fn new(host: &Arc<Host>, history: &Path, style: Style, stop: Arc<AtomicBool>) -> Result<Self> {
        let cannot = || format!("the history `{}` cannot be kept", history.display());
        private(history).with_context(cannot)?;
        let remembered = FileBackedHistory::with_file(MAX_HISTORY, history.to_owned()).with_context(cannot)?;
        let mut keys = default_emacs_keybindings();
        let complete = vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext];
        keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::UntilFound(complete));
        let newline = || ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
        keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, newline());
        keys.add_binding(KeyModifiers::SHIFT, KeyCode::Enter, newline());
        // What a terminal sends for a line feed, also by a paste that it does not mark.
        keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('j'), newline());
        keys.add_binding(
            KeyModifiers::CONTROL,
            KeyCode::Char('z'),
            ReedlineEvent::ExecuteHostCommand(SUSPEND.to_owned()),
        );
        let menu = ColumnarMenu::default().with_name(MENU).with_marker(PROMPT);
        let line = Reedline::create()
            .with_history(Box::new(remembered))
            .with_history_exclusion_prefix(Some(" ".to_owned()))
            .with_completer(Box::new(Commands::new(host)))
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_edit_mode(Box::new(Emacs::new(keys)))
            .with_validator(Box::new(MultilineValidator))
            .with_ansi_colors(style.has_colors())
            .use_bracketed_paste(true)
            .with_break_signal(stop);
        Ok(Self { line, prompt: ChatPrompt, ahead: typed_ahead().into() })
    }

    /// Waits for a message. `begun`: what stands there already.
    ///
    /// # Errors
    ///
    /// The terminal has gone.
    pub(super) fn read(&mut self, begun: &str) -> Result<EditorInput> {
        if let Some(line) = self.ahead.pop_front() {
            println!("{PROMPT}{}", text::line(&line));
            self.remember(&line);
            return Ok(EditorInput::Line(line));
        }
        if !begun.is_empty() {
            self.line.run_edit_commands(&[EditCommand::InsertString(begun.to_owned())]);
        }
        let typed = loop {
            match self.line.read_line(&self.prompt)? {
                // What stands in the line is still there afterwards.
                Signal::HostCommand(command) if command == SUSPEND => {
                    println!();
                    suspend();
                }
                Signal::Success(line) => break EditorInput::Line(line.replace("\\\n", "\n")),
                Signal::CtrlC => break EditorInput::Nothing,
                _ => break EditorInput::End,
            }
        };
        if matches!(typed, EditorInput::Line(_)) {
            self.keep();
        }
        Ok(typed)
    }

    /// Remembers a message that was not typed here.
    pub(super) fn remember(&mut self, line: &str) {
        if !line.trim().is_empty() && !line.starts_with(' ') {
            let item = HistoryItem::from_command_line(line);
            if let Err(error) = self.line.history_mut().save(item) {
                tracing::debug!("a line is not remembered: {error}");
            }
            self.keep();
        }
    }

    /// Writes what is remembered to its file: the terminal may go at any moment, and with it the process.
    fn keep(&mut self) {
        if let Err(error) = self.line.sync_history() {
            tracing::debug!("the history cannot be written: {error}");
        }
    }
}

/// The file, and its directory, for nobody else: what a person says to an agent is theirs.
pub(super) fn private(file: &Path) -> std::io::Result<()> {
    if let Some(dir) = file.parent() {
        make_private_dir(dir)?;
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700))?;
    }
    fs::OpenOptions::new().append(true).create(true).mode(0o600).open(file).map(drop)
}

/// A message goes on behind a backslash at the end of a line, and in a block of code that is not closed.
struct MultilineValidator;

impl Validator for MultilineValidator {
    fn validate(&self, line: &str) -> ValidationResult {
        let fences = line.lines().filter(|line| line.trim_start().starts_with("```")).count();
        match line.ends_with('\\') || fences % 2 == 1 {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Complete,
        }
    }
}

/// What stands in front of a message.
struct ChatPrompt;

impl Prompt for ChatPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed(PROMPT)
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("  ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let failing = matches!(search.status, PromptHistorySearchStatus::Failing);
        Cow::Owned(format!("({}found: {}) ", if failing { "not " } else { "" }, search.term))
    }
}
