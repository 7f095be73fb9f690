//! Texts: what is escaped, and what takes which columns.

use bub_terminal::text::{age, cut, fold, line, padded, width};

#[test]
fn joiners_are_printed_where_a_text_needs_them() {
    for text in [
        "👨\u{200d}👩\u{200d}👧",
        "👩🏽\u{200d}🚀",
        "🏳\u{fe0f}\u{200d}🌈",
        "🧔\u{200d}♂\u{fe0f}",
        "می\u{200c}خواهم",
        "क्\u{200d}ष",
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
        "ệ e\u{302}\u{323} ก\u{e33} 1\u{fe0f}\u{20e3}",
    ] {
        assert_eq!(line(text), text);
        assert!(fold(text, 200).concat() == text && cut(text, 200) == text, "{text}");
    }
}

#[test]
fn invisible_characters_that_join_nothing_are_escaped() {
    for (text, expected) in [
        ("pay\u{200d}pal", "pay\\u{200d}pal"),
        ("pay\u{200c}pal", "pay\\u{200c}pal"),
        ("\u{200d}👩", "\\u{200d}👩"),
        ("👩\u{200d}", "👩\\u{200d}"),
        ("👩\u{200d}\u{200d}🚀", "👩\\u{200d}\\u{200d}🚀"),
        ("👩\u{200c}🚀", "👩\\u{200c}🚀"),
        ("م\u{200c}a", "م\\u{200c}a"),
        ("a\u{e0061}b", "a\\u{e0061}b"),
        ("a\u{ad}b\u{3164}", "a\\u{ad}b\\u{3164}"),
        ("a\u{200b}\u{202e}\u{feff}\u{1b}", "a\\u{200b}\\u{202e}\\u{feff}\\u{1b}"),
    ] {
        assert_eq!(line(text), expected, "{text:?}");
    }
    let piled = format!("a{}", "\u{301}".repeat(5000));
    assert_eq!(line(&piled).matches('\u{301}').count(), 8);
}

#[test]
fn a_cut_never_parts_a_picture_and_never_takes_more_columns_than_it_may() {
    let family = "👨\u{200d}👩\u{200d}👧";
    let text = family.repeat(100);
    for most in 1..40 {
        let cut = cut(&text, most);
        assert!(width(&cut) <= most && !cut.trim_end_matches('…').ends_with('\u{200d}'), "{most}: {cut}");
        assert!(fold(&text, most).iter().all(|line| !line.starts_with('\u{200d}')), "{most}");
    }
    assert_eq!(padded("界", 4), "界  ");
    assert_eq!(cut(&"x".repeat(1 << 20), 10), "xxxxxxxxx…");
}

#[test]
fn an_age_is_shown_in_its_largest_unit() {
    for (seconds, expected) in [
        (0, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (7200, "2 h ago"),
        (86_400, "1 day ago"),
        (200_000, "2 days ago"),
    ] {
        assert_eq!(age(seconds), expected);
    }
}
