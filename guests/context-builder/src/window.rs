//! The sliding window: the newest exchanges, whole, as many as fit.

use crate::Error;
use crate::compress::Compression;
use crate::options::Options;
use crate::scale::Scale;
use crate::source::Source;
use crate::thread::{Exchange, Unit, exchanges};
use bub_guest::tape::Entry;
use serde_json::Value;

/// Entries per read; initially about twenty exchanges of a plain conversation.
const FIRST: u32 = 160;
const NEXT: u32 = 256;

/// Maximum entries that are read. A longer exchange is truncated.
const MAX_ENTRIES: usize = 8_192;

/// The loop's own prompt for later steps.
pub const CONTINUE: &str = "Continue the task until all targets are completed.";

/// The phase's anchor, and its rendering.
pub struct Phase {
    pub unit: Unit,
    pub text: String,
}

/// The entries that were read.
pub struct Window {
    /// In order; the last one may be this turn's.
    pub exchanges: Vec<Exchange>,
    /// The first entry that was read, if there may be earlier ones.
    pub unread_before: Option<u64>,
}

/// The selected part.
#[derive(Debug, Default)]
pub struct Fitted {
    pub units: Vec<Unit>,
    pub tokens: u64,
    pub compressed: u64,
    /// Number of included exchanges.
    pub rounds: u64,
}

impl Window {
    /// Reads backward as far as may be included: after `after`, at most `sliding_window_size` exchanges and that many
    /// tokens.
    pub fn read(source: &dyn Source, after: u64, options: &Options, scale: Scale, most: u64) -> Result<Self, Error> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut size = FIRST;
        loop {
            let before = entries.first().map(|entry| entry.id);
            let mut page = source.tail(before, size)?;
            let is_all = page.len() < size as usize || page.first().is_some_and(|entry| entry.id <= after + 1);
            page.retain(|entry| entry.id > after);
            page.append(&mut entries);
            entries = page;
            let mut exchanges = exchanges(&entries);
            if is_all {
                return Ok(Self { exchanges, unread_before: None });
            }
            if entries.len() >= MAX_ENTRIES {
                let unread_before = entries.first().map(|entry| entry.id);
                return Ok(Self { exchanges, unread_before });
            }
            // The first one may be incomplete.
            let whole = exchanges.get(1..).unwrap_or_default();
            let weight: u64 = whole.iter().map(|exchange| weigh(&exchange.units, scale)).sum();
            if whole.len() as u64 >= options.sliding_window_size || (weight > most && whole.len() > 1) {
                exchanges.remove(0);
                let unread_before = exchanges.first().and_then(|first| first.units.first()).map(Unit::id);
                return Ok(Self { exchanges, unread_before });
            }
            size = NEXT;
        }
    }

    /// User messages, newest first.
    pub fn spoken(&self) -> impl Iterator<Item = String> {
        let units = self.exchanges.iter().rev().flat_map(|exchange| exchange.units.iter().rev());
        units.filter_map(|unit| match unit {
            Unit::Message { asked: Some(text), .. } if !text.starts_with(CONTINUE) => Some(text.clone()),
            _ => None,
        })
    }

    /// The user messages of this turn that are on the tape: the current input of later steps, without the loop's own
    /// prompts.
    pub fn own_input(&self, began: u64) -> Vec<(&Unit, &str)> {
        let units = self.exchanges.last().map_or([].as_slice(), |exchange| exchange.units.as_slice());
        let own = units.iter().filter_map(|unit| match unit {
            Unit::Message { id, asked: Some(text), .. } if *id > began && !text.starts_with(CONTINUE) => {
                Some((unit, text.as_str()))
            }
            _ => None,
        });
        own.collect()
    }

    /// Removes the phase's anchor from the window, since it has its own place.
    pub fn take_phase(&mut self, first: Option<&Entry>) -> Option<Phase> {
        let entry = first.filter(|first| first.kind == "anchor")?;
        self.exchanges.iter_mut().for_each(|exchange| exchange.units.retain(|unit| unit.id() != entry.id));
        self.exchanges.retain(|exchange| !exchange.units.is_empty());
        let unit = exchanges(std::slice::from_ref(entry)).pop()?.units.pop()?;
        let payload: Value = serde_json::from_str(&entry.payload).ok()?;
        let name = payload["name"].as_str().unwrap_or_default();
        Some(Phase { unit, text: format!("[Anchor created: {name}]: {}", payload["state"]) })
    }

    /// Selects what fits: the last exchange as far as possible, then older ones, whole, newest first. Entries in
    /// `placed` are included already and cost nothing here.
    pub fn fit(&self, options: &Options, compression: Compression, most: u64, placed: &[Unit]) -> Fitted {
        let mut fitted = Fitted::default();
        let Some((last, older)) = self.exchanges.split_last() else { return fitted };
        let mut taken = vec![shrink(&last.units, compression, most, placed, &mut fitted)];
        fitted.rounds = u64::from(!taken[0].is_empty());
        // Stop at the first gap: a conversation with a missing exchange in the middle is misleading.
        let whole = taken[0].len() == last.units.len();
        let room = usize::try_from(options.sliding_window_size).unwrap_or(usize::MAX).saturating_sub(1);
        for exchange in older.iter().rev().take(if whole { room } else { 0 }) {
            let mut units = exchange.units.clone();
            let mut compressed = 0;
            if options.enable_tool_result_compression {
                compressed = units.iter_mut().map(|unit| compression.shorten(unit)).sum();
            }
            let tokens = weigh(&units, compression.scale);
            if fitted.tokens + tokens > most {
                break;
            }
            fitted.tokens += tokens;
            fitted.compressed += compressed;
            fitted.rounds += 1;
            taken.push(units);
        }
        fitted.units = taken.into_iter().rev().flatten().collect();
        fitted
    }
}

