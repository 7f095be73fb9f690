//! The choices and answers of an approval request.

use super::super::style::Style;
use super::super::text;
use bub_runtime::channel::{ApprovalDecision, ApprovalRequest};
use serde_json::Value;

/// The choices, in lines of at most `width` columns. `is_draft`: the line holds text that is not an answer.
pub(super) fn choices(question: &ApprovalRequest, is_draft: bool, width: usize, style: Style) -> Vec<String> {
    if is_draft {
        let hint = "the question waits: Enter sends this text to the agent, Ctrl-U removes it";
        return text::fold(hint, width).iter().map(|line| style.dim(line)).collect();
    }
    let mut choices = vec![
        ("y", "once".to_owned()),
        ("a", "always exactly this call in this session".to_owned()),
        ("n", "no".to_owned()),
        ("v", format!("never `{}` in this session", question.tool)),
        ("Enter", "answers; other text goes to the agent".to_owned()),
    ];
    if !question.rules.is_empty() {
        choices.insert(2, ("p", "always what these rules allow".to_owned()));
    }
    // The lines are colored in pieces, so they are fitted here.
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (key, meaning) in choices {
        let columns = text::width(key) + 1 + text::width(&meaning);
        let shown = format!("{} {meaning}", style.cyan(key));
        match lines.last_mut() {
            Some((used, line)) if *used + 3 + columns <= width => {
                *used += 3 + columns;
                line.push_str(" · ");
                line.push_str(&shown);
            }
            _ => lines.push((columns, shown)),
        }
    }
    let rules = question.rules.iter().flat_map(|rule| text::fold(&format!("rule: {rule}"), width));
    rules.map(|line| style.dim(&line)).chain(lines.into_iter().map(|(_, line)| line)).collect()
}

/// The answer in a line.
pub(super) fn answer(line: &str) -> Option<ApprovalDecision> {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(ApprovalDecision::Once),
        "a" | "always" => Some(ApprovalDecision::Always),
        "p" | "prefix" => Some(ApprovalDecision::Rule),
        "n" | "no" => Some(ApprovalDecision::No),
        "v" | "never" => Some(ApprovalDecision::Never),
        _ => None,
    }
}

/// The answer, for the scrollback.
pub(super) fn said(answer: ApprovalDecision) -> &'static str {
    match answer {
        ApprovalDecision::Once => "yes, once",
        ApprovalDecision::Always => "yes, always exactly this call in this session",
        ApprovalDecision::Rule => "yes, always what the rules allow; they are kept in config.toml",
        ApprovalDecision::No => "no",
        ApprovalDecision::Never => "no, never in this session",
    }
}

/// The notice about a line that reads like an answer and is not accepted as one.
pub(super) const REJECTED: &str =
    "not taken as an answer: type it by hand, half a second or more after the question appears";

/// The notice about the answer `p` where no rule could be kept.
pub(super) const NO_RULE: &str = "no rule can allow this call from now on: answer `y` or `a`";

/// A call on one line: its name and the argument that says most.
pub(in crate::cli) fn brief(name: &str, arguments: &str) -> String {
    let parsed = serde_json::from_str(arguments).unwrap_or(Value::Null);
    let told = match &parsed {
        Value::Object(arguments) => arguments.values().find_map(Value::as_str).unwrap_or_default(),
        _ => "",
    };
    let told = text::line(told);
    if told.is_empty() { name.to_owned() } else { format!("{name} {told}") }
}
