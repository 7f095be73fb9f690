//! The room of plugins' HTTP, with real servers on loopback and a resolver of the tests' own.

mod answers;
mod hosts;
mod ip_scope;
mod names;
mod private;
mod proxy;
mod redact_stream;
mod requests;
mod rewrite;
mod secret;
mod server;
mod targets;

use bub_egress::{EgressClient, Error, Limits, Network, Request, Response, Target};
use reqwest::Method;

use names::Names;
use server::{Server, Step};

fn target(grant: &str) -> Target {
    Target::parse(grant).unwrap_or_else(|error| panic!("{error}"))
}

/// A client for `grants`, behind which `inner.test` is this machine.
fn client(grants: &[&str]) -> EgressClient {
    let names = Names::new([("inner.test", ["127.0.0.1"].as_slice())]);
    EgressClient::new(Network::new(names), grants.iter().copied().map(target))
}

/// A client to `server` under the name of `inner.test`.
fn gate_to(server: &Server) -> EgressClient {
    client(&[&format!("http://inner.test:{}", server.port())])
}

fn limited(server: &Server, limits: Limits) -> EgressClient {
    gate_to(server).with_limits(limits)
}

fn url(server: &Server, path: &str) -> String {
    format!("http://inner.test:{}{path}", server.port())
}

fn get(url: &str) -> Request {
    Request::new(Method::GET, url).unwrap_or_else(|error| panic!("{error}"))
}

fn post(url: &str) -> Request {
    Request::new(Method::POST, url).unwrap_or_else(|error| panic!("{error}"))
}

async fn text(response: Response) -> Result<String, Error> {
    let body = response.body.read_all().await?;
    Ok(String::from_utf8(body.to_vec()).expect("it is text"))
}

/// The head and body of an answer of status 200.
fn ok(headers: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![Step::send(&format!("HTTP/1.1 200 X\r\n{headers}content-length: {length}\r\n\r\n{body}"))]
}
