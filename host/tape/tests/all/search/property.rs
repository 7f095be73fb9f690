use bub_tape::{Collector, Search, json};
use proptest::prelude::*;

use super::{found, ids, line, search};

/// Texts of few words, so that they meet.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        prop::sample::select(vec![
            "session", "sessoin", "tape", "tpae", "a", "kind", "date", "message", "meta", "n", "u00"
        ]),
        prop::sample::select(vec![
            "记忆",
            "记",
            "忆",
            "é",
            "É",
            "Straße",
            "ПРИВЕТ",
            "Привет",
            "ſ",
            "S",
            "K",
            "🦀",
            "用Tape写"
        ]),
        prop::sample::select(vec!["\"", "\\", "\\n", "{}", "{", ":", "/", "\"date\":", "2026", "event", "anchro"]),
    ];
    prop::collection::vec((word, prop::sample::select(vec![" ", "\n", "", "\t", "  ", "\u{1}"])), 1..6)
        .prop_map(|words| words.into_iter().flat_map(|(word, space)| [word, space]).collect())
}

fn any_line() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec!["message", "event", "anchor", "mess\\u0061ge"]);
    let date = prop::sample::select(vec!["2026-01-01T00:00:00+00:00", "2026-01-02", "none", "\\u0032026-01-01"]);
    (0..9_u64, kind, text(), text(), date, 0..12).prop_map(|(id, kind, first, second, date, form)| {
        let (first, second) = (json::quote(&first), json::quote(&second));
        let ascii: String = first
            .encode_utf16()
            .map(|unit| if unit < 128 { char::from(unit as u8).to_string() } else { format!("\\u{unit:04x}") })
            .collect();
        match form {
            0 => format!("{{\"id\": {id}, \"kind\": \"{kind}\", \"payload\": {{\"x\": {ascii}}}, \"date\": \"{date}\"}}"),
            1 => format!("{{\"kind\": \"{kind}\", \"id\": {id}, \"payload\": {{\"x\": {first}}}, \"timestamp\": 1767225600.5}}"),
            2 => format!("{{\"id\": {id}, \"kind\": \"event\", \"payload\": {{\"x\": {first}}}, \"kind\": \"{kind}\", \"date\": \"{date}\"}}"),
            3 => format!("{{\"id\": {id}, \"kind\": \"{kind}\", \"payload\": {{\"x\": {first}, \"date\": {second}}}}}"),
            4 => first,
            _ => format!(
                "{{\"id\": {id}, \"kind\": \"{kind}\", \"payload\": {{\"content\": {first}, \"kind\": [{second}, 1]}}, \"meta\": {{\"m\": {second}}}, \"date\": \"{date}\"}}"
            ),
        }
    })
}

/// The text with two neighbours swapped.
fn mistyped(word: &str, at: usize) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let at = at % (letters.len() - 1);
    letters.swap(at, at + 1);
    letters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_answers_as_a_collector_does(
        lines in prop::collection::vec(any_line(), 0..20),
        text in text(),
        kinds in prop::sample::subsequence(vec!["message", "event"], 0..=2),
        since in prop::option::of(Just("2026-01-02")),
        limit in 0..6_usize,
    ) {
        let search = Search {
            text,
            kinds: kinds.into_iter().map(str::to_owned).collect(),
            since: since.map(str::to_owned),
            limit,
            ..Search::default()
        };
        if Collector::new(&search).is_ok() {
            found(&lines, &search);
        }
    }

    #[test]
    fn text_is_found_by_any_part_of_it(text in "\\PC{0,10}[\\PC\n\t\"\\\\]{0,20}", from in 0..20_usize, length in 1..20_usize) {
        let part: String = text.chars().skip(from).take(length).collect();
        if !part.trim().is_empty() {
            let hits = found(&[line(1, &text)], &search(&part));
            prop_assert_eq!(ids(&hits), [1]);
        }
    }

    #[test]
    fn a_swap_of_two_letters_is_forgiven(words in prop::collection::vec("[a-zа-я]{4,12}", 1..5), at in any::<usize>()) {
        let typed: Vec<String> = words.iter().map(|word| mistyped(word, at)).collect();
        let hits = found(&[line(1, &words.join(", "))], &search(&typed.join(" ")));
        prop_assert_eq!(ids(&hits), [1]);
    }
}
