//! What `serve` takes: the program as a process of its own, and whoever asks it beside it on the same machine. Words behind
//! `--` name the parts that are wanted: `stub`, `agent`, `kill`.

mod client;
#[allow(dead_code, reason = "not every benchmark takes its samples one behind the other")]
#[path = "../figure.rs"]
mod figure;
mod kill;
mod load;
#[path = "../parts.rs"]
mod parts;
mod program;

use parts::wants;
use tokio::runtime::Builder;

fn main() {
    let runtime = Builder::new_multi_thread().enable_all().build().expect("tokio starts");
    figure::heading();
    runtime.block_on(async {
        if wants("stub") {
            load::figures("a model hook that says the message back", load::Model::Stub).await;
        }
        if wants("agent") {
            load::figures("the agent, asking a model that is a plugin", load::Model::Offline).await;
        }
        if wants("kill") {
            kill::figures().await;
        }
    });
}
