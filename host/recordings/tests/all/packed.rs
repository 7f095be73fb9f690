//! Values that are packed, and lists that are shared.

use bub_recordings::{Mark, Packed, Texts};
use serde_json::json;

#[test]
fn values_come_back_in_their_order_as_the_json_that_they_are() {
    let mut packed = Packed::default();
    packed.list(3);
    packed.text("a \"quoted\" text \u{1F512}");
    packed.float(0.25);
    packed.object(2);
    packed.text("is it");
    packed.bool(true);
    packed.text("nothing");
    packed.null();
    let plain = json!({ "a": [null, -1.50, { "b": "\u{1F512}", "c": false }], "d": {}, "e": [] });
    packed.value(&plain);
    let mark = packed.mark();
    packed.number(u64::MAX);
    packed.json(|buffer| serde_json::to_writer(buffer, &json!({ "a": [1, "\u{0}"] })).is_ok());
    packed.json(|buffer| {
        buffer.extend_from_slice(b"half of");
        false
    });
    packed.held(1000, Box::new(|| json!(["held"])));
    assert_eq!(packed.since(mark), 9 + 9 + r#"{"a":[1,"\u0000"]}"#.len() + 1 + 9 + 1000);
    let mut read = packed.read(Mark::default());
    assert_eq!(read.value(), json!(["a \"quoted\" text \u{1F512}", 0.25, { "is it": true, "nothing": null }]));
    assert_eq!(read.value(), plain);
    assert_eq!(read.value(), json!(u64::MAX));
    assert_eq!(read.value(), json!({ "a": [1, "\u{0}"] }));
    assert_eq!(read.value(), json!(null));
    assert_eq!(read.value(), json!(["held"]));
    assert_eq!(read.value(), json!(null), "there is no more");
    packed.back_to(mark);
    assert_eq!(packed.mark(), mark);
    assert_eq!(packed.read(mark).value(), json!(null));
}

#[test]
fn equal_lists_share_a_copy_while_one_holds_it() {
    let list = ["shared by", "", "two lists of this test"];
    let [first, second] = [0; 2].map(|_| Texts::shared(list.into_iter()));
    assert!(second.iter().eq(list));
    let shared = first.bytes() + second.bytes();
    for other in [&["shared by", "two lists of this test", ""][..], &list[..2], &["shared by", "", "two lists", "x"]] {
        assert!(!first.are(other.iter().copied()));
    }
    drop(first);
    assert!(second.bytes() > shared, "it is the only one now");
    assert!(second.are(list.into_iter()));
    assert!(Texts::new([].into_iter()).are([].into_iter()));
}
