//! The derive of `Schema`.

use crate::names::{Serde, docs, renamed};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Attribute, Data, DataEnum, DeriveInput, Error, Expr, ExprLit, ExprUnary, Field, Fields, Lit, Result, Type, UnOp,
};

/// The implementation for a struct with named fields or an enum of unit variants.
pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    if let Some(parameter) = input.generics.params.first() {
        return Err(Error::new_spanned(parameter, "a type with parameters has no derived schema: write the type out"));
    }
    let serde = Serde::read(&input.attrs)?;
    let node = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => object(&serde, &input.attrs, fields.named.iter())?,
            Fields::Unit => object(&serde, &input.attrs, std::iter::empty())?,
            Fields::Unnamed(fields) => {
                return Err(Error::new_spanned(fields, "a tuple has no derived schema: name its fields"));
            }
        },
        Data::Enum(data) => choice(&serde, data)?,
        Data::Union(data) => return Err(Error::new_spanned(data.union_token, "a union has no schema")),
    };
    Ok(quote! {
        impl ::bub_guest::Schema for #name {
            const NODE: ::bub_guest::schema::Node = #node;
        }
    })
}

fn object<'a>(serde: &Serde, attributes: &[Attribute], fields: impl Iterator<Item = &'a Field>) -> Result<TokenStream> {
    let about = docs(attributes);
    let closed = serde.is_closed;
    let mut members = Vec::new();
    for field in fields {
        members.extend(member(serde, field)?);
    }
    Ok(quote! {
        ::bub_guest::schema::Node::Object(&::bub_guest::schema::Object {
            about: &[#(#about),*],
            fields: &[#(#members),*],
            closed: #closed,
        })
    })
}

fn member(container: &Serde, field: &Field) -> Result<Option<TokenStream>> {
    let serde = Serde::read(&field.attrs)?;
    if serde.is_skipped {
        return Ok(None);
    }
    let ident =
        field.ident.as_ref().map(|ident| ident.to_string().trim_start_matches("r#").to_owned()).unwrap_or_default();
    let name = match (serde.rename, &container.rename_all) {
        (Some(name), _) => name,
        (None, Some(rule)) => renamed(&ident, rule, false)?,
        (None, None) => ident,
    };
    let about = docs(&field.attrs);
    let mut ty = field.ty.clone();
    let mut rules = Vec::new();
    let mut default = quote!(::core::option::Option::None);
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("schema")) {
        attribute.parse_nested_meta(|meta| {
            let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            let keyword = match key.as_str() {
                "with" => {
                    ty = meta.value()?.parse::<Type>()?;
                    return Ok(());
                }
                "default" => {
                    let value = literal(&meta.value()?.parse()?);
                    default = quote!(::core::option::Option::Some(#value));
                    return Ok(());
                }
                "minimum" | "maximum" | "pattern" => key.as_str(),
                "min_length" => "minLength",
                "max_length" => "maxLength",
                "min_items" => "minItems",
                "max_items" => "maxItems",
                other => {
                    return Err(meta.error(format!(
                        "`{other}` is not known: there are `minimum`, `maximum`, `min_length`, `max_length`, `min_items`, `max_items`, `pattern`, `default` and `with`"
                    )));
                }
            };
            let value = literal(&meta.value()?.parse()?);
            rules.push(quote!((#keyword, #value)));
            Ok(())
        })?;
    }
    let may_be_absent = serde.has_default || container.has_default;
    Ok(Some(quote! {
        ::bub_guest::schema::Field {
            name: #name,
            about: &[#(#about),*],
            node: <#ty as ::bub_guest::Schema>::NODE,
            required: !(#may_be_absent || <#ty as ::bub_guest::Schema>::NODE.is_nullable()),
            rules: &[#(#rules),*],
            default: #default,
        }
    }))
}

/// A literal as JSON has it; all else is an integer constant.
fn literal(value: &Expr) -> TokenStream {
    if let Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) = value
        && let Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) = &**expr
    {
        let json = format!("-{}", number.base10_digits());
        return quote!(::bub_guest::schema::Literal::Json(#json));
    }
    if let Expr::Lit(literal) = value {
        match &literal.lit {
            Lit::Str(text) => return quote!(::bub_guest::schema::Literal::Text(#text)),
            Lit::Bool(flag) => {
                let json = flag.value.to_string();
                return quote!(::bub_guest::schema::Literal::Json(#json));
            }
            Lit::Float(number) => {
                let json = number.base10_digits();
                return quote!(::bub_guest::schema::Literal::Json(#json));
            }
            _ => {}
        }
    }
    quote!(::bub_guest::schema::Literal::Integer((#value) as i128))
}

fn choice(serde: &Serde, data: &DataEnum) -> Result<TokenStream> {
    let mut choices = Vec::new();
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new_spanned(
                variant,
                "a variant with fields has no derived schema: use a struct with optional fields, or an enum of plain names",
            ));
        }
        let own = Serde::read(&variant.attrs)?;
        if own.is_skipped {
            continue;
        }
        let ident = variant.ident.to_string();
        let name = match (own.rename, &serde.rename_all) {
            (Some(name), _) => name,
            (None, Some(rule)) => renamed(&ident, rule, true)?,
            (None, None) => ident,
        };
        let about = docs(&variant.attrs);
        choices.push(quote!(::bub_guest::schema::Choice { name: #name, about: &[#(#about),*] }));
    }
    Ok(quote!(::bub_guest::schema::Node::Choice(&[#(#choices),*])))
}
