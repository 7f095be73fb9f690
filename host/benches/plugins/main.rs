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
    // Which of them, says the command line, as in `cargo bench --bench plugins -- hostile`; none: all.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    figure::heading();
    if wants("start") {
        start::figures();
    }
    if wants("swap") {
        runtime.block_on(swap::figures());
    }
    if wants("hostile") {
        runtime.block_on(hostile::figures());
    }
}
