//! The attribute of a tool.

use crate::names::docs;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Error, FnArg, Ident, ItemFn, LitStr, Result, Token, Type};

/// The arguments of the attribute.
pub struct Options {
    name: Option<LitStr>,
    effect: Option<Ident>,
    reads_outside: bool,
    for_people: bool,
}

impl Parse for Options {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut options = Self { name: None, effect: None, reads_outside: false, for_people: false };
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            match key.to_string().as_str() {
                "name" => {
                    input.parse::<Token![=]>()?;
                    options.name = Some(input.parse()?);
                }
                "effect" => {
                    input.parse::<Token![=]>()?;
                    options.effect = Some(input.parse()?);
                }
                "reads_outside" => options.reads_outside = true,
                "for_people" => options.for_people = true,
                other => {
                    let message = format!(
                        "`{other}` is not known: there are `name = \"...\"`, `effect = read`, `reads_outside` and `for_people`"
                    );
                    return Err(Error::new(key.span(), message));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

/// The function as it is, and beside it a type of the same name that implements `bub_guest::tool::Tool`.
pub fn expand(options: &Options, function: &ItemFn) -> Result<TokenStream> {
    let ident = &function.sig.ident;
    let visibility = &function.vis;
    let about = docs(&function.attrs);
    if about.is_empty() {
        return Err(Error::new(ident.span(), "a tool needs a doc comment: it is the description that a model reads"));
    }
    let name = options.name.as_ref().map_or_else(|| ident.to_string(), LitStr::value);
    let effect = match &options.effect {
        Some(effect) if ["read", "write", "send", "run"].contains(&effect.to_string().as_str()) => {
            let mut variant = effect.to_string();
            variant[..1].make_ascii_uppercase();
            format_ident!("{variant}", span = effect.span())
        }
        Some(effect) => {
            return Err(Error::new(effect.span(), "an effect is `read`, `write`, `send` or `run`"));
        }
        None => {
            let message = "a tool needs `effect = read`, `write`, `send` or `run`: the host decides from it whether a call is allowed";
            return Err(Error::new(ident.span(), message));
        }
    };
    let (mut passed, mut arguments) = (Vec::new(), None);
    for input in &function.sig.inputs {
        let FnArg::Typed(input) = input else {
            return Err(Error::new_spanned(input, "a tool is a function of its own, without `self`"));
        };
        match &*input.ty {
            Type::Reference(_) => passed.push(quote!(turn)),
            ty if arguments.is_none() => {
                arguments = Some(ty.clone());
                passed.push(quote!(::bub_guest::tool::arguments::<#ty>(Self::NAME, arguments)?));
            }
            ty => return Err(Error::new_spanned(ty, "a tool has one type of arguments: a struct with all of them")),
        }
    }
    let arguments = arguments.map_or_else(|| quote!(::bub_guest::tool::NoArguments), |ty| quote!(#ty));
    let reads_outside = options.reads_outside;
    let for_model = !options.for_people;
    let documentation = format!("The tool `{name}`, as `plugin!` lists it and tests call it.");
    Ok(quote! {
        #function

        #[doc = #documentation]
        #[allow(non_camel_case_types)]
        #visibility struct #ident {}

        impl ::bub_guest::tool::Tool for #ident {
            const NAME: &'static str = #name;
            const ABOUT: &'static [&'static str] = &[#(#about),*];
            const EFFECT: ::bub_guest::tool::Effect = ::bub_guest::tool::Effect::#effect;
            const READS_OUTSIDE: bool = #reads_outside;
            const FOR_MODEL: bool = #for_model;
            type Arguments = #arguments;

            fn call(turn: &::bub_guest::Turn, arguments: &str) -> ::bub_guest::Result<::std::string::String> {
                ::bub_guest::tool::answer(&#ident(#(#passed),*)?)
            }
        }
    })
}
