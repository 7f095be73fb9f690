//! `serve`: the program over HTTP. Requests are written byte for byte; the model is a server on loopback.

mod bodies;
pub(crate) mod clients;
mod completions;
mod config_reload;
mod document;
mod events;
mod exposure;
mod fork;
mod gc;
mod plugins;
mod quotas;
mod reach;
mod readiness;
mod refusals;
mod session_views;
mod sessions;
mod tapes;

use bub_tests::{Answer, Home, Serve, Server};
use serde_json::{Value, json};

/// Serves that home, with that model.
pub(crate) fn serve<'home>(home: &'home Home, model: &Server) -> Serve<'home> {
    Serve::start(home.bub(["serve", "--listen", "127.0.0.1:0"]).model(model), &home.bub_home())
}

/// A model that repeats the prompt.
pub(crate) fn echo() -> Server {
    Server::ruled(|request| Answer::text(&format!("you said: {}", last_line(&request.last_content()))))
}

/// The user's text, without the line about the message that the program puts before it.
fn last_line(content: &str) -> &str {
    content.lines().last().unwrap_or_default()
}

/// A turn of the owner's in that session.
#[track_caller]
fn say(serve: &Serve<'_>, session: &str, content: &str) -> Value {
    serve.post("/v1/turns", &json!({ "content": content, "session_id": session }))
}

/// A token of the owner's, of the configuration.
fn token(home: &Home, name: &str, scopes: &str, prefix: &str) -> String {
    token_of(home, name, "owner", scopes, prefix)
}

/// A token of the configuration: the file holds its hash.
pub(crate) fn token_of(home: &Home, name: &str, principal: &str, scopes: &str, prefix: &str) -> String {
    use sha2::{Digest, Sha256};
    let token = format!("token-of-{name}-which-is-long-enough");
    let hash: String = Sha256::digest(&token).iter().map(|byte| format!("{byte:02x}")).collect();
    let file = home.bub_home().join("config.toml");
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    let table = format!(
        "[[tokens]]\nname = \"{name}\"\nhash = \"{hash}\"\nscopes = [{scopes}]\nsession_prefix = \"{prefix}\"\nprincipal = \"{principal}\"\n"
    );
    std::fs::write(file, format!("{before}\n{table}")).unwrap();
    token
}
