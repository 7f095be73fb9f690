use bub_tape::json;

fn normalised(text: &str) -> String {
    json::normalise(text).unwrap()
}

#[test]
fn separators_and_escapes_are_pythons() {
    assert_eq!(normalised("{\"a\":[1,2 ,\t{}],\"b\":[]}\n"), r#"{"a": [1, 2, {}], "b": []}"#);
    assert_eq!(normalised(r#""\/\u00e9\u4F60\ud83d\ude00\u001F\b\f""#), "\"/é你😀\\u001f\\b\\f\"");
    assert_eq!(normalised("\"\u{7f}\u{2028}\\u007f\""), "\"\u{7f}\u{2028}\u{7f}\"");
}

#[test]
fn half_of_a_surrogate_pair_stays_an_escape() {
    assert_eq!(normalised(r#""\ud83dx\uDE00\ud83d\u0041""#), r#""\ud83dx\uDE00\ud83dA""#);
    assert_eq!(json::string(r#""a\ud83d""#).unwrap(), "a\u{fffd}");
}

#[test]
fn floats_have_pythons_digits_and_integers_their_own() {
    let cases = [
        ("1.0", "1.0"),
        ("1e20", "1e+20"),
        ("1E-7", "1e-07"),
        ("-0.0", "-0.0"),
        ("-0", "0"),
        ("0.1", "0.1"),
        ("1e15", "1000000000000000.0"),
        ("1e16", "1e+16"),
        ("123456789.125", "123456789.125"),
        ("0.0001", "0.0001"),
        ("0.00001234", "1.234e-05"),
        ("1.5e300", "1.5e+300"),
        ("1e999", "Infinity"),
        ("-1e999", "-Infinity"),
        ("5e-324", "5e-324"),
        ("100.0", "100.0"),
        ("-1963627510523804.25", "-1963627510523804.2"),
        ("9007199254740993.0", "9007199254740992.0"),
        ("1180591620717411303424", "1180591620717411303424"),
        ("[NaN,-Infinity]", "[NaN, -Infinity]"),
    ];
    for (text, printed) in cases {
        assert_eq!(normalised(text), printed);
        assert_eq!(normalised(printed), printed, "printing is stable");
    }
}

#[test]
fn invalid_json_is_rejected() {
    for text in [
        "",
        " ",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "{\"a\"}",
        "{a:1}",
        "01",
        "1.",
        ".5",
        "+1",
        "-",
        "1e",
        "tru",
        "nulll",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u+123\"",
        "\"a\nb\"",
        "[1] 2",
        "'a'",
        "\u{feff}1",
        "\"\\",
        "\"\\ud83d\\",
    ] {
        assert!(json::normalise(text).is_err(), "{text:?}");
    }
}

#[test]
fn json_is_64_deep_at_most() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(json::normalise(&nested(64)).is_ok());
    assert!(json::normalise(&nested(65)).is_err());
    assert!(json::normalise(&"[".repeat(1_000_000)).is_err());
    assert!(json::fields(&"{\"a\":".repeat(1_000_000)).is_err());
}

#[test]
fn pieces_of_an_object_are_as_they_are_written_and_the_last_of_a_key_wins() {
    let object = r#" {"a":1 , "\u0062" : {"x":[ ]} ,"a": 2.50}"#;
    let fields = json::fields(object).unwrap();
    let expected = [("a", "1"), ("b", r#"{"x":[ ]}"#), ("a", "2.50")];
    assert_eq!(fields, expected.map(|(key, value)| (key.to_owned(), value)));
    assert_eq!(json::get(object, "a"), Some("2.50"));
    assert_eq!(json::get(object, "c"), None);
    assert_eq!(json::elements("[ 1,\"a,]\" ]").unwrap(), ["1", "\"a,]\""]);
    assert!(json::fields("[]").is_err());
    assert!(json::elements("{}").is_err());
}

#[test]
fn a_quoted_text_comes_back() {
    let text: String = (0..0x2100).filter_map(char::from_u32).collect();
    assert_eq!(json::string(&json::quote(&text)).unwrap(), text);
}
