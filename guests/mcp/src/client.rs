//! The client: agrees with a server on a revision of the protocol, and makes requests.

use crate::dialog::Dialog;
use crate::message::{Outcome, Refusal};
use crate::settings::Settings;
use crate::web::{self, Peer};
use crate::{SERVERS, listing, stdio, text};
use bub_guest::process::Server;
use bub_guest::{Error, ErrorKind, Result, log};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Instant;

/// The revision that is asked for where the user says nothing, and those that an answer may name.
const LATEST: &str = "2025-11-25";
const SPOKEN: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", LATEST];

/// The first revision without sessions: each request says all that the server has to know.
const STATELESS: &str = "2026-07-28";

/// What is known of a server since it was prepared: the text that the host keeps for later calls.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Known {
    pub protocol: String,
    session: Option<String>,
    /// Its own name and version.
    pub server: String,
    pub tools: bool,
    pub resources: bool,
    pub prompts: bool,
    /// Tools that were accepted and are gone, by the server's names.
    pub gone: Vec<String>,
}

/// A server that was prepared.
pub struct Client {
    pub name: String,
    pub settings: Settings,
    pub known: Known,
    server: Server,
    /// Whether a request that the server did not take is made a second time.
    may_retry: bool,
}

/// Why a request has no answer.
enum Lost {
    /// It can be made again.
    Retry(Error),
    Final(Error),
}

impl Client {
    /// Opens the server, and prepares it unless another call has. With `is_fresh`, its tools are not compared with those that
    /// were accepted: the caller asks for them.
    ///
    /// # Errors
    ///
    /// It cannot be started or reached, or does not speak the protocol.
    pub fn connect(name: &str, until: Instant, is_fresh: bool) -> Result<Self> {
        let settings = Settings::load(name)?;
        let server = SERVERS.open(name)?;
        let known = server.prepare(until.saturating_duration_since(Instant::now()))?;
        let known = known.map(|text| serde_json::from_str(&text)).transpose()?;
        let is_prepared = known.is_some();
        let mut client =
            Self { name: name.to_owned(), settings, known: known.unwrap_or_default(), server, may_retry: false };
        if !is_prepared {
            let prepared = client.greet(until).and_then(|()| if is_fresh { Ok(()) } else { client.compare(until) });
            if let Err(error) = prepared {
                // What it was told is lost: the next call begins anew.
                let _ = client.server.reset();
                return Err(error);
            }
            client.keep()?;
        }
        client.may_retry = true;
        Ok(client)
    }

    /// Makes a request.
    ///
    /// # Errors
    ///
    /// The server has no answer, or answers with an error.
    pub fn request(&mut self, method: &str, params: Value, until: Instant) -> Result<Value> {
        let outcome = match self.exchange(method, params.clone(), until) {
            Ok(outcome) => outcome,
            Err(Lost::Final(error)) => return Err(error),
            Err(Lost::Retry(error)) if !self.may_retry => return Err(error),
            Err(Lost::Retry(error)) => {
                log::debug(format!("MCP server `{}` is prepared again: {}", self.name, error.message));
                let _ = self.server.reset();
                *self = Self::connect(&self.name.clone(), until, false)?;
                self.may_retry = false;
                self.exchange(method, params, until).map_err(|lost| match lost {
                    Lost::Retry(error) | Lost::Final(error) => error,
                })?
            }
        };
        outcome.map_err(|refusal| self.refused(method, &refusal))
    }

    /// Whether it speaks a revision without sessions.
    fn is_stateless(&self) -> bool {
        self.known.protocol == STATELESS
    }

