//! The keys of config.toml with their types, derived from the types that deserialize the file: for each key, a probing
//! deserializer records the expected type, so the list cannot differ from what is read.

use super::file::File;
use serde::de::value::{Error, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use std::cell::RefCell;

/// A key and a description of its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedKey {
    /// As in `limits.fuel`; `*` stands for a name that the user chooses, `[]` for each table of a list.
    pub path: String,
    /// As in `whole number`.
    pub kind: String,
}

/// All keys that hold a value, in the order of the types.
pub fn typed_keys() -> Vec<TypedKey> {
    let mut keys = Vec::new();
    collect(&mut Vec::new(), &mut keys);
    keys
}

/// A step on the path to a value.
#[derive(Clone)]
enum Step {
    Key(&'static str),
    /// Any key of a table whose keys the user chooses.
    AnyKey,
    /// An item of a list.
    Item,
}

/// The expected type at a path.
enum Shape {
    Struct(&'static [&'static str]),
    Map,
    List,
    Choice(&'static [&'static str]),
    Value(&'static str),
}

fn collect(path: &mut Vec<Step>, keys: &mut Vec<TypedKey>) {
    let shape = shape(path);
    let mut under = |step: Step, keys: &mut Vec<TypedKey>| {
        path.push(step);
        collect(path, keys);
        path.pop();
    };
    let kind = match shape {
        Shape::Struct(fields) => {
            fields.iter().for_each(|field| under(Step::Key(field), keys));
            return;
        }
        Shape::Map => {
            let before = keys.len();
            under(Step::AnyKey, keys);
            // Settings of plugins may be any value.
            if keys.get(before).is_none_or(|key| key.kind != ANY) {
                return;
            }
            keys.truncate(before);
            "table".to_owned()
        }
        Shape::List => {
            let before = keys.len();
            under(Step::Item, keys);
            match keys.get(before) {
                Some(key) if key.path.ends_with("[]") => {
                    let kind = format!("list of {}", key.kind);
                    keys.truncate(before);
                    kind
                }
                _ => return,
            }
        }
        Shape::Choice(names) => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        Shape::Value(kind) => kind.to_owned(),
    };
    keys.push(TypedKey { path: written(path), kind });
}

/// The type of settings without a schema.
const ANY: &str = "any value";

fn written(path: &[Step]) -> String {
    path.iter().fold(String::new(), |text, step| match step {
        Step::Item => text + "[]",
        Step::AnyKey => text + ".*",
        Step::Key(key) if text.is_empty() => (*key).to_owned(),
        Step::Key(key) => text + "." + key,
    })
}

fn shape(path: &[Step]) -> Shape {
    let found = RefCell::new(None);
    // Deserialization always ends with an error; the result is stored in `found` before.
    let _ = File::deserialize(Probe { path, found: &found });
    found.into_inner().unwrap_or(Shape::Value(ANY))
}

/// Follows a path through the types, and records the expected type at its end.
#[derive(Clone, Copy)]
struct Probe<'a> {
    path: &'a [Step],
    found: &'a RefCell<Option<Shape>>,
}

impl<'a> Probe<'a> {
    fn note<T>(self, shape: Shape) -> Result<T, Error> {
        if self.path.is_empty() {
            *self.found.borrow_mut() = Some(shape);
        }
        Err(Error::custom("nothing is read"))
    }

    fn step(self) -> Option<(&'a Step, Self)> {
        let (first, rest) = self.path.split_first()?;
        Some((first, Self { path: rest, ..self }))
    }
}

macro_rules! value {
    ($($method:ident)* => $kind:literal) => {
        $(fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
            self.note(Shape::Value($kind))
        })*
    };
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    value! { deserialize_bool => "boolean" }
    value! { deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_i8 deserialize_i16 deserialize_i32
    deserialize_i64 => "whole number" }
    value! { deserialize_f32 deserialize_f64 => "number" }
    value! { deserialize_str deserialize_string => "text" }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        self.note(Shape::Value(ANY))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.step() {
            Some((Step::Key(key), probe)) => visitor.visit_map(One { key: Some(key), probe }),
            _ => self.note(Shape::Struct(fields)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.step() {
            Some((Step::AnyKey, probe)) => visitor.visit_map(One { key: Some("any"), probe }),
            _ => self.note(Shape::Map),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.step() {
            Some((Step::Item, probe)) => visitor.visit_seq(One { key: None, probe }),
            _ => self.note(Shape::List),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        self.note(Shape::Choice(variants))
    }

    forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

/// A table with one key, or a list with one item.
struct One<'a> {
    key: Option<&'static str>,
    probe: Probe<'a>,
}

impl<'de> MapAccess<'de> for One<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(key) = self.key.take() else { return Ok(None) };
        let key: StrDeserializer<'_, Error> = key.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(self.probe)
    }
}

impl<'de> SeqAccess<'de> for One<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        seed.deserialize(self.probe).map(Some)
    }
}
