//! Long conversations.

use super::*;
use std::iter;

const TURNS: usize = 500;
const EACH: usize = 50;

/// The turn in which the agent begins a new phase.
const HANDOFF: usize = 230;

/// Every request has the conversation since the latest anchor outside of sections, each message once and in order, and one
/// block of memory.
#[test]
fn in_five_hundred_turns_memory_is_shown_once_and_hides_nothing() {
    let home = keeping();
    typed(&home, ",memory.save content='before the first turn'");
    let answers = (1..=TURNS).flat_map(|turn| {
        let tool = match turn {
            HANDOFF => {
                Some(Answer::tool_call("tape_handoff", r#"{"name":"second","summary":"the first part is done"}"#))
            }
            _ if turn % EACH == 0 => Some(Answer::tool_call(
                "memory_save",
                &json!({ "content": format!("saved in turn {turn}") }).to_string(),
            )),
            _ => None,
        };
        tool.into_iter().chain([Answer::text(&format!("answer {turn}."))])
    });
    let server = Server::new(answers);
    // One conversation in several starts of the program.
    for first in (1..=TURNS).step_by(EACH) {
        let lines: String = (first..first + EACH).map(|turn| format!("message {turn}.\n")).collect();
        let finished = home.bub(["chat"]).input(&lines).model(&server).finish();
        assert_eq!(finished.code, Some(0), "{finished}");
    }
    let requests = server.requests();
    assert_eq!(requests.len(), TURNS + TURNS / EACH + 1);
    let mut turn = 0;
    for request in &requests {
        let messages = request.messages();
        let text = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
        let system = text(&messages[0]);
        assert_eq!(system.matches("<memory>").count(), 1, "turn {turn}");
        let said: Vec<String> = messages.iter().skip(1).map(text).collect();
        let last = said.last().expect("the prompt");
        // The prompt of the loop in a later step is not the user's message.
        let is_later_step = !last.contains("message ");
        turn += usize::from(!is_later_step);
        let phase = turn > HANDOFF || turn == HANDOFF && is_later_step;
        let first = if phase { HANDOFF } else { 1 };
        let mut place = 0;
        for number in first..=turn {
            let wanted = format!("message {number}.");
            let found = said.iter().skip(place).position(|text| text.lines().any(|line| line == wanted));
            place += found.unwrap_or_else(|| panic!("in turn {turn} `{wanted}` is not in its place")) + 1;
        }
        let heard = said.iter().filter(|text| text.contains("message ")).count();
        assert_eq!(heard, turn - first + 1, "turn {turn}");
        assert!(!request.body.contains("memory/open") && !request.body.contains("memory/seal"), "turn {turn}");
        assert_eq!(said.iter().any(|text| text.contains("the first part is done")), phase, "turn {turn}");
    }
    assert_eq!(turn, TURNS);
    assert_eq!(contents(&home, WORKSPACE).0, 1 + (TURNS / EACH) as u64);
}

/// The last request of a conversation, without the system prompt and the dates.
fn last_request(lines: &str, turns: usize) -> Vec<Value> {
    let home = keeping();
    let server = Server::new(iter::repeat_n(Answer::text("yes"), turns));
    let finished = home.bub(["chat"]).input(lines).model(&server).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    let mut messages = server.requests().last().expect("the model was asked").messages().split_off(1);
    for message in &mut messages {
        let text = message["content"].as_str().unwrap_or_default();
        message["content"] = text.lines().last().unwrap_or_default().into();
    }
    messages
}

#[test]
fn a_hundred_saves_in_a_conversation_add_no_message_to_it() {
    let said = |saves: bool| {
        let save = |n: usize| match saves {
            true => format!(",memory.save content='{n}' scope=session\n,memory.daily content='{n}'\n"),
            false => String::new(),
        };
        (0..50).map(|n| format!("{}message {n}\n", save(n))).collect::<String>()
    };
    let with = last_request(&said(true), 50);
    assert_eq!(with, last_request(&said(false), 50));
    assert_eq!(with.len(), 99);
}
