//! The official clients of the protocol, over both transports. They come from their registries; where they cannot be had,
//! their tests say so.

use super::desk;
use crate::packages::{node, python, required, source};
use crate::serve::clients::is_content;
use crate::serve::serve;
use bub_tests::{Answer, Home, Server};
use std::process::Command;

fn model() -> Server {
    Server::ruled(|request| match request.last_content().contains("slowly") {
        true => Answer::stalled("it never"),
        false => Answer::text("good morning"),
    })
}

/// A script that starts `mcp serve`.
fn stdio(home: &Home, model: &Server, name: &str) -> String {
    let script = home.bub_home().join(name);
    home.bub(["mcp", "serve", "--approve", "ask"]).model(model).script(&script);
    script.to_string_lossy().into_owned()
}

#[test]
fn the_official_client_of_python_speaks_to_it() {
    let Some(python) = required(python("mcp", "2.3.0", "mcp")) else { return };
    let (home, model) = (desk(true), model());
    let program = stdio(&home, &model, "start-for-python");
    let serve = serve(&home, &model);
    let mut client = Command::new(python);
    let client = client.arg(source("mcp_client.py")).env("PROGRAM", program).env("PYTHONDONTWRITEBYTECODE", "1");
    is_content(&client.env("BASE", serve.base()).env("TOKEN", serve.token()).output().unwrap(), "python");
    serve.end();
}

#[test]
fn the_official_client_of_typescript_speaks_to_it() {
    let Some(dir) = required(node("@modelcontextprotocol/sdk", "1.32.2")) else { return };
    let (home, model) = (desk(true), model());
    let program = stdio(&home, &model, "start-for-typescript");
    let serve = serve(&home, &model);
    // A script finds its packages beside it.
    let script = dir.join("mcp_client.mjs");
    std::fs::copy(source("mcp_client.mjs"), &script).unwrap();
    let mut client = Command::new("node");
    let client = client.arg(script).env("PROGRAM", program).env("BASE", serve.base()).env("TOKEN", serve.token());
    is_content(&client.output().unwrap(), "typescript");
    serve.end();
}
