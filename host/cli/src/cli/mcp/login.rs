//! `mcp login` and `mcp logout`: logins to servers by OAuth.
//!
//! The token is a secret that is bound to the server's host, and a header of `[mcp.NAME]` names it: the guest sends it
//! without seeing it, as any other key.

use super::{offer, section};
use crate::cli::secret;
use anyhow::{Context, Result, anyhow, bail, ensure};
use bub_config::{Config, McpServer, McpTransport, edit};
use bub_egress::secret::{NewValue, Origin, Secrets, placeholder};
use bub_egress::{Network, Target};
use bub_oauth::{Callback, ClientId, Login, LoginFiles};
use bub_types::text::escaped;
use reqwest::Url;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tokio::sync::oneshot;
use toml_edit::{Item, Table, value};

/// How long a login waits for its user.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// The header that takes the token.
const HEADER: &str = "Authorization";

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Name of the server, which has an address
    #[arg(value_parser = section::name)]
    name: String,
    /// Id of a client that you have registered with the server's logins; others are registered by themselves
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Name of the secret that holds the secret of that client
    #[arg(long, value_name = "SECRET", requires = "client_id")]
    client_secret: Option<String>,
    /// What the token is to allow [default: what the server names]
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Port of 127.0.0.1 to which the browser comes back [default: a free one]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
}

pub(super) async fn run(arguments: Arguments, config: &Config, workspace: &Path) -> Result<ExitCode> {
    let name = &arguments.name;
    let server = config.mcp.get(name).with_context(|| section::unknown(config, name))?;
    let url = address(name, server)?;
    let (files, mut secrets) = (LoginFiles::new(&config.home, name), secret::load(&config.home)?);
    check_free(&secrets, name, &files)?;
    let client = match arguments.client_id {
        None => None,
        Some(id) => {
            Some(ClientId { id, secret: arguments.client_secret.map(|secret| shown(&secrets, &secret)).transpose()? })
        }
    };
    let callback =
        Callback::listen(arguments.port).await.with_context(|| format!("port `{}` of 127.0.0.1", arguments.port))?;
    let failed = |why: String| anyhow!("no login to server `{name}`: {why}");
    let network = Network::default();
    let login = Login::begin(&network, &url, &files, &callback, client, arguments.scopes).await.map_err(failed)?;
    let mut out = std::io::stdout();
    writeln!(out, "open this address in a browser, and allow the access:")?;
    writeln!(out, "{}", login.address())?;
    let answer = wait(&callback).await.map_err(failed)?;
    login.finish(&answer).await.map_err(failed)?;

    let host = Target::from_url(&url).and_then(|_| url.host_str()).context("the address names no host")?;
    let secret = secret_name(name);
    secrets.set(&secret, NewValue::File(files.token()), &[host.to_owned()])?;
    let text = format!("Bearer {}", placeholder(&secret)?);
    edit::edit(&config.file(), |document| {
        let table = edit::mcp(document, name)?;
        let headers = table.entry("headers").or_insert_with(|| Item::Table(Table::new()));
        headers.as_table_like_mut().context("`headers` is not a table")?.insert(HEADER, value(text.as_str()));
        Ok(())
    })?;
    writeln!(
        out,
        "you are logged in to server `{name}`; the token is the secret `{secret}`, which goes to `{host}` alone"
    )?;
    if server.digest.is_some() {
        return Ok(ExitCode::SUCCESS);
    }
    let compared = offer::ask(&config.home, workspace, name).await?;
    compared.write(&mut out, server)?;
    compared.accept(config)?;
    writeln!(out, "these are accepted; if the server changes them, `bub-wasm mcp check {name}` shows how")?;
    Ok(ExitCode::SUCCESS)
}

/// Removes the token, its secret and the header.
pub(super) fn logout(name: &str, config: &Config) -> Result<ExitCode> {
    let server = config.mcp.get(name).with_context(|| section::unknown(config, name))?;
    let is_header = server.headers.get(HEADER).is_some_and(|text| text.contains(&placeholder_of(name)));
    ensure!(
        forget(name, config)? || is_header,
        "there is no login to server `{name}`; `bub-wasm mcp login {name}` makes one"
    );
    if is_header {
        edit::edit(&config.file(), |document| {
            let headers = edit::mcp(document, name)?.get_mut("headers").and_then(Item::as_table_like_mut);
            headers.map(|headers| headers.remove(HEADER));
            Ok(())
        })?;
    }
    writeln!(
        std::io::stdout(),
        "the token for server `{name}` is removed here; where it was given you can take it back"
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Removes the files and the secret of a login. `false`: there is none.
pub(super) fn forget(name: &str, config: &Config) -> Result<bool> {
    let files = LoginFiles::new(&config.home, name);
    let mut secrets = secret::load(&config.home)?;
    let is_own = matches!(secrets.origin(&secret_name(name)), Ok(Origin::File(path)) if path == files.token());
    if is_own {
        secrets.remove(&secret_name(name))?;
    }
    let existed = files.exists();
    files.remove().context("the login cannot be removed")?;
    Ok(existed || is_own)
}

fn secret_name(name: &str) -> String {
    format!("mcp-{name}")
}

fn placeholder_of(name: &str) -> String {
    placeholder(&secret_name(name)).unwrap_or_default()
}

/// The text of a secret of the user.
fn shown(secrets: &Secrets, name: &str) -> Result<String> {
    let value = secrets.fill(&placeholder(name)?)?;
    Ok(value.expose_text().context("it is not text")?.to_owned())
}

fn address(name: &str, server: &McpServer) -> Result<Url> {
    match server.transport() {
        Some(McpTransport::Address(url)) => {
            Url::parse(url).with_context(|| format!("`{}` is no address", escaped(url, 100)))
        }
        _ => bail!("server `{name}` is a program, which has no login; its keys go into `env`"),
    }
}

/// Refuses if a secret of the user has the name of the token's.
fn check_free(secrets: &Secrets, name: &str, files: &LoginFiles) -> Result<()> {
    let secret = secret_name(name);
    match secrets.origin(&secret) {
        Err(_) => Ok(()),
        Ok(Origin::File(path)) if path == files.token() => Ok(()),
        Ok(_) => bail!(
            "there is a secret `{secret}` already, which is the name for the token; remove it with `bub-wasm secret remove {secret}`"
        ),
    }
}

/// Waits for the browser, or for the address that a user pastes whose browser runs elsewhere.
async fn wait(callback: &Callback) -> Result<String, String> {
    let pasted = pasted();
    let came_back = async {
        tokio::select! {
            address = callback.wait() => address.map_err(|error| error.to_string()),
            Ok(line) = pasted => Ok(line),
        }
    };
    let minutes = PATIENCE.as_secs() / 60;
    tokio::time::timeout(PATIENCE, came_back)
        .await
        .map_err(|_| format!("the browser did not come back within {minutes} minutes"))?
}

/// A line from the terminal. Its thread ends with the process.
fn pasted() -> oneshot::Receiver<String> {
    let (sender, receiver) = oneshot::channel();
    if std::io::stdin().is_terminal() {
        drop(writeln!(
            std::io::stdout(),
            "if the browser is on another machine, paste here the address that it cannot open:"
        ));
        std::thread::spawn(move || {
            let mut line = String::new();
            if std::io::stdin().lock().read_line(&mut line).is_ok_and(|read| read > 0) {
                drop(sender.send(line.trim().to_owned()));
            }
        });
    }
    receiver
}
