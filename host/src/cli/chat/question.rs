//! A question about a tool call, as a person reads it: what will be run or changed, whole.

use super::super::paint::Paint;
use super::super::text;
use crate::channel::{Answer, Question};
use serde_json::Value;
use termimad::crossterm::event::{KeyCode, KeyEvent};

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

/// What may be answered.
pub(super) fn choices(question: &Question, paint: Paint) -> String {
    let key = |key: &str, meaning: &str| format!("{} {meaning}", paint.cyan(key));
    [
        key("y", "once"),
        key("a", &format!("always `{}` in this session", question.tool)),
        key("n", "no"),
        key("v", "never in this session"),
    ]
    .join(" · ")
}

/// The answer that a key stands for.
pub(super) fn answer(key: KeyEvent) -> Option<Answer> {
    match key.code {
        KeyCode::Char('y' | 'Y') => Some(Answer::Once),
        KeyCode::Char('a' | 'A') => Some(Answer::Always),
        KeyCode::Char('n' | 'N') | KeyCode::Esc => Some(Answer::No),
        KeyCode::Char('v' | 'V') => Some(Answer::Never),
        _ => None,
    }
}

/// What was answered, for whoever looks back.
pub(super) fn said(answer: Answer) -> &'static str {
    match answer {
        Answer::Once => "yes, once",
        Answer::Always => "yes, always in this session",
        Answer::No => "no",
        Answer::Never => "no, never in this session",
    }
}

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
