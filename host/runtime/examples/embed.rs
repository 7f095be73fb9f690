//! One turn with one plugin, in a program of your own:
//! `cargo run -p bub-runtime --example embed -- PLUGIN.wasm "hello"`.

use anyhow::{Context, Result};
use bub_config::Config;
use bub_runtime::channel::Printer;
use bub_runtime::host::Host;
use bub_runtime::plugin::compiler;
use bub_runtime::turn::{TurnOptions, run_turn};
use bub_types::Envelope;
use std::process::ExitCode;
use tokio::sync::watch;

#[tokio::main]
async fn main() -> Result<ExitCode> {
    // Plugins are compiled in a child process, which is this program again.
    if let Some(code) = compiler::run_if_asked() {
        return Ok(code);
    }
    let mut arguments = std::env::args().skip(1);
    let plugin = arguments.next().context("name a plugin and a message")?;
    let message = arguments.next().unwrap_or_else(|| "hello".to_owned());

    // A home of its own: the plugin, and the grant that lets it answer in place of a model.
    let home = tempfile::tempdir()?;
    std::fs::create_dir(home.path().join("plugins"))?;
    std::fs::copy(&plugin, home.path().join("plugins/mine.wasm")).with_context(|| format!("read `{plugin}`"))?;
    let grants = "[plugins.mine]\nfollow = true\ngrants = [\"hook:run-model\"]\n";
    std::fs::write(home.path().join("config.toml"), grants)?;

    let config = Config::load(Some(home.path()))?;
    let host = Host::start(config, home.path(), Box::new(Printer)).await?;
    // The turn ends early when `true` is sent.
    let (_cancel, cancelled) = watch::channel(false);
    let result = run_turn(&host, Envelope::new("example", "local", message), TurnOptions::new(cancelled)).await?;
    println!("tokens used: {}", result.usage.total);
    host.close().await;
    Ok(ExitCode::SUCCESS)
}
