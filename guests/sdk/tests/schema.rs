//! The schemas of many types, and what serde makes of values of them.

use bub_guest::{Schema, schema};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn read(schema: &str) -> Value {
    serde_json::from_str(schema).unwrap_or_else(|error| panic!("{error}: {schema}"))
}

const MAX_ENTRIES: u32 = 256;

/// How a list is sorted.
#[derive(Debug, PartialEq, Deserialize, Schema)]
#[serde(rename_all = "kebab-case")]
enum Order {
    /// The newest first.
    NewestFirst,
    /// The oldest first.
    OldestFirst,
    #[serde(rename = "none")]
    Unsorted,
}

#[derive(Debug, PartialEq, Deserialize, Schema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Plain {
    OneTwo,
}

/// A span of days.
#[derive(Debug, PartialEq, Deserialize, Schema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Span {
    first_day: String,
    #[serde(rename = "until")]
    last_day: Option<String>,
}

#[derive(Debug, PartialEq, Deserialize, Schema)]
struct Everything {
    /// Words that must
    /// all be there.
    text: String,
    #[serde(default)]
    #[schema(default = 20, minimum = 1, maximum = MAX_ENTRIES)]
    limit: u32,
    #[schema(minimum = -1.5)]
    score: f64,
    offset: Option<i64>,
    #[serde(default)]
    #[schema(default = false)]
    archive: bool,
    order: Option<Order>,
    /// The days.
    span: Span,
    #[schema(min_items = 1)]
    spans: Vec<Span>,
    counts: BTreeMap<String, u8>,
    #[schema(pattern = "^a\"b", max_length = 9)]
    name: Option<String>,
    any: Option<Value>,
    #[serde(skip)]
    hidden: u8,
    r#type: Box<str>,
}

#[test]
fn a_struct_becomes_an_object_with_its_fields_in_order() {
    let schema = read(schema!(Everything));
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    let expected =
        ["text", "limit", "score", "offset", "archive", "order", "span", "spans", "counts", "name", "any", "type"];
    assert_eq!(names, expected);
    assert_eq!(schema["required"], json!(["text", "score", "span", "spans", "counts", "type"]));
    assert!(schema.get("additionalProperties").is_none());
}

#[test]
fn a_field_has_the_schema_of_its_type_its_rules_its_default_and_its_description() {
    let properties = &read(schema!(Everything))["properties"];
    for (name, expected) in [
        ("text", json!({ "type": "string", "description": "Words that must all be there." })),
        ("limit", json!({ "type": "integer", "minimum": 1, "maximum": 256, "default": 20 })),
        ("score", json!({ "type": "number", "minimum": -1 })),
        ("offset", json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] })),
        ("archive", json!({ "type": "boolean", "default": false })),
        ("counts", json!({ "type": "object", "additionalProperties": { "type": "integer", "minimum": 0 } })),
        ("any", json!({ "anyOf": [{}, { "type": "null" }] })),
        ("name", json!({ "anyOf": [{ "type": "string", "pattern": "^a\"b", "maxLength": 9 }, { "type": "null" }] })),
    ] {
        if name != "score" {
            assert_eq!(properties[name], expected, "{name}");
        }
    }
    assert_eq!(properties["score"].to_string(), r#"{"type":"number","minimum":-1.5}"#);
}

#[test]
fn an_enum_lists_its_names_and_describes_those_with_a_comment() {
    let about = "`newest-first`: The newest first. `oldest-first`: The oldest first.";
    let order = json!({
        "anyOf": [{ "type": "string", "enum": ["newest-first", "oldest-first", "none"] }, { "type": "null" }],
        "description": about,
    });
    assert_eq!(read(schema!(Everything))["properties"]["order"], order);
    assert_eq!(read(schema!(Plain)), json!({ "type": "string", "enum": ["ONE_TWO"] }));
}

#[test]
fn nested_structs_keep_their_own_names_and_descriptions() {
    let schema = read(schema!(Everything));
    let span = json!({
        "type": "object",
        "properties": { "firstDay": { "type": "string" }, "until": { "anyOf": [{ "type": "string" }, { "type": "null" }] } },
        "required": ["firstDay"],
        "additionalProperties": false,
    });
    let described = |about: &str| {
        let mut span = span.clone();
        span["description"] = about.into();
        span
    };
    assert_eq!(schema["properties"]["span"], described("The days."));
    let list = json!({ "type": "array", "items": described("A span of days."), "minItems": 1 });
    assert_eq!(schema["properties"]["spans"], list);
}

#[test]
fn serde_accepts_values_that_the_schema_describes() {
    let value = json!({
        "text": "a", "score": 1, "span": { "firstDay": "x" }, "spans": [], "counts": { "a": 1 }, "type": "t",
        "order": "none",
    });
    let read: Everything = serde_json::from_value(value).unwrap();
    assert_eq!((read.limit, read.order, read.span.first_day.as_str()), (0, Some(Order::Unsorted), "x"));
    let closed = serde_json::from_value::<Span>(json!({ "firstDay": "x", "other": 1 }));
    assert!(closed.unwrap_err().to_string().contains("unknown field `other`"));
}

/// Doc comments with "quotes", a \ backslash and a ü.
#[derive(Schema)]
struct Odd {}

#[test]
fn descriptions_are_escaped() {
    assert_eq!(read(schema!(Odd))["description"], "Doc comments with \"quotes\", a \\ backslash and a ü.");
}
