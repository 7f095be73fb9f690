//! How answers are printed.

/// What `run` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerFormat {
    /// The answer alone.
    #[default]
    Text,
    /// As Bub prints it: channel and chat on a line of their own, then the answer.
    Bub,
    /// A JSON object.
    Json,
}

impl AnswerFormat {
    /// All of them, by the names that users write.
    pub const NAMES: [&'static str; 3] = ["text", "bub", "json"];

    /// The format of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "text" => Self::Text,
            "bub" => Self::Bub,
            "json" => Self::Json,
            _ => return None,
        })
    }
}
