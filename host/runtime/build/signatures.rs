//! The signature in the contracts of each function that a plugin may export, written out, so that a plugin with another
//! one can be told which it is.

use std::fmt::Write;
use std::path::Path;
use wit_parser::{Function, Handle, Resolve, Type, TypeDefKind};

/// A table of interfaces, functions and their types, as Rust.
///
/// # Panics
///
/// The contracts cannot be read, in which case nothing else can be built either.
pub fn table(contracts: &[&Path]) -> String {
    let mut resolve = Resolve::default();
    for dir in contracts {
        resolve.push_path(dir).unwrap_or_else(|error| panic!("`{}`: {error:?}", dir.display()));
    }
    let mut table = "&[\n".to_owned();
    for (id, interface) in resolve.interfaces.iter() {
        let Some(name) = resolve.id_of(id) else { continue };
        for (function, of) in &interface.functions {
            let signature = signature(&resolve, of);
            writeln!(table, "    ({name:?}, {function:?}, {signature:?}),").expect("a string takes what is written");
        }
    }
    table + "]\n"
}

fn signature(resolve: &Resolve, function: &Function) -> String {
    let params: Vec<String> = function.params.iter().map(|param| shape(resolve, &param.ty)).collect();
    let result = function.result.as_ref().map(|result| format!(" -> {}", shape(resolve, result))).unwrap_or_default();
    format!("func({}){result}", params.join(", "))
}

/// A type with all its names written out but those of its own parts: a component does not say the others.
fn shape(resolve: &Resolve, ty: &Type) -> String {
    let one = |name: &str, ty: &Type| format!("{name}<{}>", shape(resolve, ty));
    let named = |name: &str, parts: Vec<String>| format!("{name} {{ {} }}", parts.join(", "));
    let id = match ty {
        Type::Bool => return "bool".to_owned(),
        Type::U8 => return "u8".to_owned(),
        Type::U16 => return "u16".to_owned(),
        Type::U32 => return "u32".to_owned(),
        Type::U64 => return "u64".to_owned(),
        Type::S8 => return "s8".to_owned(),
        Type::S16 => return "s16".to_owned(),
        Type::S32 => return "s32".to_owned(),
        Type::S64 => return "s64".to_owned(),
        Type::F32 => return "f32".to_owned(),
        Type::F64 => return "f64".to_owned(),
        Type::Char => return "char".to_owned(),
        Type::String => return "string".to_owned(),
        Type::Id(id) => id,
        _ => return "other".to_owned(),
    };
    match &resolve.types[*id].kind {
        TypeDefKind::Type(ty) => shape(resolve, ty),
        TypeDefKind::List(ty) => one("list", ty),
        TypeDefKind::Option(ty) => one("option", ty),
        TypeDefKind::Result(result) => {
            let part = |ty: &Option<Type>| ty.as_ref().map_or("_".to_owned(), |ty| shape(resolve, ty));
            format!("result<{}, {}>", part(&result.ok), part(&result.err))
        }
        TypeDefKind::Tuple(tuple) => {
            let types: Vec<String> = tuple.types.iter().map(|ty| shape(resolve, ty)).collect();
            format!("tuple<{}>", types.join(", "))
        }
        TypeDefKind::Record(record) => named(
            "record",
            record.fields.iter().map(|field| format!("{}: {}", field.name, shape(resolve, &field.ty))).collect(),
        ),
        TypeDefKind::Variant(variant) => {
            let case = |name: &String, ty: &Option<Type>| match ty {
                Some(ty) => format!("{name}({})", shape(resolve, ty)),
                None => name.clone(),
            };
            named("variant", variant.cases.iter().map(|of| case(&of.name, &of.ty)).collect())
        }
        TypeDefKind::Enum(of) => named("enum", of.cases.iter().map(|case| case.name.clone()).collect()),
        TypeDefKind::Flags(of) => named("flags", of.flags.iter().map(|flag| flag.name.clone()).collect()),
        TypeDefKind::Handle(Handle::Borrow(_)) => "borrow".to_owned(),
        TypeDefKind::Handle(Handle::Own(_)) | TypeDefKind::Resource => "own".to_owned(),
        _ => "other".to_owned(),
    }
}
