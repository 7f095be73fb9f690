//! Lines that are said as in another program.

use super::{chat, trusting};

#[test]
fn commands_of_other_programs_are_answered_with_their_counterparts() {
    let home = trusting();
    let chat = chat(&home, 100, &[]);
    for (line, hint) in [
        ("/help", "a command begins with a comma: `,help`"),
        ("quit", "to leave: `,quit` or Ctrl-D"),
        ("!ls -la", "a line for the shell begins with a comma: `,ls -la`"),
    ] {
        chat.say(line).sees(hint);
        chat.waits();
    }
    let screen = chat.screen();
    assert!(!screen.contains("offline:demo`, which"), "none of it was said to the agent\n{screen}");
    // Said once more, it is meant.
    chat.say("quit").sees("to leave: `,quit` or Ctrl-D");
    chat.waits();
    chat.say("quit").sees("repeat your last line, quit.");
    chat.waits();
    // A path is no command.
    chat.say("/etc/hosts is odd").sees("/etc/hosts is odd. To talk");
    chat.waits();
    chat.press(["C-d"]).ends();
}
