//! Costs of third-party plugins: time from installing a plugin to its first turn, turns while plugins change or are
//! hostile, and the start with twenty plugins. Arguments after `--` select parts: `start`, `swap`, `hostile`.

#[path = "../child.rs"]
mod child;
#[path = "../figure.rs"]
mod figure;
#[path = "../host.rs"]
mod host;
mod hostile;
#[path = "../parts.rs"]
mod parts;
mod start;
mod swap;

use tokio::runtime::Builder;

fn main() {
    let runtime = Builder::new_multi_thread().enable_all().build().expect("tokio starts");
    figure::heading();
    if parts::wants("start") {
        start::figures();
    }
    if parts::wants("swap") {
        runtime.block_on(swap::figures());
    }
    if parts::wants("hostile") {
        runtime.block_on(hostile::figures());
    }
}
