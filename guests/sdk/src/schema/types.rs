//! The schemas of the types of std and of `serde_json`.

use super::{Node, Schema};
use std::collections::{BTreeMap, HashMap};

macro_rules! schema {
    ($($ty:ty => $node:expr),* $(,)?) => {
        $(impl Schema for $ty {
            const NODE: Node = $node;
        })*
    };
}

schema! {
    bool => Node::Boolean,
    String => Node::String,
    Box<str> => Node::String,
    char => Node::String,
    f32 => Node::Number,
    f64 => Node::Number,
    i8 => Node::Integer { unsigned: false },
    i16 => Node::Integer { unsigned: false },
    i32 => Node::Integer { unsigned: false },
    i64 => Node::Integer { unsigned: false },
    isize => Node::Integer { unsigned: false },
    u8 => Node::Integer { unsigned: true },
    u16 => Node::Integer { unsigned: true },
    u32 => Node::Integer { unsigned: true },
    u64 => Node::Integer { unsigned: true },
    usize => Node::Integer { unsigned: true },
    serde_json::Value => Node::Any,
    serde_json::Map<String, serde_json::Value> => Node::Map(&Node::Any),
}

impl<T: Schema> Schema for Option<T> {
    const NODE: Node = Node::Nullable(&T::NODE);
}

impl<T: Schema> Schema for Vec<T> {
    const NODE: Node = Node::List(&T::NODE);
}

impl<T: Schema> Schema for Box<T> {
    const NODE: Node = T::NODE;
}

impl<T: Schema> Schema for BTreeMap<String, T> {
    const NODE: Node = Node::Map(&T::NODE);
}

impl<T: Schema, S> Schema for HashMap<String, T, S> {
    const NODE: Node = Node::Map(&T::NODE);
}

/// One type or the other: the schema of a field that takes both, such as a number and its text.
///
/// ```
/// use bub_guest::schema::Either;
/// use bub_guest::{Schema, schema};
///
/// #[derive(Schema)]
/// struct Arguments {
///     #[schema(with = Either<i64, String>)]
///     chat: serde_json::Value,
/// }
/// assert!(schema!(Arguments).contains(r#""anyOf":[{"type":"integer"},{"type":"string"}]"#));
/// ```
#[derive(Debug)]
pub struct Either<A, B>(std::marker::PhantomData<(A, B)>);

impl<A: Schema, B: Schema> Schema for Either<A, B> {
    const NODE: Node = Node::Either(&A::NODE, &B::NODE);
}
