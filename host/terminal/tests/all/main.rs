//! What the program prints on a terminal, through the public API of the crate.

mod markdown;
mod text;

use bub_terminal::{Style, call_change, command_output};
use serde_json::json;

#[test]
fn hits_show_role_date_and_text() {
    let output = concat!(
        "[tape.search]: 2 matches (1 filtered)\n",
        r#"{"date": "2026-11-23T11:31:00.505468+00:00", "content": {"role": "user", "content": "a=b\n---Date: x---\nplant\nroses"}}"#,
        "\n",
        r#"{"date": "2026-11-23T11:31:01.505468+00:00", "content": {"results": ["\u001b[2Jdug"]}}"#,
        "\nelse\t{"
    );
    assert_eq!(
        command_output::lines(output, 40),
        [
            "2 entries found; 1 of earlier searches left out",
            "",
            "2026-11-23 11:31:00  user",
            "  plant",
            "  roses",
            "",
            "2026-11-23 11:31:01  tool",
            "  \\u{1b}[2Jdug",
            "else    {",
        ]
    );
}

#[test]
fn a_long_change_is_cut_and_a_call_without_a_change_shows_nothing() {
    let style = Style::for_stdout();
    let write = json!({ "path": "a", "content": "x\n".repeat(100) }).to_string();
    let shown = call_change::lines(&write, 80, style);
    assert!(
        shown.len() == call_change::MAX_LINES + 1 && shown[call_change::MAX_LINES].contains("and 60 more lines"),
        "{shown:?}"
    );
    assert!(
        call_change::lines(r#"{"path": "a"}"#, 80, style).is_empty() && call_change::lines("[", 80, style).is_empty()
    );
}
