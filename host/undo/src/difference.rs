//! Differences between two contents of a file.

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};

/// The largest content that is compared, in bytes.
const MAX_TEXT: usize = 1 << 20;

/// A difference, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A unified difference without its header. Control characters are still there.
    Text(String),
    /// One of both is no text, or too large.
    Binary,
}

/// Compares two contents; `None` is no file.
pub fn difference(before: Option<&[u8]>, after: Option<&[u8]>) -> Difference {
    let text = |content: Option<&[u8]>| -> Option<String> {
        let content = content.unwrap_or_default();
        let is_text = content.len() <= MAX_TEXT && !content.contains(&0);
        is_text.then(|| str::from_utf8(content).ok().map(str::to_owned)).flatten()
    };
    let (Some(before), Some(after)) = (text(before), text(after)) else { return Difference::Binary };
    let input = InternedInput::new(before.as_str(), after.as_str());
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let printer = BasicLineDiffPrinter(&input.interner);
    Difference::Text(diff.unified_diff(&printer, UnifiedDiffConfig::default(), &input).to_string())
}
