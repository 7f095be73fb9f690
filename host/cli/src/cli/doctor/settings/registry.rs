//! The keys of registries of plugins, of whose plugins are loaded, and of newer programs.

use super::{Key, key};
use bub_config::Config;
use serde_json::{Value, json};

pub(super) fn keys(config: &Config) -> Vec<Key> {
    let (registry, trust, update) = (&config.registry, &config.trust, &config.update);
    vec![
        key(
            "update.index",
            json!(bub_update::BUILT_IN_INDEX),
            json!(update.index.as_deref().or(bub_update::BUILT_IN_INDEX)),
            "index of releases for `self update`: an address that ends in `/index.json`, or the absolute path of a folder",
        ),
        key(
            "update.key",
            json!(bub_update::BUILT_IN_KEY),
            json!(update.key.as_deref().or(bub_update::BUILT_IN_KEY)),
            "public key of minisign that signs the index of releases",
        ),
        key(
            "update.timeout_seconds",
            30,
            update.timeout_seconds,
            "seconds that the index of releases may take, and that a download may pause",
        ),
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
        key(
            "trust.require",
            false,
            trust.require,
            "whether every plugin of a file needs a signature of a trusted key or identity",
        ),
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
        key(
            "trust.sigstore.root",
            Value::Null,
            json!(trust.sigstore.root),
            "file with the trusted root of Sigstore, by which keyless signatures are verified",
        ),
        key(
            "trust.identities.NAME.identity",
            Value::Null,
            Value::Null,
            "identity of an author without a key: an e-mail address, or a workflow, whose ref may end in `*`",
        ),
        key("trust.identities.NAME.issuer", Value::Null, Value::Null, "address of who vouches for the identity"),
        key(
            "trust.identities.NAME.plugins",
            Value::Null,
            Value::Null,
            "plugins that the identity may sign: names, or beginnings with `*`",
        ),
        key(
            "trust.identities.NAME.expires",
            Value::Null,
            Value::Null,
            "last day (UTC) on which it may sign what is installed, as in `\"2027-01-31\"`",
        ),
        key(
            "trust.identities.NAME.revoked",
            false,
            Value::Null,
            "whether nothing that the identity has signed is loaded any more",
        ),
        key("trust.plugins.NAME.require", Value::Null, Value::Null, "as `trust.require`, for one plugin"),
        key(
            "trust.plugins.NAME.signer",
            Value::Null,
            Value::Null,
            "name of the only key or identity that may sign the plugin",
        ),
    ]
}
