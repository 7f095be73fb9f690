//! JSON Schemas that are made at compile time, of the types of arguments and configurations.

mod types;
mod write;

pub use types::Either;

/// Derives [`Schema`] for a struct with named fields or an enum of unit variants.
///
/// Doc comments are the descriptions. Names, defaults and unknown fields follow serde's attributes `rename`,
/// `rename_all`, `default`, `deny_unknown_fields` and `skip`. A field is required unless it is an `Option` or has a
/// default. Further rules of a schema are in `#[schema(...)]` on a field: `minimum`, `maximum`, `min_length`,
/// `max_length`, `min_items`, `max_items` and `default` take a literal or the path of an integer constant, `pattern`
/// takes a literal, and `with = TYPE` takes the schema of another type, for a field that serde reads by a function of
/// its own.
///
/// ```
/// use bub_guest::{Schema, schema};
///
/// /// Where and when.
/// #[derive(serde::Deserialize, Schema)]
/// #[serde(deny_unknown_fields)]
/// struct Forecast {
///     /// The name of a city.
///     city: String,
///     /// How many days.
///     #[serde(default)]
///     #[schema(minimum = 1, maximum = 7, default = 3)]
///     days: Option<u8>,
/// }
///
/// let json: serde_json::Value = serde_json::from_str(schema!(Forecast)).unwrap();
/// assert_eq!(json["required"], serde_json::json!(["city"]));
/// assert_eq!(json["properties"]["days"]["anyOf"][0]["maximum"], 7);
/// ```
pub use bub_guest_macros::Schema;

/// A type with a JSON Schema. [derive@Schema] implements it.
///
/// ```compile_fail
/// // A tagged enum has no schema here: the derive says so, and what to do about it.
/// #[derive(bub_guest::Schema)]
/// enum Shape { Circle(f64), Square(f64) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no JSON Schema",
    note = "derive it with `#[derive(bub_guest::Schema)]`, or name another type with `#[schema(with = TYPE)]`"
)]
pub trait Schema {
    /// The schema.
    const NODE: Node;
}

/// The schema of a type, as a text that is made at compile time.
#[macro_export]
macro_rules! schema {
    ($ty:ty) => {{
        const LEN: usize = {
            let mut counter = $crate::json::Writer::<0>::new();
            <$ty as $crate::Schema>::NODE.write(&mut counter);
            counter.len()
        };
        const BYTES: [u8; LEN] = {
            let mut writer = $crate::json::Writer::<LEN>::new();
            <$ty as $crate::Schema>::NODE.write(&mut writer);
            writer.finish()
        };
        $crate::json::text(&BYTES)
    }};
}

/// A JSON Schema, as far as the arguments of tools need one.
#[derive(Debug, Clone, Copy)]
pub enum Node {
    /// Any value.
    Any,
    /// `true` or `false`.
    Boolean,
    /// A text.
    String,
    /// A whole number; without a sign if it is `unsigned`.
    Integer {
        /// Whether 0 is the smallest.
        unsigned: bool,
    },
    /// A number.
    Number,
    /// One of these texts.
    Choice(&'static [Choice]),
    /// A list.
    List(&'static Node),
    /// An object with any keys.
    Map(&'static Node),
    /// The same, or null.
    Nullable(&'static Node),
    /// An object with known members.
    Object(&'static Object),
    /// One or the other.
    Either(&'static Node, &'static Node),
}

/// A variant of an enum.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// The text in JSON.
    pub name: &'static str,
    /// Its doc comment, by lines.
    pub about: &'static [&'static str],
}

/// A struct.
#[derive(Debug, Clone, Copy)]
pub struct Object {
    /// Its doc comment, by lines.
    pub about: &'static [&'static str],
    /// Its fields.
    pub fields: &'static [Field],
    /// Whether other members are refused.
    pub closed: bool,
}

/// A field of a struct.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The member's name in JSON.
    pub name: &'static str,
    /// Its doc comment, by lines.
    pub about: &'static [&'static str],
    /// The schema of its type.
    pub node: Node,
    /// Whether it must be there.
    pub required: bool,
    /// Further keywords, such as `minimum`.
    pub rules: &'static [(&'static str, Literal)],
    /// The value that applies if the field is absent.
    pub default: Option<Literal>,
}

/// The value of a keyword.
#[derive(Debug, Clone, Copy)]
pub enum Literal {
    /// A whole number.
    Integer(i128),
    /// A text.
    Text(&'static str),
    /// JSON as it is.
    Json(&'static str),
}
