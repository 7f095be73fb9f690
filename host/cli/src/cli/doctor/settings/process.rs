//! The keys of `[process]`.

use super::{Key, key};
use bub_config::{Config, ProcessLimits, Registry};
use bub_permissions::policy::NetworkMode;
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
            "process.network",
            NetworkMode::default().name(),
            process.network.name(),
            "what sandboxed programs of your clean turns reach at most: `off`, `hosts`, `ask` or `free`",
        ),
        key(
            "process.allow_hosts",
            json!([]),
            json!(process.allow_hosts),
            "hosts that they reach, as `example.com`, `*.example.com` or `127.0.0.1:8080`; 443 and 80 without a port",
        ),
        key(
            "process.deny_hosts",
            json!([]),
            json!(process.deny_hosts),
            "hosts that they never reach, and that you are not asked about",
        ),
        key(
            "process.registries",
            json!(Registry::ALL.map(Registry::name)),
            json!(process.registries().iter().map(|registry| registry.name()).collect::<Vec<_>>()),
            "package managers whose configured registries are allowed hosts: `cargo`, `go`, `npm`, `pip`",
        ),
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
