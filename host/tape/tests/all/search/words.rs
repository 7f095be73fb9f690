use super::{found, ids, search, texts};

#[test]
fn words_of_any_script_and_length_are_found_in_any_case() {
    let tape = texts(&[
        "我们昨天在上海讨论了记忆的设计",
        "用Rust写一个插件，然后测试",
        "ПРИВЕТ мир",
        "Ärger in der Straße, ÖL",
        "ラーメンを食べた",
        "ไปตลาด",
        "한국어 문장",
        "ΟΔΟΣ",
        "🦀 crab",
    ]);
    for (text, expected) in [
        ("中", vec![]),
        ("海", vec![1]),
        ("讨论", vec![1]),
        ("记忆的", vec![1]),
        ("设计 上海", vec![1]),
        ("rust", vec![2]),
        ("用RUST写", vec![2]),
        ("的 在", vec![1]),
        ("привет", vec![3]),
        ("МИР ПРИВЕТ", vec![3]),
        ("ärger", vec![4]),
        ("ÄRGER öl", vec![4]),
        ("straße", vec![4]),
        ("STRASSE", vec![]),
        ("メン", vec![5]),
        ("ตลาด", vec![6]),
        ("문장", vec![7]),
        ("οδος", vec![8]),
        ("🦀", vec![9]),
        ("a", vec![9, 4]),
    ] {
        assert_eq!(ids(&found(&tape, &search(text))), expected, "{text}");
    }
}

#[test]
fn quotes_backslashes_and_escapes_are_found_as_they_are_meant() {
    let tape = texts(&[
        "he said \"yes\"",
        r"C:\new\table",
        "first\nsecond\tthird",
        "\u{1b}[31mred\u{7}",
        "a\\",
        "/usr/bin",
        "\u{1b}promt",
    ]);
    for (text, expected) in [
        ("\"yes\"", vec![1]),
        (r"c:\NEW", vec![2]),
        (r"\", vec![5, 2]),
        (r"w\t", vec![2]),
        ("second", vec![3]),
        // The letters of an escape are no text.
        ("nsecond", vec![]),
        ("tthird", vec![]),
        ("u001b", vec![]),
        ("001b[31m", vec![]),
        ("b[31", vec![]),
        ("[31mRED", vec![4]),
        ("\u{1b}[31m", vec![4]),
        ("first second third", vec![3]),
        ("/USR/", vec![6]),
    ] {
        let hits = found(&tape, &search(text)).into_iter().filter(|hit| hit.score >= 0.9);
        assert_eq!(ids(&hits.collect::<Vec<_>>()), expected, "{text}");
    }
    // The same where nothing is found literally.
    for (text, expected) in [("secnod", vec![3]), ("nsecnod", vec![]), ("tbale", vec![2]), ("pormt", vec![7])] {
        assert_eq!(ids(&found(&tape, &search(text))), expected, "{text}");
    }
}

#[test]
fn lines_that_another_program_spelled_are_found() {
    let tape = [
        r#"{"id": 1, "kind": "message", "payload": {"content": "\u4f60\u597d\uff0c\u4e16\u754c"}, "meta": {}, "date": "D"}"#,
        r#"{"id":2,"kind":"message","payload":{"content":"https:\/\/example.org"},"meta":{},"date":"D"}"#,
        r#"{"id":3,"kind":"m\u0065ssage","payload":{"content":"sess\u0069on \ud83e\udd80"}}"#,
        r#"{"timestamp": 1767225600, "id": 4, "kind": "message", "payload": {"content": "old"}}"#,
        r#"{"timestamp": 1767225600, "id": 5, "payload": {"content": "older"}, "kind": "message", "a\"date": "2030-01-01"}"#,
        r#"{"id": 6, "kind": "message", "payload": {"content": "in meta"}, "meta": {"run_id": "run-9"}, "date": "2026-11-21"}"#,
    ];
    for (text, expected) in [
        ("你好", vec![1]),
        ("世", vec![1]),
        ("https://example.org", vec![2]),
        ("session", vec![3]),
        ("sessoin", vec![3]),
        ("🦀", vec![3]),
        ("2026-01-01", vec![5, 4]),
        ("1970", vec![3]),
        ("RUN-9", vec![6]),
        ("2026-11", vec![6]),
        ("{}", vec![]),
        ("2030", vec![]),
    ] {
        assert_eq!(ids(&found(&tape, &search(text))), expected, "{text}");
    }
}

#[test]
fn keys_and_meta_are_found_literally_without_tolerance_for_typing_errors() {
    let tape = [
        r#"{"id": 1, "kind": "message", "payload": {"content": "hello", "n": 12345.5}, "meta": {"plugin": "weather"}, "date": "D"}"#,
    ];
    for (text, expected) in [
        ("content", vec![1]),
        ("weather", vec![1]),
        ("message", vec![1]),
        ("12345.5", vec![1]),
        ("contnet", vec![]),
        ("waether", vec![]),
        ("mesage", vec![]),
        ("helo", vec![1]),
        ("helo weather", vec![1]),
    ] {
        assert_eq!(ids(&found(&tape, &search(text))), expected, "{text}");
    }
}
