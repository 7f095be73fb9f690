//! Tools: functions with typed arguments.

use crate::error::reason;
use crate::schema::{Node, Object, Schema};
use crate::{Error, ErrorKind, Result, Turn, manifest};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Makes a tool of a function.
///
/// The function takes `&Turn`, a type of arguments that derives `Deserialize` and [`Schema`], both or neither, and returns a
/// [`Result`] of anything that serializes. Its doc comment is the description that a model reads. In the parentheses:
///
/// - `effect = read`, `write`, `send` or `run`: required, because the host decides from it whether a call is allowed.
/// - `name = "notes.add"`: the tool's name, unless it is that of the function.
/// - `reads_outside`: the tool returns text by other authors, so that calling it taints the turn.
/// - `for_people`: the tool is a comma command, and not offered to the model.
///
/// The attribute leaves the function as it is, and adds a type of the same name that implements [`Tool`]. `plugin!` lists it.
///
/// ```
/// use bub_guest::{Result, Schema, test, tool};
///
/// #[derive(serde::Deserialize, Schema)]
/// struct Numbers {
///     /// What is added.
///     numbers: Vec<i64>,
/// }
///
/// /// Add numbers.
/// #[tool(name = "math.add", effect = read)]
/// fn add(asked: Numbers) -> Result<i64> {
///     Ok(asked.numbers.iter().sum())
/// }
///
/// let host = test::Host::new();
/// assert_eq!(host.call::<add>(serde_json::json!({ "numbers": [1, 2] })).unwrap(), 3);
/// ```
pub use bub_guest_macros::tool;

pub use crate::wit::bub::tools::schema::{Effect, ToolSpec};

/// A tool, as the attribute [`macro@tool`] makes it.
pub trait Tool {
    /// A dotted name, `memory.save`.
    const NAME: &'static str;
    /// The description, by lines.
    const ABOUT: &'static [&'static str];
    /// The effect of a call.
    const EFFECT: Effect;
    /// Whether it returns text by other authors.
    const READS_OUTSIDE: bool;
    /// Whether it is offered to the model.
    const FOR_MODEL: bool;
    /// The type of its arguments.
    type Arguments: Schema;

    /// Calls it with arguments in JSON, and returns its result in JSON.
    ///
    /// # Errors
    ///
    /// `invalid-input` if the arguments are not of the type; the tool's own.
    fn call(turn: &Turn, arguments: &str) -> Result<String>;
}

/// The arguments of a tool that takes none.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct NoArguments {}

impl Schema for NoArguments {
    const NODE: Node = Node::Object(&Object { about: &[], fields: &[], closed: false });
}

/// The entry of a tool in the manifest.
pub const fn declaration<T: Tool>() -> manifest::Tool {
    manifest::Tool {
        name: T::NAME,
        about: T::ABOUT,
        parameters: T::Arguments::NODE,
        effect: match T::EFFECT {
            Effect::Read => "read",
            Effect::Write => "write",
            Effect::Send => "send",
            Effect::Run => "run",
        },
        reads_outside: T::READS_OUTSIDE,
        for_model: T::FOR_MODEL,
    }
}

/// The specification of a tool, as the host lists it. `parameters` is the schema of its arguments.
pub fn spec<T: Tool>(parameters: &str) -> ToolSpec {
    ToolSpec {
        name: T::NAME.to_owned(),
        description: T::ABOUT.join(" "),
        parameters: parameters.to_owned(),
        for_model: T::FOR_MODEL,
        effect: T::EFFECT,
        reads_outside: T::READS_OUTSIDE,
    }
}

/// Reads the arguments of a tool.
///
/// # Errors
///
/// `invalid-input` with the argument that is missing, unknown or of the wrong type.
pub fn arguments<T: DeserializeOwned>(tool: &str, arguments: &str) -> Result<T> {
    serde_json::from_str(arguments)
        .map_err(|error| Error::invalid(format!("the arguments of `{}`: {}", tool.replace('.', "_"), reason(&error))))
}

/// The result of a tool as JSON. Its length is counted first, so that a text of a megabyte is written into memory of the right
/// size at once.
///
/// # Errors
///
/// `unknown`, if the value has no JSON.
pub fn answer<T: Serialize>(value: &T) -> Result<String> {
    let unfit = |error: serde_json::Error| Error::new(ErrorKind::Unknown, error.to_string());
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).map_err(unfit)?;
    let mut json = Vec::with_capacity(count.0);
    serde_json::to_writer(&mut json, value).map_err(unfit)?;
    Ok(String::from_utf8(json)?)
}

/// The answer to a call of a tool that the plugin does not have.
pub fn unknown(name: &str) -> Error {
    Error::not_found(format!("there is no tool `{name}` here"))
}

/// Counts what is written to it.
struct Count(usize);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
