//! What plugins of others cost: how soon one that is dropped in serves, what becomes of turns while plugins change under
//! them or mean harm, and what twenty of them cost at the start.

#[path = "../child.rs"]
mod child;
#[path = "../figure.rs"]
mod figure;
#[path = "../host.rs"]
mod host;
mod hostile;
mod start;
mod swap;

use tokio::runtime::Builder;

fn main() {
    let runtime = Builder::new_multi_thread().enable_all().build().expect("tokio starts");
    figure::heading();
    start::figures();
    runtime.block_on(swap::figures());
    runtime.block_on(hostile::figures());
}
