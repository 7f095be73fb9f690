//! The keys of `[process]`.

use super::{Key, key};
use bub_config::{Config, ProcessLimits};
use serde_json::json;

pub(super) fn keys(config: &Config) -> Vec<Key> {
    let (process, unset) = (&config.process, ProcessLimits::default());
    let limits = &process.limits;
    vec![
        key(
            "process.env",
            json!([]),
            json!(process.env),
            "further environment variables for programs of plugins; `AWS_*` covers a prefix",
        ),
        key(
            "process.sandbox",
            "auto",
            process.sandbox.name(),
            "what holds programs: `bwrap`, `landlock`, `off`, or `auto` for the best that is there",
        ),
        key("process.strict", false, process.strict, "whether no program runs outside of a sandbox"),
        key(
            "process.read",
            json!([]),
            json!(process.read),
            "further files and directories that programs in a sandbox may read: `/PATH` or `~/PATH`",
        ),
        key("process.write", json!([]), json!(process.write), "the same that they may write, too"),
        key(
            "process.limits.processes",
            unset.processes,
            limits.processes,
            "processes and threads of programs in a sandbox; 0: no limit",
        ),
        key(
            "process.limits.memory_mib",
            unset.memory_mib,
            limits.memory_mib,
            "their memory, in MiB: of all together if the system lets a cgroup be made, else of each",
        ),
        key("process.limits.file_mib", unset.file_mib, limits.file_mib, "the largest file that they write, in MiB"),
        key(
            "process.limits.cpu_seconds",
            unset.cpu_seconds,
            limits.cpu_seconds,
            "CPU time of each of their processes, in seconds",
        ),
    ]
}
