//! MCP servers that the editor hands over with a session. Their tools are not accepted, so they are asked for them once,
//! and taint each turn that sees them.

use agent_client_protocol_schema::v1::McpServer as Offered;
use bub_config::{Config, McpServer, check_mcp_name};
use bub_runtime::error::Failure;
use bub_runtime::hooks;
use bub_runtime::host::Host;
use bub_runtime::plugin::{MCP_GUEST, MCP_INSPECT, McpList, McpOffer, digest};
use bub_runtime::turn::CallScope;
use bub_types::text::{clipped, one_line};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Servers of one session.
const MAX_SERVERS: usize = 16;

/// How long a server may take to say what it offers: the user waits for the session.
const OFFERED_WITHIN: Duration = Duration::from_secs(30);

/// Servers by their names here.
pub(crate) type Servers = BTreeMap<String, McpServer>;

/// The servers that can be used, and a line about each that cannot.
pub(crate) fn read(offered: &[Offered], config: &Config, is_trusted: bool) -> (Servers, Vec<String>) {
    let (mut servers, mut notes) = (Servers::new(), Vec::new());
    for server in offered {
        let name = name(server);
        let shown = clipped(&one_line(name), 64).replace('`', "'");
        match translated(server, &servers, config, is_trusted) {
            Ok((name, server)) => drop(servers.insert(name, server)),
            Err(why) => notes.push(format!("the MCP server `{shown}` is not used: {why}")),
        }
    }
    (servers, notes)
}

fn name(server: &Offered) -> &str {
    match server {
        Offered::Http(server) => &server.name,
        Offered::Sse(server) => &server.name,
        Offered::Stdio(server) => &server.name,
        _ => "",
    }
}

fn translated(
    offered: &Offered,
    before: &Servers,
    config: &Config,
    is_trusted: bool,
) -> Result<(String, McpServer), String> {
    if before.len() >= MAX_SERVERS {
        return Err(format!("a session takes at most {MAX_SERVERS} servers"));
    }
    if !config.plugin(MCP_GUEST).enabled {
        return Err(format!("the plugin `{MCP_GUEST}` is switched off in config.toml"));
    }
    let name = plain(name(offered));
    check_mcp_name(&name).map_err(|error| one_line(&error.to_string()))?;
    if config.mcp.contains_key(&name) {
        return Err(format!("config.toml has `[mcp.{name}]`, which goes before it"));
    }
    if before.contains_key(&name) {
        return Err(format!("the session has another server `{name}`"));
    }
    let server = match offered {
        Offered::Http(http) => McpServer {
            url: Some(http.url.clone()),
            headers: http.headers.iter().map(|header| (header.name.clone(), header.value.clone())).collect(),
            ..McpServer::default()
        },
        Offered::Stdio(stdio) => McpServer {
            command: Some(stdio.command.to_string_lossy().into_owned()),
            args: stdio.args.clone(),
            env: stdio.env.iter().map(|variable| (variable.name.clone(), variable.value.clone())).collect(),
            directory: is_trusted.then(|| "<workspace>".to_owned()),
            ..McpServer::default()
        },
        Offered::Sse(_) => return Err("servers over SSE are not supported; streamable HTTP is".to_owned()),
        _ => return Err("its transport is unknown".to_owned()),
    };
    let values = server.env.values().chain(server.headers.values());
    if values.into_iter().any(|value| value.contains("{{secret:")) {
        return Err("it names a secret, and gets none: `bub-wasm mcp add` configures servers with secrets".to_owned());
    }
    server.check().map_err(|error| one_line(&format!("{error:#}")))?;
    Ok((name, server))
}

/// A name as servers have it here.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().map(plain).take(24).collect();
    name.trim_matches('-').to_owned()
}

/// Adds the servers to a configuration.
pub(crate) fn added(mut config: Config, servers: &Servers) -> Config {
    for (name, server) in servers {
        config.mcp.entry(name.clone()).or_insert_with(|| server.clone());
    }
    config
}

/// Asks all servers for their tools, at the same time. Those that do not answer are left out, with a line about each.
pub(crate) async fn ask(host: &Arc<Host>, servers: Servers) -> (Servers, Vec<String>) {
    let mut asking = JoinSet::new();
    for (name, server) in servers {
        let host = Arc::clone(host);
        asking.spawn(async move {
            let list = timeout(OFFERED_WITHIN, offer(&host, &name)).await;
            let list = list.unwrap_or_else(|_| Err(format!("it said nothing for {} s", OFFERED_WITHIN.as_secs())));
            (name, server, list)
        });
    }
    let (mut answered, mut notes) = (Servers::new(), Vec::new());
    while let Some(asked) = asking.join_next().await {
        let Ok((name, server, list)) = asked else { continue };
        match list {
            Ok(list) => {
                let digest = Some(digest(list.as_bytes()));
                answered.insert(name, McpServer { digest, list: Some(list), ..server });
            }
            Err(why) => notes.push(format!("the MCP server `{name}` is not used: {why}")),
        }
    }
    notes.sort();
    (answered, notes)
}

async fn offer(host: &Arc<Host>, name: &str) -> Result<String, String> {
    let said = match hooks::run_command(&CallScope::new(host), MCP_INSPECT, &[name.to_owned()]).await {
        Ok(Some(said)) => said,
        Ok(None) => return Err(format!("the plugin `{MCP_GUEST}` did not load")),
        Err(Failure::Hook { error, .. }) => return Err(clipped(&one_line(&error.message), 300)),
        Err(failure) => return Err(clipped(&one_line(&failure.to_string()), 300)),
    };
    let offer: McpOffer = serde_json::from_str(&said).map_err(|_| "its offer cannot be read".to_owned())?;
    McpList::parse(&offer.list).map_err(|why| clipped(&one_line(&why), 300))?;
    Ok(offer.list)
}
