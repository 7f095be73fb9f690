//! The gateway: messages from channels become turns, and their answers are delivered, whatever happens to the process in
//! between. The channel is a plugin that brings and answers what its configuration says; the model is a server on loopback.

mod arrival;
mod delivery;
mod ends;
mod kill;
mod restart;

use crate::home;
use bub_tests::{Answer, Home, Run, Serve, Server, programs, tape};
use serde_json::Value;

/// A home with the channel `poster`, configured by lines of TOML.
fn posting(config: &str) -> Home {
    let home = home();
    home.plugin("poster", programs::POSTER);
    home.configure(&format!("[plugins.poster.config]\n{config}"));
    home
}

/// `serve` in that home, which says what its channels are told.
fn serving<'home>(home: &'home Home, model: &Server) -> Run<'home> {
    home.bub(["serve", "--listen", "127.0.0.1:0"]).model(model).watched()
}

fn start<'home>(home: &'home Home, run: Run<'home>) -> Serve<'home> {
    Serve::start(run, &home.bub_home())
}

/// A model that repeats the prompt.
fn echo() -> Server {
    Server::ruled(|request| Answer::text(&format!("you said: {}", last_line(&request.last_content()))))
}

/// The user's text, without the line about the message that the program puts before it.
fn last_line(content: &str) -> &str {
    content.lines().last().unwrap_or_default()
}

/// The user's messages of a session as a model sees them, in order.
fn heard(home: &Home, session: &str) -> Vec<String> {
    let in_context = |entry: &&Value| entry["meta"]["context"] != false && entry["payload"]["role"] == "user";
    let said = |entry: &Value| entry["payload"]["content"].as_str().map(|content| last_line(content).to_owned());
    tape::read(&home.tape_file(session)).iter().filter(in_context).filter_map(said).collect()
}
