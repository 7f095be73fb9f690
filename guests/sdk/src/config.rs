//! The plugin's configuration, `[plugins.NAME.config]`.

use crate::backend;
use crate::error::reason;
use crate::schema::{Node, Schema};
use crate::{Context, Error, Result};
use serde::de::DeserializeOwned;

/// Reads the whole table into the type that `plugin!` names as `config`. The host has validated it against the type's schema.
///
/// ```
/// use bub_guest::{Schema, config, test};
///
/// #[derive(serde::Deserialize, Schema)]
/// struct Settings {
///     /// Who is greeted.
///     name: String,
///     #[serde(default)]
///     loud: bool,
/// }
///
/// let _host = test::Host::new().config(serde_json::json!({ "name": "Ada" }));
/// let settings: Settings = config::load().unwrap();
/// assert_eq!((settings.name.as_str(), settings.loud), ("Ada", false));
/// ```
///
/// # Errors
///
/// `config`, if a required key is missing.
pub fn load<T: Schema + DeserializeOwned>() -> Result<T> {
    let Node::Object(object) = T::NODE else {
        return Err(Error::config("the type of a configuration is a struct"));
    };
    // Put together as text, so that a small plugin needs no tree of JSON.
    let mut table = String::from("{");
    for field in object.fields {
        if let Some(json) = backend::config::get(field.name) {
            if table.len() > 1 {
                table.push(',');
            }
            table.push_str(&serde_json::to_string(field.name)?);
            table.push(':');
            table.push_str(&json);
        }
    }
    table.push('}');
    serde_json::from_str(&table)
        .map_err(|error| Error::config(format!("the plugin's configuration: {}", reason(&error))))
}

/// Reads one key. The keys `model`, `fallback-models`, `max-steps` and `max-tokens` answer with the program's settings where
/// the table does not have them.
///
/// # Errors
///
/// `invalid-input`, if the value is of another type.
pub fn get<T: DeserializeOwned>(key: &str) -> Result<Option<T>> {
    backend::config::get(key)
        .map(|json| serde_json::from_str(&json).context(format!("`{key}` of the configuration")))
        .transpose()
}

/// The JSON of one key.
pub fn get_json(key: &str) -> Option<String> {
    backend::config::get(key)
}
