//! Colors on terminals.

use std::fmt::Display;
use std::io::IsTerminal;

/// Whether stdout gets colors: on a terminal unless they are disabled, or by `CLICOLOR_FORCE`.
#[derive(Clone, Copy)]
pub struct Style(bool);

impl Style {
    /// The style of stdout, as it is now.
    pub fn for_stdout() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let takes = std::io::stdout().is_terminal() && !is_dumb || is_set("CLICOLOR_FORCE");
        // Any value counts, `0` too.
        let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self(takes && !is_unwanted)
    }

    /// The text, bold.
    pub fn bold(self, text: impl Display) -> String {
        self.with("1", text)
    }

    /// The text, dim.
    pub fn dim(self, text: impl Display) -> String {
        self.with("2", text)
    }

    /// The text in red.
    pub fn red(self, text: impl Display) -> String {
        self.with("31", text)
    }

    /// The text in green.
    pub fn green(self, text: impl Display) -> String {
        self.with("32", text)
    }

    /// The text in cyan.
    pub fn cyan(self, text: impl Display) -> String {
        self.with("1;36", text)
    }

    /// Whether colors are enabled.
    pub fn has_colors(self) -> bool {
        self.0
    }

    fn with(self, code: &str, text: impl Display) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }
}
