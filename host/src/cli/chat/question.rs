//! A question about a tool call, as a person reads it: what will be run or changed, whole.

use super::super::paint::Paint;
use super::super::text;
use crate::channel::{Answer, Question};
use serde_json::Value;

/// Lines of a call that are shown; of one that has more it is said how many there are.
const MAX_LINES: usize = 300;

/// The question in lines of at most that many columns.
pub(super) fn lines(question: &Question, width: usize, paint: Paint) -> Vec<String> {
    let asks = format!("`{}` wants to {}: {}", question.tool, question.effect, question.why);
    let mut lines: Vec<String> = text::fold(&asks, width).iter().map(|line| paint.bold(line)).collect();
    let mut call = call(&question.arguments, width.saturating_sub(2), paint);
    let more = call.len().saturating_sub(MAX_LINES);
    call.truncate(MAX_LINES);
    lines.extend(call.into_iter().map(|line| format!("  {line}")));
    if more > 0 {
        lines.push(format!("  … and {more} more lines, which are not shown: say no if you did not expect them"));
    }
    lines
}

/// What may be answered, in lines of at most that many columns. `is_draft`: the line holds text that is no answer.
pub(super) fn choices(question: &Question, is_draft: bool, width: usize, paint: Paint) -> Vec<String> {
    if is_draft {
        let hint = "the question waits: Enter sends this text to the agent, Ctrl-U removes it";
        return text::fold(hint, width).iter().map(|line| paint.dim(line)).collect();
    }
    let choices = [
        ("y", "once".to_owned()),
        ("a", "always exactly this call in this session".to_owned()),
        ("n", "no".to_owned()),
        ("v", format!("never `{}` in this session", question.tool)),
        ("Enter", "answers; other text goes to the agent".to_owned()),
    ];
    // The lines are colored piece by piece, so they are made to fit here.
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (key, meaning) in choices {
        let columns = text::width(key) + 1 + text::width(&meaning);
        let shown = format!("{} {meaning}", paint.cyan(key));
        match lines.last_mut() {
            Some((used, line)) if *used + 3 + columns <= width => {
                *used += 3 + columns;
                line.push_str(" · ");
                line.push_str(&shown);
            }
            _ => lines.push((columns, shown)),
        }
    }
    lines.into_iter().map(|(_, line)| line).collect()
}

/// The answer that a line stands for.
pub(super) fn answer(line: &str) -> Option<Answer> {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(Answer::Once),
        "a" | "always" => Some(Answer::Always),
        "n" | "no" => Some(Answer::No),
        "v" | "never" => Some(Answer::Never),
        _ => None,
    }
}

/// What was answered, for the scrollback.
pub(super) fn said(answer: Answer) -> &'static str {
    match answer {
        Answer::Once => "yes, once",
        Answer::Always => "yes, always exactly this call in this session",
        Answer::No => "no",
        Answer::Never => "no, never in this session",
    }
}

/// What is said of a line that reads like an answer and was not typed as one.
pub(super) const REJECTED: &str =
    "not taken as an answer: type it by hand, half a second or more after the question appears";

fn call(arguments: &str, width: usize, paint: Paint) -> Vec<String> {
    let Ok(Value::Object(arguments)) = serde_json::from_str(arguments) else {
        return text::fold(arguments, width);
    };
    let mut lines = Vec::new();
    let changes =
        |key: &str| ["old", "new"].contains(&key) && arguments.contains_key("old") && arguments.contains_key("new");
    for (key, value) in arguments.iter().filter(|(key, _)| !changes(key)) {
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let mut folded = text::fold(&shown, width.saturating_sub(2)).into_iter();
        match folded.len() {
            0 | 1 => lines.extend(text::fold(&format!("{key}: {}", folded.next().unwrap_or_default()), width)),
            _ => {
                lines.push(format!("{key}:"));
                lines.extend(folded.map(|line| format!("  {line}")));
            }
        }
    }
    for (key, mark) in [("old", '-'), ("new", '+')].into_iter().filter(|(key, _)| changes(key)) {
        let side = arguments.get(key).and_then(Value::as_str).unwrap_or_default();
        for line in text::fold(side, width.saturating_sub(2)) {
            let line = format!("{mark} {line}");
            lines.push(if mark == '-' { paint.red(line) } else { paint.green(line) });
        }
    }
    lines
}

/// A call on one line: its name and the argument that says most.
pub(super) fn brief(name: &str, arguments: &str) -> String {
    let parsed = serde_json::from_str(arguments).unwrap_or(Value::Null);
    let told = match &parsed {
        Value::Object(arguments) => arguments.values().find_map(Value::as_str).unwrap_or_default(),
        _ => "",
    };
    let told = text::line(told);
    if told.is_empty() { name.to_owned() } else { format!("{name} {told}") }
}
