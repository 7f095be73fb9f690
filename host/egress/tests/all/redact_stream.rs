//! Secrets that lie across chunks.

use bub_egress::Redactor;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};

fn hiding(hidden: &[&str]) -> Redactor {
    Redactor::new(hidden.iter().map(|text| text.as_bytes().to_vec()))
}

fn over(redactor: Redactor, chunks: &[&str]) -> Vec<Result<Bytes, &'static str>> {
    let chunks: Vec<_> = chunks.iter().map(|chunk| Ok(Bytes::copy_from_slice(chunk.as_bytes()))).collect();
    redactor.redact_stream(stream::iter(chunks)).collect::<Vec<_>>().now_or_never().expect("nothing is waited for")
}

fn joined(chunks: Vec<Result<Bytes, &'static str>>) -> String {
    let bytes: Vec<u8> = chunks.into_iter().flat_map(|chunk| chunk.expect("it is good")).collect();
    String::from_utf8(bytes).expect("it is text")
}

const CASES: &[(&[&str], &str, &str)] = &[
    (&["secret"], "a secret b", "a *** b"),
    (&["secret"], "secretsecret", "******"),
    (&["secret"], "secresecret", "secre***"),
    (&["secret"], "a secre", "a secre"),
    (&["aab"], "aaaab", "aa***"),
    (&["abcabd"], "abcabcabd", "abc***"),
    // One that begins another: the longer one is taken, where it is there.
    (&["key", "keyring"], "key keyring keyrin", "*** *** ***rin"),
    // Two that overlap leave nothing behind.
    (&["abc", "bcd"], "xabcdx", "x***x"),
    (&["abc", "cde", "efg"], "abcdefgh", "***h"),
    (&["abcdef", "cd"], "abcdex abcdef", "ab***ex ***"),
    (&["aa"], "aaaaa", "***"),
    (&["*"], "a*b**", "a***b******"),
    (&["", "x"], "yxy", "y***y"),
    (&[], "plain", "plain"),
    (&["s"], "", ""),
];

#[test]
fn a_secret_is_found_wherever_the_chunks_are_cut() {
    for (hidden, text, wanted) in CASES {
        let redactor = hiding(hidden);
        assert_eq!(String::from_utf8(redactor.redact(text.as_bytes())).as_deref(), Ok(*wanted));
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let chunks = [&text[..first], &text[first..second], &text[second..]];
                assert_eq!(joined(over(redactor.clone(), &chunks)), *wanted, "{chunks:?} without {hidden:?}");
            }
        }
        let bytes: Vec<&str> = text.split("").collect();
        assert_eq!(joined(over(redactor, &bytes)), *wanted, "byte by byte");
    }
}

#[test]
fn only_a_possible_prefix_of_a_secret_waits_for_more() {
    let chunks = over(hiding(&["secret"]), &["data: one\n", "data: s", "o\n", "data: secr", "et\n"]);
    let chunks: Vec<Bytes> = chunks.into_iter().map(|chunk| chunk.expect("it is good")).collect();
    assert_eq!(chunks, ["data: one\n", "data: ", "so\n", "data: ", "***\n"]);
}

#[test]
fn an_error_ends_the_stream_and_half_a_secret_with_it() {
    let chunks = [Ok(Bytes::from_static(b"a secr")), Err("broken"), Ok(Bytes::from_static(b"et"))];
    let seen = hiding(&["secret"]).redact_stream(stream::iter(chunks)).collect::<Vec<_>>().now_or_never();
    assert_eq!(seen, Some(vec![Ok(Bytes::from_static(b"a ")), Err("broken")]));
}

#[test]
fn a_redactor_does_not_reveal_its_patterns() {
    assert_eq!(format!("{:?}", hiding(&["secret"])), "Redactor(1 hidden)");
}