/// Reduces the last exchange to that many tokens. First older results are shortened, then omitted with their calls,
/// then the newest is cut. User messages are omitted last.
fn shrink(units: &[Unit], compression: Compression, most: u64, placed: &[Unit], fitted: &mut Fitted) -> Vec<Unit> {
    let scale = compression.scale;
    let in_place = |unit: &Unit| placed.iter().find(|placed| placed.id() == unit.id());
    let mut units: Vec<Unit> = units.iter().map(|unit| in_place(unit).unwrap_or(unit).clone()).collect();
    let weigh = |units: &[Unit]| -> u64 {
        units.iter().filter(|unit| in_place(unit).is_none()).map(|unit| weigh_one(unit, scale)).sum()
    };
    let newest_calls = |units: &[Unit]| units.iter().rposition(|unit| matches!(unit, Unit::Calls { .. }));
    if weigh(&units) > most {
        let newest = newest_calls(&units);
        for (at, unit) in units.iter_mut().enumerate() {
            if Some(at) != newest {
                fitted.compressed += compression.shorten(unit);
            }
        }
    }
    while weigh(&units) > most {
        let newest = newest_calls(&units);
        let oldest = units.iter().position(|unit| matches!(unit, Unit::Calls { .. }));
        match (oldest, newest) {
            (Some(oldest), Some(newest)) if oldest < newest => drop(units.remove(oldest)),
            (Some(only), _) => {
                let others = weigh(&units) - weigh_one(&units[only], scale);
                let Unit::Calls { call_tokens, results, .. } = &mut units[only] else { break };
                let left = most.saturating_sub(others + scale.0.correct(*call_tokens));
                fitted.compressed += 1;
                if !compression.squeeze(results, left) {
                    units.remove(only);
                }
            }
            (None, _) => {
                let oldest = |asked: bool| {
                    units.iter().position(|unit| {
                        in_place(unit).is_none()
                            && matches!(unit, Unit::Message { asked: said, .. } if said.is_some() == asked)
                    })
                };
                let Some(oldest) = oldest(false).or_else(|| oldest(true)) else { break };
                units.remove(oldest);
            }
        }
    }
    fitted.tokens += weigh(&units);
    units
}

/// The tokens of these units.
pub fn weigh(units: &[Unit], scale: Scale) -> u64 {
    units.iter().map(|unit| weigh_one(unit, scale)).sum()
}

pub fn weigh_one(unit: &Unit, scale: Scale) -> u64 {
    unit.weights().into_iter().map(|weight| scale.0.correct(weight)).sum()
}

/// A shortened user message: head and tail.
pub fn cut_input(id: u64, text: &str, scale: Scale, most: u64) -> Unit {
    let message = user(&scale.ends(text, most, |left| format!("[... {left} characters left out ...]")));
    Unit::Cut { id, message }
}

