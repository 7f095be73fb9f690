//! `bub:process/servers`: servers of the user's configuration, on behalf of a plugin.

use super::confinement::environment;
use super::process::into_error;
use crate::guest::State;
use crate::guest::bindings::servers;
use crate::guest::handles::Server;
use crate::host::Host;
use crate::plugin::digest;
use bub_config::{McpServer, McpTransport};
use bub_oauth::{LoginFiles, ensure_fresh};
use bub_system::process;
use bub_system::process::{ServerProgram, ServerSpec};
use bub_types::text::escaped;
use bub_types::{Error, ErrorKind};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use wasmtime::Result;
use wasmtime::component::Resource;

/// The longest that one call waits; a guest asks again.
const MAX_WAIT: Duration = Duration::from_secs(600);

/// The directory that stands for the workspace.
const WORKSPACE: &str = "<workspace>";

impl servers::Host for State {
    async fn open(&mut self, name: String) -> Result<Result<Resource<Server>, Error>> {
        let host = Arc::clone(&self.host);
        let opened = match self.may_open(&name) {
            Ok(()) => open_server(&host, &name).await,
            Err(refusal) => Err(refusal),
        };
        match opened {
            Ok(server) => Ok(Ok(self.table.push(Server(server))?)),
            Err(error) => Ok(Err(error)),
        }
    }
}

impl servers::HostServer for State {
    async fn prepare(&mut self, server: Resource<Server>, timeout_ms: u64) -> Result<Result<Option<String>, Error>> {
        let prepared = self.table.get_mut(&server)?.0.prepare(wait(timeout_ms)).await;
        Ok(prepared.map(|text| text.map(|text| text.as_ref().to_owned())).map_err(into_error))
    }

    async fn set_prepared(&mut self, server: Resource<Server>, text: String) -> Result<Result<(), Error>> {
        Ok(self.table.get_mut(&server)?.0.set_prepared(&text).map_err(into_error))
    }

    async fn write_line(
        &mut self,
        server: Resource<Server>,
        line: String,
        timeout_ms: u64,
    ) -> Result<Result<(), Error>> {
        let host = Arc::clone(&self.host);
        let written = self.table.get_mut(&server)?.0.write_line(&line, wait(timeout_ms)).await;
        Ok(written.map_err(|error| told(&host, error)))
    }

    async fn read_line(&mut self, server: Resource<Server>, timeout_ms: u64) -> Result<Result<Option<String>, Error>> {
        let host = Arc::clone(&self.host);
        let line = self.table.get_mut(&server)?.0.read_line(wait(timeout_ms)).await;
        // What a server was given as a secret may come back in anything that it writes.
        Ok(line.map(|line| line.map(|line| host.config.redact(&line))).map_err(|error| told(&host, error)))
    }

    async fn reset(&mut self, server: Resource<Server>) -> Result<Result<(), Error>> {
        self.table.get_mut(&server)?.0.reset();
        Ok(Ok(()))
    }

    async fn drop(&mut self, server: Resource<Server>) -> Result<()> {
        self.table.delete(server)?;
        Ok(())
    }
}

impl State {
    /// Refuses unless the plugin holds the grant of that server.
    fn may_open(&self, name: &str) -> std::result::Result<(), Error> {
        let server = configured(&self.host, name)?;
        let grant = server.grant(name).ok_or_else(|| config_error(name, "it has neither `command` nor `url`"))?;
        self.granted(&grant)
    }
}

fn configured<'a>(host: &'a Host, name: &str) -> std::result::Result<&'a McpServer, Error> {
    let found = host.config.mcp_servers().find(|(known, _)| *known == name);
    found.map(|(_, server)| server).ok_or_else(|| {
        Error::new(ErrorKind::NotFound, format!("there is no server `[mcp.{}]` in config.toml", escaped(name, 40)))
    })
}

async fn open_server(host: &Host, name: &str) -> std::result::Result<process::Server, Error> {
    let server = configured(host, name)?;
    let own = server_variables(host, name, server)?;
    // Another configuration of the same name, or another secret in it, is another server.
    let started_with = McpServer { effects: BTreeMap::new(), digest: None, list: None, ..server.clone() };
    let version = digest(format!("{started_with:?}{own:?}").as_bytes());
    let Some(McpTransport::Program(command)) = server.transport() else {
        renew_login(host, name, server).await?;
        let spec = ServerSpec { name, version: &version, program: None };
        return host.servers.open(&host.processes, &spec).await.map_err(into_error);
    };
    let environment = environment(&host.config).with(own);
    let directory = server_directory(host, name, server)?;
    let (directory, environment) = (directory.as_path(), &environment);
    let program = ServerProgram { command, arguments: &server.args, directory, environment };
    let spec = ServerSpec { name, version: &version, program: Some(program) };
    let opened = host.servers.open(&host.processes, &spec).await;
    opened.map_err(|error| match error {
        process::Error::NotFound(_) | process::Error::Io { .. } => config_error(name, &told(host, error).message),
        error => told(host, error),
    })
}

/// Renews the token of a login to an address, before a request is made with it.
async fn renew_login(host: &Host, name: &str, server: &McpServer) -> std::result::Result<(), Error> {
    let files = LoginFiles::new(&host.config.home, name);
    let Some(url) = server.url.as_ref().and_then(|url| url.parse().ok()) else { return Ok(()) };
    ensure_fresh(&host.network, &url, &files).await.map_err(|why| {
        let why = host.config.redact(&why);
        Error::denied(format!("server `{name}`: {why}; to log in again: bub-wasm mcp login {name}"))
    })
}

/// The server's own variables, with their secrets.
fn server_variables(
    host: &Host,
    name: &str,
    server: &McpServer,
) -> std::result::Result<Vec<(String, OsString)>, Error> {
    let mut own = Vec::new();
    for (variable, value) in &server.env {
        let value = host.config.secrets.fill(value);
        let value = value.map_err(|error| config_error(name, &format!("`env.{variable}`: {error}")))?;
        own.push((variable.clone(), OsString::from_vec(value.expose().to_vec())));
    }
    Ok(own)
}

/// Programs find files in their working directory that they obey, so it is not the workspace unless the user says so.
fn server_directory(host: &Host, name: &str, server: &McpServer) -> std::result::Result<PathBuf, Error> {
    let home = || std::env::home_dir().ok_or_else(|| config_error(name, "there is no home directory"));
    match server.directory.as_deref() {
        None => home(),
        Some(WORKSPACE) if host.config.trusts(&host.workspace) => Ok(host.workspace.clone()),
        Some(WORKSPACE) => {
            let why = "it runs in the workspace, which is not trusted; `bub-wasm trust` trusts it";
            Err(Error::denied(format!("the server `{name}` is not started: {why}")))
        }
        Some(path) => match path.strip_prefix("~/") {
            Some(below) => Ok(home()?.join(below)),
            None if path.starts_with('/') => Ok(PathBuf::from(path)),
            None => {
                let shown = escaped(path, 100);
                Err(config_error(
                    name,
                    &format!("`directory`: `{shown}` is neither an absolute path nor `{WORKSPACE}`"),
                ))
            }
        },
    }
}

/// An error with the words of a server in it.
fn told(host: &Host, error: process::Error) -> Error {
    let error = into_error(error);
    Error { message: host.config.redact(&error.message), ..error }
}

fn config_error(name: &str, why: &str) -> Error {
    Error::new(ErrorKind::Config, format!("`[mcp.{name}]` of config.toml: {why}"))
}

fn wait(timeout_ms: u64) -> Duration {
    Duration::from_millis(timeout_ms).min(MAX_WAIT)
}
