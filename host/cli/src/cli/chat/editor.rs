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

/// Messages of the history.
const MAX_HISTORY: usize = 2000;

/// The name of the host command that Ctrl-Z sends.
const SUSPEND: &str = "suspend";

const MENU: &str = "commands";

/// The prompt.
const PROMPT: &str = "› ";

/// Reads messages.
pub(super) struct Editor {
    line: Reedline,
    prompt: ChatPrompt,
    /// Lines that were typed before the editor started.
    ahead: VecDeque<String>,
}

/// The result of reading a message.
pub(super) enum EditorInput {
    Line(String),
    /// Ctrl-C: an empty message.
    Nothing,
    /// Ctrl-D, or a signal to end the program.
    End,
}

impl Editor {
    /// An editor with its history in that file. `stop` aborts a read.
    ///
    /// # Errors
    ///
    /// The file cannot be read or created.
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
        // A terminal sends Ctrl-J for a line feed, also in a paste that it does not mark.
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

    /// Waits for a message. `draft` is the initial text of the line.
    ///
    /// # Errors
    ///
    /// The terminal has gone.
    pub(super) fn read(&mut self, draft: &str) -> Result<EditorInput> {
        if let Some(line) = self.ahead.pop_front() {
            println!("{PROMPT}{}", text::line(&line));
            self.remember(&line);
            return Ok(EditorInput::Line(line));
        }
        if !draft.is_empty() {
            self.line.run_edit_commands(&[EditCommand::InsertString(draft.to_owned())]);
        }
        let typed = loop {
            match self.line.read_line(&self.prompt)? {
                // The text of the line is kept.
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

    /// Adds a message to the history that was not typed in the editor.
    pub(super) fn remember(&mut self, line: &str) {
        if !line.trim().is_empty() && !line.starts_with(' ') {
            let item = HistoryItem::from_command_line(line);
            if let Err(error) = self.line.history_mut().save(item) {
                tracing::debug!("a line is not remembered: {error}");
            }
            self.keep();
        }
    }

    /// Writes the history to its file now: the terminal, and with it the process, may end at any moment.
    fn keep(&mut self) {
        if let Err(error) = self.line.sync_history() {
            tracing::debug!("the history cannot be written: {error}");
        }
    }
}

/// Creates the file and its directory, readable by the user alone.
pub(super) fn private(file: &Path) -> std::io::Result<()> {
    if let Some(dir) = file.parent() {
        make_private_dir(dir)?;
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700))?;
    }
    fs::OpenOptions::new().append(true).create(true).mode(0o600).open(file).map(drop)
}

/// A message continues after a backslash at the end of a line, and within an open code block.
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

/// The prompt of the line editor.
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
