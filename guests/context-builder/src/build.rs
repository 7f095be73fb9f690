//! Builds the messages in the original's order: system prompt, summary, memories, recent messages, current input,
//! pinned instruction. The last two are allocated first, since they are mandatory. Every other step is guaranteed its
//! share; unused tokens are lent to steps that would be cut, and the rest goes to the recent messages.

mod input;
#[cfg(test)]
mod laws;
mod left;
#[cfg(test)]
mod lost;
mod parts;
mod request;
#[cfg(test)]
mod steps;
pub mod system;

use crate::budget::{Budget, Tracker};
use crate::options::{LEAST_BUDGET, Language, Options};
use crate::retrieval;
use crate::scale::Scale;
use crate::source::Source;
use crate::thread::Unit;
use crate::window::Window;
use bub_guest::{Error, ErrorKind};
use left::Covered;
pub use request::{Built, Request};
use serde_json::{Value, json};

/// Builds the context.
///
/// # Errors
///
/// The budget is too small for a conversation, or the tape cannot be read.
pub fn context(options: &Options, request: &Request, source: &dyn Source) -> Result<Built, Error> {
    let total = request.input_budget.map_or(options.total_budget, |room| room.min(options.total_budget));
    if total < LEAST_BUDGET {
        let message = format!(
            "the model's window leaves {total} tokens for a request, and {LEAST_BUDGET} are the least: lower `max_tokens`, or set its window in `[windows]`"
        );
        return Err(Error::new(ErrorKind::Config, message));
    }
    let first = source.first()?;
    let phase = first.as_ref().map_or(0, |first| first.id);
    let mut build = Build::new(options, request, total);
    build.tools(total);
    let system = build.system_share();
    let naming = build.reserve_naming(first.is_some());
    let said = build.said();
    let summary = if options.enable_summary { build.newest_summary(source, phase) } else { None };
    let through = summary.as_ref().map_or(0, |summary| summary.through);
    let mut window = Window::read(source, through, options, request.scale, build.tracker.left())?;
    build.language = options.language.of(request.spoken().chain(window.spoken()));
    let anchor = first.as_ref().filter(|first| first.kind == "anchor").map(|anchor| anchor.payload.clone());
    let head = window.take_phase(first.as_ref());
    let own = build.own_input(&window);
    let net = build.safety_net(&own);
    let goal = build.goal(source, &window, anchor.as_deref(), phase);
    let pinned = build.pin(&window, goal.as_ref());

    let found = build.find(source, &window, &own);
    let whole = retrieval::unsent(&found, &request.system_prompt, options);
    let needs = build.needs(&window, &own, head.as_ref(), summary.as_ref(), &whole);
    let (system_prompt, cuts) = build.system_prompt(system, needs);
    let head = head.and_then(|head| build.phase(head, needs));
    let shown = summary.as_ref().and_then(|summary| build.summary(summary, needs));
    // Compare with the system prompt as it is sent, possibly cut.
    let sent = system_prompt.as_deref().unwrap_or(&request.system_prompt);
    let told = build.memories(retrieval::unsent(&found, sent, options), needs);
    let (fitted, quoting) = build.recent(&window, &own, naming);

    let window_start = fitted.units.first().map_or(request.began.saturating_add(1), Unit::id);
    let mut history: Vec<Unit> = head.into_iter().chain(fitted.units).collect();
    // If there is no room for the exchange, its user messages are kept.
    let kept: Vec<u64> = history.iter().map(Unit::id).collect();
    history.extend(own.into_iter().filter(|own| !kept.contains(&own.id())));
    history.sort_by_key(Unit::id);
    let kept: Vec<u64> = history.iter().map(Unit::id).collect();
    // On a tape without an anchor the first message follows entry 0.
    let begins = if anchor.is_some() { phase } else { phase.saturating_sub(1) };
    let covered = Covered {
        phase: begins,
        has_anchor: anchor.is_some(),
        through: through.max(begins),
        is_shown: shown.is_some(),
    };
    let left = build.left(source, &window, covered, &kept, quoting)?;
    let before = build.earlier(shown, &left, naming);
    let metadata = json!({
        "includedMessageCount": history.iter().map(Unit::len).sum::<usize>(),
        "summarizedMessageCount": if covered.is_shown { through } else { 0 },
        "usedSummary": covered.is_shown,
        "retrievedMemoryCount": told.as_ref().map_or(0, |(_, count)| *count),
        "budget": total,
        "reserved": build.budget.reserved,
        "ratio": request.scale.0.value(),
        "rounds": fitted.rounds,
        "compressedResults": fitted.compressed,
        "windowStart": window_start,
        "safetyNet": net.is_some(),
        "language": if build.language == Language::Chinese { "zh" } else { "en" },
        "goal": goal.map(|goal| goal.shown()),
        "quoted": left.ids,
        "notShown": left.ranges(),
    });
    build.log.push(format!("context built: {} tokens of {total}", build.tracker.used()));
    Ok(Built {
        system_prompt,
        cuts,
        before: before.into_iter().chain(told.map(|(message, _)| message)).collect(),
        history,
        said,
        after: net.into_iter().chain(pinned).collect(),
        tracker: build.tracker,
        metadata,
        log: build.log,
    })
}

/// The build in progress.
struct Build<'a> {
    options: &'a Options,
    request: &'a Request,
    scale: Scale,
    budget: Budget,
    tracker: Tracker,
    language: Language,
    log: Vec<String>,
}

/// Tokens that the optional steps need; each is guaranteed its share, and unused tokens are lent.
#[derive(Debug, Clone, Copy, Default)]
struct Needs {
    system_prompt: u64,
    /// The phase's anchor and the summary.
    summary: u64,
    retrieved: u64,
    /// The recent messages, up to their share; beyond it they get only what the others leave.
    recent: u64,
}

fn system(text: &str) -> Value {
    json!({ "role": "system", "content": text })
}
