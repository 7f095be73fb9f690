//! Keys that were typed before a question could be read, and what else is no answer to it.

use super::asking::{CHOICES, DRAFT, WRITE, made, wary};
use crate::home;
use bub_runtime::channel::ApprovalDecision;
use bub_tests::tape;
use bub_wasm::cli::{ANSWER_DELAY, ChatInput, InputOutcome};
use proptest::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use termimad::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

const REJECTED: &str = "not taken as an answer";

#[test]
fn a_key_after_the_delay_answers_the_question_that_is_shown() {
    let press = |code| Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
    let (mut input, shown) = (ChatInput::new(String::new()), Instant::now());
    input.drawn(Some(1), shown);
    let later = shown + ANSWER_DELAY;
    assert_eq!(input.event(&press(KeyCode::Char('y')), later), InputOutcome::Changed);
    assert_eq!(input.event(&press(KeyCode::Enter), later), InputOutcome::Answered(ApprovalDecision::Once));
}

#[test]
fn a_sentence_that_is_being_typed_when_a_question_appears_approves_nothing_and_reaches_the_agent() {
    let home = home();
    let chat = wary(&home);
    chat.say(WRITE).sees(CHOICES);
    chat.say("ECHO:what about maybe later").sees("added at the next step");
    let screen = chat.sees(CHOICES);
    assert!(made(&home) == 0 && !screen.contains("yes, "), "{screen}");
    chat.answer("n").sees("\nwhat about maybe later");
    chat.waits();
    assert_eq!(made(&home), 0);
}

#[test]
fn a_draft_outlives_the_question_and_the_question_the_draft() {
    let home = home();
    let chat = wary(&home);
    // The line is begun before the question is on the screen, or in the same moment.
    chat.say(WRITE).write("y");
    chat.sees(DRAFT);
    chat.after_delay().write("es, maybe").sees("› yes, maybe");
    assert_eq!(made(&home), 0);
    chat.press(["C-u"]).sees(CHOICES);
    chat.write("ECHO:be quick").press(["Enter"]).sees("added at the next step");
    chat.sees(CHOICES);
    assert_eq!(made(&home), 0, "{}", chat.screen());
    chat.answer("y").sees("\nbe quick");
    chat.waits();
    assert_eq!(made(&home), 1);
    let entries = tape::read(&home.tape_file("cli_session"));
    let is_heard = |entry: &serde_json::Value| {
        entry["payload"]["content"].as_str().is_some_and(|text| text.ends_with("ECHO:be quick"))
    };
    assert!(entries.iter().any(is_heard), "{entries:?}");
}

#[test]
fn early_keys_keys_with_modifiers_and_pastes_answer_nothing() {
    let home = home();
    let chat = wary(&home);
    chat.say(WRITE).sees("Run this command?");
    // Faster than the answers can be read.
    chat.say("y");
    let seen = |count| chat.until("a refusal", move |screen: &str| screen.matches(REJECTED).count() == count);
    seen(1);
    chat.after_delay().press(["M-y", "Enter"]);
    seen(2);
    chat.after_delay().paste("y\n").press(["Enter"]);
    seen(3);
    chat.after_delay().press(["C-y", "y", "Enter"]);
    seen(4);
    assert_eq!(made(&home), 0, "{}", chat.screen());
    chat.answer("y").waits();
    assert_eq!(made(&home), 1);
}

#[test]
fn a_workspace_is_trusted_by_no_line_that_was_typed_ahead_or_pasted() {
    let home = home();
    std::fs::write(home.workspace().join("notes.txt"), "run everything").expect("a file");
    let chat = home.bub(["chat"]).terminal(100, 30);
    chat.say("y").sees("Trust this workspace? [y/N]");
    chat.say("y").after_delay().paste("y\n");
    chat.until("the question again", |screen| screen.matches("Trust this workspace? [y/N]").count() == 2);
    chat.answer("n").sees("It is not trusted");
    chat.waits();
}

/// Input and resizes at the terminal, each so many milliseconds after the previous one.
#[derive(Debug, Clone)]
enum Step {
    Key(KeyEvent),
    Paste(&'static str),
    /// The turn asks: a new question is to be shown.
    Asked,
    /// The question that was asked is taken back.
    Withdrawn,
    /// The screen is drawn.
    Drawn,
}

fn key() -> impl Strategy<Value = KeyEvent> {
    let code = prop_oneof![
        12 => prop::sample::select("yyyyaanvYeslwo , ".chars().collect::<Vec<_>>()).prop_map(KeyCode::Char),
        10 => Just(KeyCode::Enter),
        3 => Just(KeyCode::Backspace),
        1 => prop::sample::select(vec![KeyCode::Esc, KeyCode::Tab, KeyCode::Left, KeyCode::Char('u')]),
    ];
    let modifiers = prop_oneof![
        12 => Just(KeyModifiers::NONE),
        1 => prop::sample::select(vec![
            KeyModifiers::SHIFT, KeyModifiers::CONTROL, KeyModifiers::ALT, KeyModifiers::SUPER, KeyModifiers::META,
        ]),
    ];
    let kind = prop_oneof![
        16 => Just(KeyEventKind::Press),
        1 => Just(KeyEventKind::Repeat),
        1 => Just(KeyEventKind::Release),
    ];
    (code, modifiers, kind).prop_map(|(code, modifiers, kind)| KeyEvent::new_with_kind(code, modifiers, kind))
}

fn history() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let wait = prop_oneof![
        6 => 0_u64..60,
        3 => prop::sample::select(vec![499, 500, 501, 700]),
        1 => 100_u64..600,
    ];
    let step = prop_oneof![
        10 => key().prop_map(Step::Key),
        1 => prop::sample::select(vec!["y", "y\n", "always", ""]).prop_map(Step::Paste),
        3 => Just(Step::Asked),
        1 => Just(Step::Withdrawn),
        6 => Just(Step::Drawn),
    ];
    prop::collection::vec((wait, step), 1..60)
}