    fn exchange(&mut self, method: &str, mut params: Value, until: Instant) -> std::result::Result<Outcome, Lost> {
        if self.is_stateless() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": STATELESS,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": client_info(),
            });
        }
        let name = self.name.clone();
        let mut dialog = Dialog::new(&name, method, until);
        let request = json!({ "jsonrpc": "2.0", "id": dialog.id, "method": method, "params": params });
        let outcome = match &self.settings.url {
            None => stdio::request(&self.server, &request, &mut dialog).map_err(|failure| match failure {
                stdio::Failure::Unsent(error) => Lost::Retry(error),
                stdio::Failure::Lost(error) => Lost::Final(error),
            })?,
            Some(_) => {
                let reply = self.peer().request(&request, &mut dialog).map_err(|failure| match failure {
                    web::Failure::Expired => Lost::Retry(Error::temporary("its session has ended")),
                    web::Failure::Status(error) | web::Failure::Other(error) => Lost::Final(error),
                })?;
                if method == "initialize" {
                    self.known.session = reply.session;
                }
                reply.outcome
            }
        };
        if dialog.tools_changed && method != "tools/list" && method != "initialize" {
            self.compare_again(until);
        }
        Ok(outcome)
    }

    fn peer(&self) -> Peer<'_> {
        Peer {
            settings: &self.settings,
            protocol: Some(self.known.protocol.as_str()).filter(|protocol| !protocol.is_empty()),
            session: self.known.session.as_deref(),
            is_stateless: self.is_stateless(),
        }
    }

    /// Agrees on a revision of the protocol.
    fn greet(&mut self, until: Instant) -> Result<()> {
        if self.settings.protocol.as_deref() == Some(STATELESS) {
            return self.discover(until)?.map_err(|refusal| self.refused("server/discover", &refusal));
        }
        let version = self.settings.protocol.clone().unwrap_or_else(|| LATEST.to_owned());
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client_info() });
        let first = match self.exchange("initialize", params, until) {
            Ok(Ok(result)) => return self.initialized(&result),
            Ok(Err(refusal)) => self.refused("initialize", &refusal),
            Err(Lost::Retry(error) | Lost::Final(error)) if !self.may_discover(&error) => return Err(error),
            Err(Lost::Retry(error) | Lost::Final(error)) => error,
        };
        // A server of a revision without sessions knows no `initialize`.
        let may_be_stateless = self.settings.protocol.is_none();
        if may_be_stateless && matches!(self.discover(until), Ok(Ok(()))) { Ok(()) } else { Err(first) }
    }

    /// Whether a server that failed so may be one that speaks only the revision without sessions.
    fn may_discover(&self, error: &Error) -> bool {
        self.settings.url.is_some() && matches!(error.kind, ErrorKind::Tool | ErrorKind::NotFound)
    }

    fn initialized(&mut self, result: &Value) -> Result<()> {
        let version = result["protocolVersion"].as_str().unwrap_or_default();
        if !SPOKEN.contains(&version) {
            let version = text::line(version, 40);
            let spoken = SPOKEN.join("`, `");
            let message =
                format!("the server `{}` speaks revision `{version}` of the protocol, and not `{spoken}`", self.name);
            return Err(Error::tool(message));
        }
        self.learn(version, result);
        let initialized = "notifications/initialized";
        match &self.settings.url {
            None => stdio::notify(&self.server, initialized, &json!({})),
            Some(_) => self.peer().notify(&json!({ "jsonrpc": "2.0", "method": initialized })),
        }
    }

    fn discover(&mut self, until: Instant) -> Result<std::result::Result<(), Refusal>> {
        self.known = Known { protocol: STATELESS.to_owned(), ..Known::default() };
        let outcome = self.exchange("server/discover", json!({}), until).map_err(|lost| match lost {
            Lost::Retry(error) | Lost::Final(error) => error,
        })?;
        let result = match outcome {
            Ok(result) => result,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let versions = result["supportedVersions"].as_array().map(Vec::as_slice).unwrap_or_default();
        if !versions.iter().any(|version| version == STATELESS) {
            return Err(Error::tool(format!("the server `{}` does not speak revision `{STATELESS}`", self.name)));
        }
        self.learn(STATELESS, &result);
        Ok(Ok(()))
    }

    fn learn(&mut self, protocol: &str, result: &Value) {
        let has = |what: &str| result["capabilities"][what].is_object();
        let of_result = &result["serverInfo"];
        let of_meta = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        let info = if of_result.is_object() { of_result } else { of_meta };
        let word = |key: &str| text::line(info[key].as_str().unwrap_or_default(), 80);
        self.known = Known {
            protocol: protocol.to_owned(),
            session: self.known.session.take(),
            server: format!("{} {}", word("name"), word("version")).trim().to_owned(),
            tools: has("tools"),
            resources: has("resources"),
            prompts: has("prompts"),
            gone: Vec::new(),
        };
    }

    /// Compares the tools of the server with those that the user has accepted, and says so if they are others.
    fn compare(&mut self, until: Instant) -> Result<()> {
        let Some(accepted) = self.settings.digest.clone() else { return Ok(()) };
        let listing = listing::of(self, until)?;
        self.known.gone.clear();
        if listing.digest() == accepted {
            return Ok(());
        }
        let is_accepted = |name: &&String| self.settings.tools.values().any(|known| known == *name);
        let new: Vec<String> = listing.names.iter().filter(|name| !is_accepted(name)).cloned().collect();
        let known = self.settings.tools.values();
        let gone: Vec<String> = known.filter(|name| !listing.names.contains(name)).cloned().collect();
        let shown = |what: &str, names: &[String]| match names {
            [] => String::new(),
            names => {
                let few: Vec<String> = names.iter().take(5).map(|name| format!("`{}`", text::line(name, 40))).collect();
                format!("; {what}: {}{}", few.join(", "), if names.len() > 5 { ", ..." } else { "" })
            }
        };
        let (new, missing) = (shown("new", &new), shown("gone", &gone));
        log::warn(format!(
            "MCP server `{0}` has other tools than you have accepted{new}{missing}; those that you have accepted stay in use: \
             `bub-wasm mcp check {0}` shows the difference, and `--accept` accepts it",
            self.name
        ));
        self.known.gone = gone;
        Ok(())
    }

    /// The same in the middle of a call, whose answer it does not change.
    fn compare_again(&mut self, until: Instant) {
        if let Err(error) = self.compare(until).and_then(|()| self.keep()) {
            log::warn(format!(
                "MCP server `{}` has changed its tools, and did not say how: {}",
                self.name, error.message
            ));
        }
    }

    fn keep(&self) -> Result<()> {
        self.server.set_prepared(&serde_json::to_string(&self.known)?)
    }

    /// The error that the server answered.
    fn refused(&self, method: &str, refusal: &Refusal) -> Error {
        let said = text::line(&refusal.message, 500);
        let kind = if refusal.code == -32602 { ErrorKind::InvalidInput } else { ErrorKind::Tool };
        Error::new(kind, format!("the server `{}` refused `{method}`: {said} (code {})", self.name, refusal.code))
    }
}

fn client_info() -> Value {
    json!({ "name": "bub-wasm", "version": env!("CARGO_PKG_VERSION") })
}
