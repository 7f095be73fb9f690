//! `usage`: the usage of the session and of the day.

use crate::USAGE;
use bub_guest::model::Row;
use bub_guest::{Result, Turn, tool};

/// Days of the session's usage.
const DAYS: u32 = 30;

/// Show the tokens of this session and of today.
#[tool(effect = read, for_people)]
pub fn usage(turn: &Turn) -> Result<String> {
    let session = USAGE.session(turn, DAYS)?;
    let today = USAGE.today()?;
    let limit = USAGE.daily_limit()?;
    let mut lines = vec![format!("this session, in {DAYS} days: {}", amount(&session))];
    lines.extend(session.iter().map(line));
    let of = limit.map(|limit| format!(", and a day's budget is {limit}")).unwrap_or_default();
    lines.push(format!("all sessions, today: {}{of}", amount(&today)));
    lines.extend(today.iter().map(line));
    if session.iter().chain(&today).any(|row| row.estimated > 0) {
        lines.push("~: not all calls said what they used, so that part of it is a guess".to_owned());
    }
    Ok(lines.join("\n"))
}

fn amount(rows: &[Row]) -> String {
    let sum = |number: fn(&Row) -> u64| rows.iter().map(number).fold(0, u64::saturating_add);
    let (total, calls) = (sum(|row| row.total), sum(|row| row.calls));
    format!("{total} tokens in {calls} {}", if calls == 1 { "call" } else { "calls" })
}

fn line(row: &Row) -> String {
    let Row { model, total, prompt, cached, completion, .. } = row;
    let about = if row.estimated > 0 { "~" } else { "" };
    format!("  {model}: {about}{total} (prompt {prompt}, of it cached {cached}; completion {completion})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_is_marked_and_one_call_is_one() {
        let row = |estimated| Row {
            model: "a:b".to_owned(),
            calls: 1,
            estimated,
            prompt: 7,
            cached: 3,
            completion: 2,
            total: 9,
        };
        assert_eq!(line(&row(0)), "  a:b: 9 (prompt 7, of it cached 3; completion 2)");
        assert_eq!(line(&row(1)), "  a:b: ~9 (prompt 7, of it cached 3; completion 2)");
        assert_eq!(amount(&[row(0)]), "9 tokens in 1 call");
        assert_eq!(amount(&[row(0), row(1)]), "18 tokens in 2 calls");
        assert_eq!(amount(&[]), "0 tokens in 0 calls");
    }
}
