//! Imports as they are below the bindings: numbers that no code checks.

use crate::bub::turn::turn::Turn;
use crate::bub::types::types::Prompt;

#[link(wasm_import_module = "bub:turn/turn@0.1.0")]
unsafe extern "C" {
    #[link_name = "[method]turn.session-id"]
    fn session_id(turn: u32, answer: *mut u8);
    #[link_name = "[method]turn.set-message-kind"]
    fn set_kind(turn: u32, kind: u32);
    #[link_name = "[method]turn.get"]
    fn get(turn: u32, key: *const u8, length: usize, answer: *mut u8);
    #[link_name = "[resource-drop]turn"]
    fn drop_turn(turn: u32);
}

#[link(wasm_import_module = "bub:tape/tape@0.1.0")]
unsafe extern "C" {
    #[link_name = "[method]tape.name"]
    fn tape_name(tape: u32, answer: *mut u8);
}

#[link(wasm_import_module = "bub:tools/toolbox@0.1.0")]
unsafe extern "C" {
    #[link_name = "call-tools"]
    fn call_tools(turn: u32, calls: *const Call, length: usize, answer: *mut u8);
}

/// A text as it is laid out in memory.
#[repr(C)]
#[derive(Clone, Copy)]
struct Text {
    start: *const u8,
    length: usize,
}

/// A tool call as it is laid out in memory.
#[repr(C)]
#[derive(Clone, Copy)]
struct Call {
    has_id: u32,
    id: Text,
    name: Text,
    arguments: Text,
}

/// Does what `mode` says, if it is one of these.
pub fn act(mode: &str, turn: &Turn) {
    let handle = turn.handle();
    let mut answer = [0u64; 8];
    let answer = answer.as_mut_ptr().cast::<u8>();
    let text = "x".repeat(1 << 20);
    let piece = Text { start: text.as_ptr(), length: text.len() };
    let call = Call { has_id: 0, id: piece, name: Text { length: 1, ..piece }, arguments: piece };
    // SAFETY: there is none, which is the point: the host must see to it.
    unsafe {
        match mode {
            "forged-handle" => session_id(u32::MAX, answer),
            "handle-of-another-type" => tape_name(handle, answer),
            // A handle that an earlier call of this turn has kept.
            "kept" => tape_name(turn.get("kept").and_then(|number| number.parse().ok()).unwrap_or(0), answer),
            "dropped-twice" => {
                drop_turn(handle);
                drop_turn(handle);
            }
            "used-after-drop" => {
                drop_turn(handle);
                session_id(handle, answer);
            }
            "enum-255" => set_kind(handle, 255),
            "option-7" => call_tools(handle, &Call { has_id: 7, ..call }, 1, answer),
            "not-utf-8" => get(handle, [0xff, 0xfe, 0xed, 0xa0, 0x80].as_ptr(), 5, answer),
            "text-beyond-memory" => get(handle, text.as_ptr(), usize::MAX, answer),
            "list-of-4-billion" => call_tools(handle, &call, usize::MAX, answer),
            "answer-beyond-memory" => session_id(handle, usize::MAX as *mut u8),
            "unaligned" => call_tools(handle, std::ptr::from_ref(&call).byte_add(1), 1, answer),
            "shared-text" => {
                let calls = vec![call; 60];
                call_tools(handle, calls.as_ptr(), calls.len(), answer);
            }
            _ => {}
        }
    }
}

/// Answers that the bindings would never make. They take the location of a text in memory, which may be false.
pub fn answer(mode: &str) -> Option<Prompt> {
    let text = match mode {
        // SAFETY: as above.
        "answer-not-utf-8" => unsafe { String::from_utf8_unchecked(vec![b'x', 0xed, 0xa0, 0x80]) },
        // SAFETY: as above; a value of this length and this capacity is moved as it is.
        "answer-of-4-billion" => unsafe { String::from_raw_parts(16 as *mut u8, usize::MAX, usize::MAX) },
        _ => return None,
    };
    Some(Prompt::Text(text))
}

/// So many texts, which are all the same megabyte.
pub fn one_megabyte(times: usize) -> Vec<String> {
    let text = "x".repeat(1 << 20).leak();
    // SAFETY: none is ever given back, because the call does not survive them.
    let again = |_| unsafe { String::from_raw_parts(text.as_mut_ptr(), text.len(), text.len()) };
    (0..times).map(again).collect()
}
