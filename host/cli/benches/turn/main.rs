//! What a turn costs. `cargo bench` prints one line a figure: its median, its 90th percentile and the target that it is
//! held to. Figures drift with the machine and its load; those of one run can be compared with each other. Words behind `--`
//! name the parts that are wanted: `process`, `unindexed`, `hook`, `grant`, `stub`, `agent`, `steps`, `memory`, `selection`.

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
mod selection;

use tokio::runtime::Builder;

/// The program's own, so that a turn costs here what it costs there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    // The same runtime that the program has.
    let runtime = Builder::new_multi_thread().enable_all().build().expect("tokio starts");
    figure::heading();
    // Before anything else: the kernel counts what its parent held at the start as a child's memory too, and with its
    // engines and their pools this process would hold more than the children do.
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
    if parts::wants("selection") {
        selection::figures();
    }
}
