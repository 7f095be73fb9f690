//! Costs of a turn. `cargo bench` prints one line per measurement: its median, 90th percentile and target. Results vary
//! with the machine and its load; compare those of one run only. Arguments after `--` select parts: `process`,
//! `unindexed`, `hook`, `grant`, `stub`, `agent`, `steps`, `memory`, `record`, `selection`.

#[path = "../child.rs"]
mod child;
#[path = "../figure.rs"]
mod figure;
#[path = "../host.rs"]
mod host;
mod in_process;
mod memory;
#[path = "../parts.rs"]
mod parts;
mod process;
mod record;
mod selection;

use tokio::runtime::Builder;

/// The program's own allocator, so that costs are comparable.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    // The program's own runtime configuration.
    let runtime = Builder::new_multi_thread().enable_all().build().expect("tokio starts");
    figure::heading();
    // Before anything else: the kernel counts the parent's memory at the start as a child's too, and with its engines
    // and their pools this process would use more memory than the children.
    if parts::wants("process") {
        runtime.block_on(process::figures());
    }
    if parts::wants("unindexed") {
        runtime.block_on(process::unindexed_figures());
    }
    runtime.block_on(in_process::figures());
    if parts::wants("memory") {
        runtime.block_on(memory::figures());
    }
    if parts::wants("record") {
        runtime.block_on(record::figures());
    }
    if parts::wants("selection") {
        selection::figures();
    }
}
