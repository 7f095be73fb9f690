//! The macros of `bub-guest`: the derive of its trait `Schema`, and the attribute of a tool. Use them through that crate.

mod names;
mod schema;
mod tool;

use proc_macro::TokenStream;

/// Derives `bub_guest::Schema`; its documentation is there.
#[proc_macro_derive(Schema, attributes(schema, serde))]
pub fn schema(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    schema::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes a tool of a function; its documentation is `bub_guest::tool`.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let options = syn::parse_macro_input!(attribute as tool::Options);
    let function = syn::parse_macro_input!(item as syn::ItemFn);
    tool::expand(&options, &function).unwrap_or_else(syn::Error::into_compile_error).into()
}
