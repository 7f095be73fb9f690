//! `blame`: every byte of a model request has a source, and the right one.

mod chain;
mod next;
mod turns;

use bub_tests::Home;
use serde_json::Value;

/// The blame of every request of the turns that added to a file.
fn of_file(home: &Home, file: &str) -> Vec<Value> {
    let finished = home.bub(["blame", "--file", file, "--json"]).finish();
    assert_eq!(finished.code, Some(0), "{finished}");
    let all: Value = serde_json::from_str(&finished.stdout).expect("it is JSON");
    let all = match all {
        Value::Array(all) => all,
        one => vec![one],
    };
    all.iter().for_each(check);
    all
}

/// The spans cover the body without gaps, and each has a source.
pub(crate) fn check(blame: &Value) {
    let body = blame["body"].as_str().expect("a body");
    let sources = blame["sources"].as_array().expect("sources").len() as u64;
    let mut end = 0;
    for span in blame["spans"].as_array().expect("spans") {
        assert_eq!(span["start"], end, "{span}");
        assert!(span["source"].as_u64().expect("a source") < sources, "{span}");
        end = span["end"].as_u64().expect("an end");
    }
    assert_eq!(end, body.len() as u64);
}

/// The source of a text in the body, all of which has the same one.
#[track_caller]
fn source_of<'a>(blame: &'a Value, text: &str) -> &'a Value {
    let body = blame["body"].as_str().expect("a body");
    let at = body.find(text).unwrap_or_else(|| panic!("`{text}` is not in {body}"));
    source_at(blame, at, text)
}

/// The source of the text that stands there.
#[track_caller]
fn source_at<'a>(blame: &'a Value, at: usize, text: &str) -> &'a Value {
    let end = (at + text.len()) as u64;
    let number = |span: &Value, key: &str| span[key].as_u64().expect("a number");
    let spans = blame["spans"].as_array().expect("spans");
    let mut found = spans.iter().filter(|span| number(span, "start") < end && number(span, "end") > at as u64);
    let source = &found.next().expect("a span")["source"];
    let others: Vec<&Value> = found.filter(|span| span["source"] != *source).collect();
    assert!(others.is_empty(), "`{text}` has several sources: {others:#?}\n{:#?}", blame["sources"]);
    &blame["sources"][source.as_u64().expect("a source") as usize]
}

/// The source of the text is that plugin in that hook.
#[track_caller]
fn is_by(blame: &Value, text: &str, plugin: &str, hook: &str) {
    let source = source_of(blame, text);
    assert_eq!((&source["plugin"], &source["hook"]), (&plugin.into(), &hook.into()), "`{text}`: {source}");
    assert!(source["digest"].as_str().is_some_and(|digest| digest.len() >= 32), "{source}");
}
