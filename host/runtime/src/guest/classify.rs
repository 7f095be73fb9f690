//! Names what ended a call.

use super::state::{MAX_HANDLES, State};
use crate::plugin::{Break, FaultKind};
use bub_types::text::one_line;
use wasmtime::{Error, FrameInfo, Trap, WasmBacktrace};

/// Callers that are shown of the function that ran at last, and the longest name of one, in characters.
const CALLERS: usize = 2;
const MAX_NAME: usize = 120;

/// Names what ended a call. wasmtime gives a type to traps only; what else its limits say is known by its text, all
/// of which stands here, so that an update that rewords it has one place to be mended (and a test that says so).
pub(super) fn classify(error: &Error, state: &State) -> FaultKind {
    if let Some(Break(kind)) = error.downcast_ref::<Break>() {
        return kind.clone();
    }
    if let Some(limit) = state.limiter.exceeded() {
        return FaultKind::OutOfMemory(limit);
    }
    let limits = &state.plugin.limits;
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => return FaultKind::OutOfFuel { units: limits.fuel, place: place(error) },
        Some(Trap::StackOverflow) => return FaultKind::StackOverflow,
        Some(trap) => {
            return match panic_message(&state.output.tail()) {
                Some(message) => FaultKind::Panic(message),
                None => FaultKind::Trap(match place(error) {
                    Some(place) => format!("{trap}, in {place}"),
                    None => trap.to_string(),
                }),
            };
        }
        None => {}
    }
    let text = error.root_cause().to_string();
    if text.contains("fuel allocated for hostcalls has been exhausted") {
        FaultKind::TooMuchOutput(limits.output_bytes())
    } else if text.contains("handle limit exceeded") || text.contains("resource table has no free keys") {
        FaultKind::TooManyHandles(MAX_HANDLES)
    } else {
        FaultKind::Trap(one_line(&text))
    }
}

/// The functions of the guest that ran, the innermost first, by the names that it gives them. None, where it gives none.
fn place(error: &Error) -> Option<String> {
    let trace = error.downcast_ref::<WasmBacktrace>()?;
    let mut names: Vec<String> = Vec::new();
    for name in trace.frames().iter().filter_map(FrameInfo::func_name) {
        let name = one_line(&format!("{:#}", rustc_demangle::demangle(name)));
        let name: String = name.chars().take(MAX_NAME).collect();
        // A function that calls itself is one.
        if !name.is_empty() && names.last() != Some(&name) {
            names.push(name);
        }
    }
    let (innermost, callers) = names.split_first()?;
    let callers: Vec<String> = callers.iter().take(CALLERS).map(|name| format!("`{name}`")).collect();
    Some(match callers.is_empty() {
        true => format!("`{innermost}`"),
        false => format!("`{innermost}`, called from {}", callers.join(", from ")),
    })
}

/// A Rust guest that panics says so on its stderr and then runs into `unreachable`.
fn panic_message(stderr: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(stderr);
    let at = text.rfind("panicked at ")?;
    let message = text[at..].trim_end();
    let message = message.split("\nnote: run with").next().unwrap_or(message);
    Some(one_line(message.trim_start_matches("panicked at ")))
}