pub fn user(text: &str) -> Value {
    serde_json::json!({ "role": "user", "content": text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Store, Tape};
    use serde_json::Map;

    fn options() -> Options {
        Options::read(|_| None, &Map::new()).unwrap()
    }

    const COMPRESSION: Compression =
        Compression { scale: Scale(bub_estimate::Ratio::ONE), above: 1_000, searchable: false };

    fn fit(tape: &Tape, options: &Options, most: u64) -> Fitted {
        let window = Window::read(&Store::of(tape.clone()), 0, options, COMPRESSION.scale, most).unwrap();
        window.fit(options, COMPRESSION, most, &[])
    }

    fn ids(fitted: &Fitted) -> Vec<u64> {
        fitted.units.iter().map(Unit::id).collect()
    }

    fn conversation(rounds: u64) -> Tape {
        let mut tape = Tape::default();
        for round in 0..rounds {
            tape.start().user(&format!("question {round:04}")).assistant("an answer of some words").end();
        }
        tape
    }

    #[test]
    fn it_holds_as_many_rounds_as_it_may_and_not_one_more() {
        let tape = conversation(30);
        let fitted = fit(&tape, &options(), 100_000);
        assert_eq!(fitted.rounds, 20);
        assert_eq!(ids(&fitted).first(), Some(&(4 * 10 + 2)));
        let options = Options { sliding_window_size: 1, ..options() };
        assert_eq!(ids(&fit(&tape, &options, 100_000)), [118, 119]);
    }

    #[test]
    fn a_budget_that_is_exactly_met_holds_an_exchange_that_one_token_less_does_not() {
        let tape = conversation(5);
        let all = fit(&tape, &options(), 100_000);
        assert_eq!(all.rounds, 5);
        assert_eq!(fit(&tape, &options(), all.tokens).rounds, 5);
        let less = fit(&tape, &options(), all.tokens - 1);
        assert_eq!((less.rounds, less.tokens), (4, all.tokens / 5 * 4));
    }

    #[test]
    fn calls_are_never_parted_from_their_results_and_no_window_begins_with_one() {
        let mut tape = Tape::default();
        for _ in 0..6 {
            tape.start().user("go").calls(&["a", "b"]).calls(&["c"]).assistant("done").end();
        }
        let whole = fit(&tape, &options(), 100_000).tokens;
        for most in 0..=whole {
            let fitted = fit(&tape, &options(), most);
            assert!(fitted.tokens <= most);
            assert!(!matches!(fitted.units.first(), Some(Unit::Calls { .. })) || fitted.rounds == 1, "{most}");
        }
    }

    #[test]
    fn only_entries_after_the_summary_are_read() {
        let tape = conversation(5);
        let window = Window::read(&Store::of(tape), 8, &options(), COMPRESSION.scale, 100_000).unwrap();
        assert_eq!(window.exchanges.len(), 3);
    }

    #[test]
    fn a_long_tape_is_read_as_far_as_the_window_goes() {
        let store = Store::of(conversation(50_000));
        Window::read(&store, 0, &options(), COMPRESSION.scale, 26_400).unwrap();
        assert!(*store.read.borrow() <= 500, "{:?}", store.read);
    }

    #[test]
    fn results_of_the_last_exchange_stay_whole_while_they_fit() {
        let long = "a line of a result\n".repeat(800);
        let mut tape = Tape::default();
        tape.start().user("one").tool("bash", &long).assistant("1").end();
        tape.start().user("two").tool("bash", &long);
        let fitted = fit(&tape, &options(), 100_000);
        assert_eq!(fitted.compressed, 1, "the older one");
        let cut: Vec<bool> = fitted
            .units
            .iter()
            .filter_map(|unit| match unit {
                Unit::Calls { results, .. } => Some(results.cut),
                _ => None,
            })
            .collect();
        assert_eq!(cut, [true, false]);
        let off = Options { enable_tool_result_compression: false, ..options() };
        assert_eq!(fit(&tape, &off, 100_000).compressed, 0);
    }

    #[test]
    fn a_last_exchange_that_is_too_long_loses_its_oldest_steps_first_and_is_cut_last() {
        let long = "a line of a result\n".repeat(400);
        let mut tape = Tape::default();
        tape.start().user("go").tool("first", &long).tool("second", &long).tool("third", &long);
        let fitted = fit(&tape, &options(), 3_000);
        assert_eq!(ids(&fitted), [2, 3, 5, 7], "older results are shortened");
        let fitted = fit(&tape, &options(), 700);
        assert_eq!(ids(&fitted), [2, 7], "then older steps go, then the newest is cut");
        assert!(fitted.tokens <= 700 && fitted.tokens > 600, "{}", fitted.tokens);
        assert_eq!(ids(&fit(&tape, &options(), 10)), [2]);
        assert!(ids(&fit(&tape, &options(), 0)).is_empty());
    }

    #[test]
    fn a_tape_with_results_only_selects_nothing() {
        let mut tape = Tape::default();
        tape.result("one").result("two");
        assert!(fit(&tape, &options(), 1_000).units.is_empty());
    }
}
