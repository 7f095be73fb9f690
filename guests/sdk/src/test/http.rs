//! The fake server.

use super::world::current;
use crate::http::{Error, Failure, Request, Response, Stream};

/// A response with that status and body.
///
/// # Errors
///
/// None; the result is what [`Host::http`](super::Host::http) returns.
pub fn response(status: u16, body: impl Into<Vec<u8>>) -> Result<Response, Error> {
    Ok(Response { status, headers: Vec::new(), body: body.into() })
}

/// The body of a response, in pieces of 16 bytes.
#[derive(Debug)]
pub struct Body(Vec<u8>);

impl Body {
    pub fn read(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let rest = self.0.split_off(self.0.len().min(16));
        let piece = std::mem::replace(&mut self.0, rest);
        Ok((!piece.is_empty()).then_some(piece))
    }
}

pub fn open(request: &Request) -> Result<Stream, Error> {
    let (scheme, authority, _) = crate::http::parts(&request.url).ok_or_else(|| Error::invalid_url(&request.url))?;
    let world = current();
    let grant = if scheme == "http" { format!("http:http://{authority}") } else { format!("http:{authority}") };
    let denied = |error: crate::Error| Error::new(Failure::Denied, error.message);
    world.borrow().require(&grant).map_err(denied)?;
    world.borrow_mut().requests.push(request.clone());
    // Taken out, so that it can call the host.
    let server = world.borrow_mut().http.take();
    let mut server = server.ok_or_else(|| Error::new(Failure::Broken, "the test's host has no server"))?;
    let answer = server(request);
    world.borrow_mut().http = Some(server);
    answer.map(|Response { status, headers, body }| Stream { status, headers, body: Body(body), rest: Vec::new() })
}
