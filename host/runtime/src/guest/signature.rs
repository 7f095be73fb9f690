//! Functions of another type than the contract says: which, and how they differ.

use bub_types::text::one_line;
use wasmtime::component::Component;
use wasmtime::component::types::{ComponentFunc, ComponentItem, Type};

/// Interface, function and type of all that the contracts say, as `build/signatures.rs` writes it.
const CONTRACTS: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/signatures.rs"));

/// Characters that are shown of a type, behind where two begin to differ.
const SHOWN: usize = 120;

/// Describes the first function of that export that has another type. None, where all seem right.
pub(super) fn difference(component: &Component, interface: &str) -> Option<String> {
    let engine = component.engine();
    let ty = component.component_type();
    let (_, export) = ty.exports(engine).find(|(name, _)| *name == interface)?;
    let ComponentItem::ComponentInstance(instance) = export.ty else { return None };
    let mut functions = instance.exports(engine).filter_map(|(name, item)| match item.ty {
        ComponentItem::ComponentFunc(function) => Some((name.to_owned(), function)),
        _ => None,
    });
    functions.find_map(|(name, function)| {
        let (_, _, wanted) = CONTRACTS.iter().find(|(of, wanted, _)| *of == interface && *wanted == name)?;
        let found = signature(&function);
        (found != *wanted).then(|| {
            let (found, wanted) = apart(&found, wanted);
            format!("`{}` is `{found}`, and the contract says `{wanted}`", one_line(&name))
        })
    })
}

/// Both from a little before where they differ.
fn apart(one: &str, other: &str) -> (String, String) {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let cut = |text: &str| {
        let from = if same < SHOWN { 0 } else { same - SHOWN / 4 };
        let rest: String = one_line(&text.chars().skip(from).take(SHOWN + SHOWN / 4).collect::<String>());
        let (before, behind) = (if from > 0 { "..." } else { "" }, text.chars().count() > from + SHOWN + SHOWN / 4);
        format!("{before}{rest}{}", if behind { "..." } else { "" })
    };
    (cut(one), cut(other))
}

fn signature(function: &ComponentFunc) -> String {
    let params: Vec<String> = function.params().map(|(_, ty)| shape(&ty)).collect();
    let result = function.results().next().map(|ty| format!(" -> {}", shape(&ty))).unwrap_or_default();
    format!("func({}){result}", params.join(", "))
}

fn shape(ty: &Type) -> String {
    let part = |ty: Option<Type>| ty.map_or("_".to_owned(), |ty| shape(&ty));
    let named = |name: &str, parts: Vec<String>| format!("{name} {{ {} }}", parts.join(", "));
    let plain = match ty {
        Type::Bool => "bool",
        Type::U8 => "u8",
        Type::U16 => "u16",
        Type::U32 => "u32",
        Type::U64 => "u64",
        Type::S8 => "s8",
        Type::S16 => "s16",
        Type::S32 => "s32",
        Type::S64 => "s64",
        Type::Float32 => "f32",
        Type::Float64 => "f64",
        Type::Char => "char",
        Type::String => "string",
        Type::Own(_) => "own",
        Type::Borrow(_) => "borrow",
        Type::List(list) => return format!("list<{}>", shape(&list.ty())),
        Type::Option(option) => return format!("option<{}>", shape(&option.ty())),
        Type::Result(result) => return format!("result<{}, {}>", part(result.ok()), part(result.err())),
        Type::Tuple(tuple) => {
            let types: Vec<String> = tuple.types().map(|ty| shape(&ty)).collect();
            return format!("tuple<{}>", types.join(", "));
        }
        Type::Record(record) => {
            let fields = record.fields().map(|field| format!("{}: {}", field.name, shape(&field.ty)));
            return named("record", fields.collect());
        }
        Type::Variant(variant) => {
            let case = |name: &str, ty: Option<Type>| match ty {
                Some(ty) => format!("{name}({})", shape(&ty)),
                None => name.to_owned(),
            };
            return named("variant", variant.cases().map(|of| case(of.name, of.ty)).collect());
        }
        Type::Enum(of) => return named("enum", of.names().map(str::to_owned).collect()),
        Type::Flags(of) => return named("flags", of.names().map(str::to_owned).collect()),
        _ => "other",
    };
    plain.to_owned()
}
