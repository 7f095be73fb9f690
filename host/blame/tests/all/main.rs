//! Tests of the crate's public API.

mod chains;
mod hostile;
mod requests;

use bub_blame::{Blame, RequestTrail, blame};

/// The blame of a trail, whose spans cover the body without gaps.
fn blamed(trail: &RequestTrail) -> Blame {
    let blame = blame(trail).unwrap_or_else(|error| panic!("{error}"));
    let mut end = 0;
    for span in &blame.spans {
        assert_eq!(span.start, end, "a gap or an overlap in {:?}", blame.spans);
        assert!(span.end > span.start && span.source < blame.sources.len());
        assert!(blame.body.is_char_boundary(span.end));
        end = span.end;
    }
    assert_eq!(end, blame.body.len());
    blame
}

/// The source of each occurrence of a text in the body; all of its bytes have one.
fn source_of(blame: &Blame, text: &str) -> usize {
    let at = blame.body.find(text).unwrap_or_else(|| panic!("`{text}` is not in {}", blame.body));
    let mut found = blame.spans.iter().filter(|span| span.start < at + text.len() && span.end > at);
    let source = found.next().expect("a span covers it").source;
    assert!(found.all(|span| span.source == source), "`{text}` has several sources: {:?}", blame.spans);
    source
}
