//! A command that nobody took.

use crate::bub::types::types::StreamEvent;
use crate::{Error, Prompt, Turn, agent, content};

/// Says so, without a model and without a trace on the tape.
pub fn refuse(turn: &Turn, prompt: &Prompt) -> Result<(), Error> {
    let answer = unknown(&content::text(prompt));
    turn.emit(&StreamEvent::Text(answer.clone()))?;
    turn.emit(&agent::last_event(&answer, 0, None))
}

fn unknown(line: &str) -> String {
    let line = line.trim();
    match line.strip_prefix(',').unwrap_or(line).split_whitespace().next() {
        Some(name) => format!("no command is called `{name}`"),
        None => "a comma begins a command, and no name follows it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::unknown;

    #[test]
    fn the_word_behind_the_comma_is_named() {
        assert_eq!(unknown(",frob --fast"), "no command is called `frob`");
        assert_eq!(unknown(", frob"), "no command is called `frob`");
        assert_eq!(unknown(","), "a comma begins a command, and no name follows it");
    }
}