/// The visible part of a history, computed independently of the chat.
#[derive(Default)]
struct Observed {
    /// The question that is asked, and how many there were.
    asked: Option<u64>,
    count: u64,
    /// When the question on the screen was first drawn above an empty line, and has been there since.
    drawn: Option<(u64, Instant)>,
    /// The keys since the line was last empty, with their times. None: one of them was no plain key, or was a paste.
    keys: Option<Vec<Instant>>,
}

/// Plays a history, and says how many approvals it led to.
fn play(history: &[(u64, Step)]) -> Result<usize, TestCaseError> {
    let (mut input, mut at) = (ChatInput::new(String::new()), Instant::now());
    let mut observed = Observed { keys: Some(Vec::new()), ..Observed::default() };
    let mut approvals = 0;
    for (wait, step) in history {
        at += Duration::from_millis(*wait);
        let before = input.text().to_owned();
        if before.is_empty() {
            observed.keys = Some(Vec::new());
        }
        let event = match step {
            Step::Asked if observed.asked.is_some() => continue,
            Step::Asked => {
                observed.count += 1;
                observed.asked = Some(observed.count);
                continue;
            }
            Step::Withdrawn => {
                observed.asked = None;
                continue;
            }
            Step::Drawn => {
                input.drawn(observed.asked, at);
                match observed.asked {
                    Some(question) if observed.drawn.is_some_and(|(shown, _)| shown == question) => {}
                    Some(question) if before.is_empty() => observed.drawn = Some((question, at)),
                    // It is drawn, and the line is not empty: no answer is begun before it is.
                    _ => observed.drawn = None,
                }
                prop_assert_eq!(&before, input.text());
                continue;
            }
            Step::Key(key) => {
                let is_plain = key.kind == KeyEventKind::Press
                    && match key.code {
                        KeyCode::Char(_) => (key.modifiers - KeyModifiers::SHIFT).is_empty(),
                        KeyCode::Backspace | KeyCode::Enter => key.modifiers.is_empty(),
                        _ => false,
                    };
                match (&mut observed.keys, is_plain) {
                    _ if key.kind == KeyEventKind::Release => {}
                    (Some(keys), true) => keys.push(at),
                    (keys, _) => *keys = None,
                }
                Event::Key(*key)
            }
            Step::Paste(text) => {
                observed.keys = None;
                Event::Paste((*text).to_owned())
            }
        };
        let is_enter = matches!(event, Event::Key(KeyEvent { code: KeyCode::Enter, .. }));
        match input.event(&event, at) {
            InputOutcome::Answered(answer) => {
                let text = before.trim().to_lowercase();
                let word = match answer {
                    ApprovalDecision::Once => ["y", "yes"],
                    ApprovalDecision::Always => ["a", "always"],
                    ApprovalDecision::Rule => ["p", "prefix"],
                    ApprovalDecision::No => ["n", "no"],
                    ApprovalDecision::Never => ["v", "never"],
                };
                prop_assert!(is_enter && word.contains(&&*text), "{answer:?} of `{text}` by {event:?}");
                let Some((question, shown)) = observed.drawn else {
                    return Err(TestCaseError::fail("answered, and no question stood above an empty line"));
                };
                let Some(keys) = &observed.keys else {
                    return Err(TestCaseError::fail("answered by a paste or a key with a modifier"));
                };
                prop_assert!(keys.len() >= 2 && keys.iter().all(|key| *key >= shown + Duration::from_millis(500)));
                observed.drawn = None;
                // A question that was taken back, and is on the screen for one more moment, approves nothing.
                if observed.asked == Some(question) {
                    observed.asked = None;
                    approvals += usize::from(matches!(
                        answer,
                        ApprovalDecision::Once | ApprovalDecision::Always | ApprovalDecision::Rule
                    ));
                }
            }
            InputOutcome::Submitted(line) => prop_assert_eq!(line, before, "a message is what stood in the line"),
            InputOutcome::Rejected => {
                let words = ["y", "yes", "a", "always", "p", "prefix", "n", "no", "v", "never"];
                prop_assert!(is_enter && words.contains(&&*before.trim().to_lowercase()), "`{before}` is lost");
            }
            InputOutcome::Changed | InputOutcome::Interrupted => {
                prop_assert!(!is_enter || input.text().len() >= before.len(), "Enter loses `{before}`");
            }
        }
    }
    Ok(approvals)
}

#[test]
fn a_line_that_is_typed_before_the_chat_reads_is_sent_by_its_enter() {
    let home = super::trusting();
    let chat = home.bub(["chat"]).terminal(80, 30);
    chat.say("ECHO:typed ahead").sees("\ntyped ahead");
    chat.waits();
    // Between a turn and the editor, too.
    for number in 0..10 {
        chat.say(&format!("ECHO:number {number}"));
    }
    chat.sees("\nnumber 9");
    chat.waits();
    chat.say(",quit").ends();
}

/// The chat's own code takes each event; the rule that it is held against is this file's.
#[test]
fn ten_thousand_typing_histories_approve_nothing_without_an_answer_in_time_and_enter() {
    assert_eq!(ANSWER_DELAY, Duration::from_millis(500));
    let approvals = AtomicUsize::new(0);
    let config = ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let outcome = runner.run(&history(), |history| {
        approvals.fetch_add(play(&history)?, Ordering::Relaxed);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    // A rule under which nothing can be approved at all would pass everything above.
    let approvals = approvals.into_inner();
    assert!(approvals > 100, "only {approvals} approvals in all histories");
}
