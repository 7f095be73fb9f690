//! The keys of what the agent may change (rules for commands, and undo), and of the evidence of turns.

use super::{Key, key};
use bub_config::Config;
use serde_json::{Value, json};

pub(super) fn keys(config: &Config) -> Vec<Key> {
    vec![
        key(
            "undo.enabled",
            true,
            json!(config.undo.enabled),
            "whether what a turn changes in the workspace can be undone",
        ),
        key("undo.ignored", false, json!(config.undo.ignored), "whether files that `.gitignore` names are kept too"),
        key("undo.max_bytes", 1 << 30, json!(config.undo.max_bytes), "bytes of all copies of a workspace"),
        key("undo.max_file_bytes", 16 << 20, json!(config.undo.max_file_bytes), "largest file that is kept, in bytes"),
        key(
            "undo.max_files",
            200_000,
            json!(config.undo.max_files),
            "files and directories of a workspace; of one with more, nothing is kept",
        ),
        key(
            "audit.chain",
            Value::Null,
            json!(config.audit.chain),
            "whether the digests of entries are chained; unless set, where the tapes are on this machine",
        ),
        key(
            "audit.receipts",
            Value::Null,
            json!(config.audit.receipts),
            "whether turns record what they have done outside; unless set, where the tapes are on this machine",
        ),
        key(
            "audit.witness",
            Value::Null,
            json!(config.audit.witness),
            "file or `https` address that gets the signed heads as well",
        ),
        key(
            "audit.witness_headers.HEADER",
            Value::Null,
            json!(config.audit.witness_headers.keys().collect::<Vec<_>>()),
            "header of requests to the witness; `{{secret:NAME}}` stands for a secret",
        ),
        key("undo.days", 7, json!(config.undo.days), "days for which a turn can be undone"),
        key("record", "off", json!(config.record.name()), "which turns are recorded: `off`, `faults` or `all`"),
        key("recordings.max_bytes", 256 << 20, json!(config.recordings.max_bytes), "bytes of all recordings of turns"),
        key("recordings.days", 7, json!(config.recordings.days), "days for which a recording is kept"),
        key(
            "process.rules[].prefix",
            Value::Null,
            json!(config.process.rules.iter().map(ToString::to_string).collect::<Vec<_>>()),
            "words that a command begins with, as a list or as a line",
        ),
        key("process.rules[].decision", Value::Null, Value::Null, "what holds for it: `allow`, `ask` or `deny`"),
        key("process.rules[].why", Value::Null, Value::Null, "the reason, for the owner and the model"),
        key("process.rules[].tainted", false, Value::Null, "whether `allow` holds in tainted turns too"),
        key(
            "process.rules[].outside",
            false,
            Value::Null,
            "whether `allow` holds outside of the sandbox too, in clean turns",
        ),
        key("process.rules[].exact", false, Value::Null, "whether `allow` holds without further arguments alone"),
    ]
}
