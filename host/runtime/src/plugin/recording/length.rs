//! About how many bytes a value takes as JSON, without writing it: texts are not read, only their lengths are.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use std::fmt::Error;

/// What a number, a literal or the marks around a value take.
const SMALL: usize = 8;

/// About the length of a value as JSON.
pub fn length(value: &impl Serialize) -> usize {
    let mut counted = Counted(0);
    // A value that is no JSON is recorded as nothing.
    let _ = value.serialize(&mut counted);
    counted.0
}

/// The bytes so far.
struct Counted(usize);

impl Counted {
    fn add(&mut self, bytes: usize) -> Result<(), Error> {
        self.0 = self.0.saturating_add(bytes);
        Ok(())
    }
}

/// Values that are small, whatever they are.
macro_rules! small {
    ($($method:ident: $ty:ty),*) => {
        $(fn $method(self, _: $ty) -> Result<(), Error> {
            self.add(SMALL)
        })*
    };
}

/// The parts of a compound value, each with its name if it has one.
macro_rules! compound {
    ($($of:ident.$method:ident($($name:ident)?)),*) => {
        $(impl $of for &mut Counted {
            type Ok = ();
            type Error = Error;

            fn $method<T: ?Sized + Serialize>(&mut self, $($name: &'static str,)? value: &T) -> Result<(), Error> {
                $(self.add($name.len() + SMALL)?;)?
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Error> {
                Ok(())
            }
        })*
    };
}

compound! {
    SerializeSeq.serialize_element(),
    SerializeTuple.serialize_element(),
    SerializeTupleStruct.serialize_field(),
    SerializeTupleVariant.serialize_field(),
    SerializeStruct.serialize_field(name),
    SerializeStructVariant.serialize_field(name)
}

impl SerializeMap for &mut Counted {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), Error> {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

impl Serializer for &mut Counted {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    small! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32,
        serialize_f64: f64, serialize_char: char, serialize_unit_struct: &'static str
    }

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        self.add(text.len() + SMALL)
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Error> {
        // As a list of numbers.
        self.add(bytes.len().saturating_mul(4))
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.add(SMALL)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.add(SMALL)
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.add(variant.len() + SMALL)?;
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Error> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Error> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Error> {
        Ok(self)
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<Self, Error> {
        self.add(variant.len() + SMALL)?;
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Error> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Error> {
        Ok(self)
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<Self, Error> {
        self.add(variant.len() + SMALL)?;
        Ok(self)
    }
}
