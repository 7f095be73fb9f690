//! Servers of the Model Context Protocol: what can be known of them without starting or asking one.

use super::{Diagnostic, State, diagnostic};
use bub_config::{Config, McpServer, McpTransport};
use bub_egress::secret;
use bub_permissions::shell_word;
use bub_runtime::plugin::McpList;
use bub_types::text::one_line;
use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

pub(super) fn diagnostics(config: &Config) -> Vec<Diagnostic> {
    let servers = config.mcp_servers();
    servers.map(|(name, server)| of_server(config, name, server)).collect()
}

fn of_server(config: &Config, name: &str, server: &McpServer) -> Diagnostic {
    let what = format!("mcp server `{name}`");
    let wrong = |text: String| diagnostic(&*what, State::Wrong, text);
    if let Some(McpTransport::Program(command)) = server.transport()
        && !is_installed(command, server)
    {
        let command = one_line(command);
        return wrong(format!(
            "the program `{command}` was not found; install it, or correct `command` of `[mcp.{name}]`"
        ));
    }
    if let Some(missing) = missing_secret(config, server) {
        let word = shell_word(&missing);
        return wrong(format!("the secret `{missing}` does not exist; to set it: bub-wasm secret set {word}"));
    }
    match McpList::accepted(config, name, server) {
        Err(why) => wrong(format!("{}; to accept its tools again: bub-wasm mcp check {name} --accept", one_line(&why))),
        Ok(None) => {
            let text = format!(
                "none of its tools is accepted, so none is used; to see and accept them: bub-wasm mcp check {name} --accept"
            );
            diagnostic(&*what, State::Note, text)
        }
        Ok(Some(list)) => {
            let count = crate::cli::text::count(list.tools.len() as u64, "tool", "tools");
            let text = format!("{count} accepted; to ask whether it answers: bub-wasm mcp check {name}");
            diagnostic(&*what, State::Well, text)
        }
    }
}

/// Whether the program is where its server looks for it.
fn is_installed(command: &str, server: &McpServer) -> bool {
    let is_program =
        |path: &Path| path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    if command.contains('/') {
        // A relative path is one of the server's directory, which need not exist yet.
        return !command.starts_with('/') || is_program(Path::new(command));
    }
    let path = server.env.get("PATH").map(Into::into).or_else(|| env::var_os("PATH")).unwrap_or_default();
    env::split_paths(&path).any(|dir| is_program(&dir.join(command)))
}

/// The first secret that the server's table names and that does not exist.
fn missing_secret(config: &Config, server: &McpServer) -> Option<String> {
    let values = server.env.values().chain(server.headers.values());
    let named = values.filter_map(|value| secret::placeholders(value).ok()).flatten();
    let known = config.secrets.names();
    named.into_iter().find(|name| !known.contains(name))
}
