//! `plugin!`: the manifest of a plugin, its grants, and what it exports.

/// Says what a plugin is: its grants, its hooks and its tools. It occurs once, at the root of the crate.
///
/// All parts but `about` are optional, and their order is fixed. Doc comments in front of grants and hooks are the reasons
/// that the user reads before granting them.
///
/// ```
/// # use bub_guest::{Prompt, Result, Schema, SystemPart, Turn, tool};
/// # #[derive(serde::Deserialize, Schema)]
/// # struct Settings { greeting: Option<String> }
/// # fn parts(turn: &Turn, _prompt: Prompt) -> Result<Vec<SystemPart>> {
/// #     Ok(vec![SystemPart::new("count", turn.tape(TAPE)?.info()?.entries.to_string())])
/// # }
/// # /// Greet somebody.
/// # #[tool(effect = read)]
/// # fn greet() -> Result<&'static str> { Ok("hello") }
/// bub_guest::plugin! {
///     about: "Greets, and counts what is on the tape.",
///     config: Settings,
///     grants: {
///         /// to count the entries
///         TAPE: TapeRead,
///     },
///     hooks: {
///         /// to tell the model how many there are
///         system_prompt: parts,
///     },
///     tools: [greet],
/// }
///
/// # fn main() {
/// let manifest: serde_json::Value = serde_json::from_str(MANIFEST).unwrap();
/// assert_eq!(manifest["wants"][0]["grant"], "hook:system-prompt");
/// assert_eq!(manifest["wants"][1]["why"], "to count the entries");
/// assert_eq!(manifest["tools"][0]["description"], "Greet somebody.");
/// # }
/// ```
///
/// - `config` is a type that derives `Deserialize` and [`Schema`](crate::Schema): the table `[plugins.NAME.config]`, which
///   [`config::load`](crate::config::load) reads.
/// - `after_turn: "selected"` calls the hook `after_turn` only after turns in which the plugin was the selector.
/// - `grants` become constants of the types in [`grant`](crate::grant), each with the visibility that stands in front of it.
/// - `hooks` are functions, or types that implement a trait of [`hook`](crate::hook), which lists all of them.
/// - `tools` are functions with the attribute [`tool`](macro@crate::tool). `dynamic_tools` in its place is a type that
///   implements [`DynamicTools`](crate::hook::DynamicTools), for tools that are known only when the plugin runs.
///
/// It expands to the constants of the grants, `MANIFEST` with the JSON of the manifest, and for a component the custom section
/// `bub:manifest` and the exports.
#[macro_export]
macro_rules! plugin {
    (
        about: $about:literal,
        $(config: $config:ty,)?
        $(after_turn: $after_turn:literal,)?
        $(grants: {
            $($(#[doc = $grant_why:literal])* $visibility:vis $grant:ident: $kind:ident $(($argument:literal))?),* $(,)?
        } $(,)?)?
        $(hooks: {
            $($(#[doc = $hook_why:literal])* $hook:ident: $($target:ident)::+),* $(,)?
        } $(,)?)?
        $(tools: [$($tool:path),* $(,)?] $(,)?)?
        $(dynamic_tools: $dynamic:ty $(,)?)?
    ) => {
        $($(
            $(#[doc = $grant_why])*
            $visibility const $grant: $crate::grant::$kind = $crate::grant::$kind::declare($($argument)?);
        )*)?

        /// The manifest of this plugin, as the host reads it.
        #[allow(dead_code)]
        pub const MANIFEST: &str = {
            const MANIFEST: $crate::manifest::Manifest = $crate::manifest::Manifest {
                name: ::core::env!("CARGO_PKG_NAME"),
                version: ::core::env!("CARGO_PKG_VERSION"),
                about: $about,
                wants: &[
                    $($($crate::manifest::GrantRequest {
                        grant: [$crate::hook_grant!($hook), ""],
                        why: &[$($hook_why),*],
                    },)*)?
                    $($($crate::manifest::GrantRequest {
                        grant: [$crate::grant::$kind::PREFIX, ::core::concat!("" $(, $argument)?)],
                        why: &[$($grant_why),*],
                    },)*)?
                ],
                config: {
                    #[allow(unused_mut, unused_assignments)]
                    let mut config = ::core::option::Option::None;
                    $(config = ::core::option::Option::Some(<$config as $crate::Schema>::NODE);)?
                    config
                },
                after_turn: {
                    #[allow(unused_mut, unused_assignments)]
                    let mut after_turn = ::core::option::Option::None;
                    $(after_turn = ::core::option::Option::Some($after_turn);)?
                    after_turn
                },
                tools: {
                    #[allow(unused_mut, unused_assignments)]
                    let mut tools =
                        $crate::manifest::Tools::Fixed(&[$($($crate::tool::declaration::<$tool>()),*)?]);
                    $(
                        const fn check<T: $crate::hook::DynamicTools>() {}
                        check::<$dynamic>();
                        tools = $crate::manifest::Tools::Dynamic;
                    )?
                    tools
                },
                commands: $crate::manifest::first(&[$($($crate::declared!(commands, $hook, $($target)::+)),*)?]),
                provider: $crate::manifest::first(&[$($($crate::declared!(provider, $hook, $($target)::+)),*)?]),
                channel: $crate::manifest::first(&[$($($crate::declared!(channel, $hook, $($target)::+)),*)?]),
            };
            #[cfg_attr(target_family = "wasm", used)]
            #[cfg_attr(target_family = "wasm", unsafe(link_section = "bub:manifest"))]
            static SECTION: [u8; MANIFEST.len()] = MANIFEST.bytes();
            const TEXT: [u8; MANIFEST.len()] = MANIFEST.bytes();
            $crate::json::text(&TEXT)
        };

        $($($crate::export_hook!($hook, $($target)::+);)*)?
        $($crate::export_tools!($($tool),*);)?
        $($crate::export_tools!(@dynamic $dynamic);)?
    };
}

/// Exports tools; `plugin!` calls it.
#[doc(hidden)]
#[macro_export]
macro_rules! export_tools {
    (@dynamic $dynamic:ty) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            struct Plugin;

            impl $crate::wit::tools::exports::bub::tools::tools::Guest for Plugin {
                fn list_tools() -> ::std::vec::Vec<$crate::tool::ToolSpec> {
                    <$dynamic as $crate::hook::DynamicTools>::list()
                }

                fn call_tool(
                    turn: $crate::wit::bub::turn::turn::Turn,
                    name: ::std::string::String,
                    arguments: ::std::string::String,
                ) -> $crate::Result<::std::string::String> {
                    <$dynamic as $crate::hook::DynamicTools>::call(&$crate::Turn::from(turn), &name, &arguments)
                }
            }

            $crate::wit::tools::export!(Plugin with_types_in $crate::wit::tools);
        };
    };
    ($($tool:path),*) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            struct Plugin;

            impl $crate::wit::tools::exports::bub::tools::tools::Guest for Plugin {
                fn list_tools() -> ::std::vec::Vec<$crate::tool::ToolSpec> {
                    ::std::vec![$(
                        $crate::tool::spec::<$tool>($crate::schema!(<$tool as $crate::tool::Tool>::Arguments)),
                    )*]
                }

                fn call_tool(
                    turn: $crate::wit::bub::turn::turn::Turn,
                    name: ::std::string::String,
                    arguments: ::std::string::String,
                ) -> $crate::Result<::std::string::String> {
                    let turn = $crate::Turn::from(turn);
                    $(if name == <$tool as $crate::tool::Tool>::NAME {
                        return <$tool as $crate::tool::Tool>::call(&turn, &arguments);
                    })*
                    ::core::result::Result::Err($crate::tool::unknown(&name))
                }
            }

            $crate::wit::tools::export!(Plugin with_types_in $crate::wit::tools);
        };
    };
}
