//! The keys of registries of plugins, and of whose plugins are loaded.

use super::{Key, key};
use bub_config::Config;
use serde_json::{Value, json};

pub(super) fn keys(config: &Config) -> Vec<Key> {
    let (registry, trust) = (&config.registry, &config.trust);
    vec![
        key(
            "registry.default",
            Value::Null,
            json!(registry.default),
            "where `NAME@VERSION` is looked for, as in `oci://HOST/PATH`",
        ),
        key(
            "registry.secrets.HOST",
            Value::Null,
            Value::Null,
            "name of the secret with the credentials for a registry, `USER:PASSWORD` or a token",
        ),
        key("registry.timeout_seconds", 120, registry.timeout_seconds, "seconds that a request to a registry may take"),
        key("trust.require", false, trust.require, "whether every plugin of a file needs a signature of a trusted key"),
        key(
            "trust.advisories",
            Value::Null,
            json!(trust.advisories),
            "file of advisories for `plugin audit`, in the format of OSV",
        ),
        key("trust.keys.NAME.key", Value::Null, Value::Null, "public key of an author, in the format of minisign"),
        key(
            "trust.keys.NAME.plugins",
            Value::Null,
            Value::Null,
            "plugins that the key may sign: names, or beginnings with `*`",
        ),
        key(
            "trust.keys.NAME.expires",
            Value::Null,
            Value::Null,
            "last day (UTC) on which it may sign what is installed, as in `\"2027-01-31\"`",
        ),
        key(
            "trust.keys.NAME.revoked",
            false,
            Value::Null,
            "whether nothing that the key has signed is loaded any more",
        ),
        key("trust.plugins.NAME.require", Value::Null, Value::Null, "as `trust.require`, for one plugin"),
        key("trust.plugins.NAME.signer", Value::Null, Value::Null, "name of the only key that may sign the plugin"),
    ]
}
