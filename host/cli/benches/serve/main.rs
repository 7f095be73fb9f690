//! Throughput and latency of `serve`, as a process of its own, with clients on the same machine. Arguments after `--`
//! select parts: `stub`, `agent`, `kill`, `cluster`,
//! `pages`.

mod client;
mod cluster;
#[allow(dead_code, reason = "not every benchmark takes its samples one behind the other")]
#[path = "../figure.rs"]
mod figure;
mod kill;
mod load;
mod pages;
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
        if wants("pages") {
            pages::figures().await;
        }
        if wants("cluster") {
            cluster::figures().await;
        }
    });
}
