//! `bub-wasm mcp-inspect SERVER`: what a server offers, for `bub-wasm mcp check`.

use crate::client::Client;
use crate::listing;
use crate::settings::Settings;
use bub_guest::hook::{Command, Commands};
use bub_guest::{Error, Result};
use serde_json::json;
use std::time::{Duration, Instant};

/// The shortest time for it: a program may have to be fetched when it starts for the first time.
const MIN_TIME: Duration = Duration::from_secs(120);

pub struct Inspect;

impl Commands for Inspect {
    const COMMANDS: &'static [Command] =
        &[Command { name: "mcp-inspect", about: "Ask a configured MCP server what it offers, and print it as JSON" }];

    fn run(_name: &str, arguments: &[String]) -> Result<String> {
        let [server] = arguments else {
            return Err(Error::invalid("`mcp-inspect` takes the name of one server of config.toml"));
        };
        let until = Instant::now() + Settings::load(server)?.timeout().max(MIN_TIME);
        let mut client = Client::connect(server, until, true)?;
        let listing = listing::of(&mut client, until)?;
        let (protocol, name) = (&client.known.protocol, &client.known.server);
        let offer = json!({
            "protocol": protocol,
            "server": name,
            "list": listing.text,
            "left_out": listing.left_out,
        });
        Ok(offer.to_string())
    }
}
