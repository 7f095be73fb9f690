//! Output formats of answers.

/// The output format of `run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerFormat {
    /// The answer alone.
    #[default]
    Text,
    /// As Bub prints: a line with channel and chat, then the answer.
    Bub,
    /// A JSON object.
    Json,
}

impl AnswerFormat {
    /// The names of all formats.
    pub const NAMES: [&'static str; 3] = ["text", "bub", "json"];

    /// The format with that name.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "text" => Self::Text,
            "bub" => Self::Bub,
            "json" => Self::Json,
            _ => return None,
        })
    }
}
