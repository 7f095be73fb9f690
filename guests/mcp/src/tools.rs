//! The tools `mcp.SERVER.TOOL`. The host knows them from the list that the user has accepted, and asks here for calls alone.

use crate::client::Client;
use crate::{content, offers};
use bub_guest::hook::DynamicTools;
use bub_guest::tool::{ToolSpec, unknown};
use bub_guest::{Error, Result, Turn};
use serde_json::{Value, json};
use std::time::Instant;

pub struct ServerTools;

impl DynamicTools for ServerTools {
    fn list() -> Vec<ToolSpec> {
        Vec::new()
    }

    fn call(_turn: &Turn, name: &str, arguments: &str) -> Result<String> {
        call(name, arguments)
    }
}

/// Calls a tool by its name here.
///
/// # Errors
///
/// The server has no answer, or answers with an error.
fn call(name: &str, arguments: &str) -> Result<String> {
    let (server, local) =
        name.strip_prefix("mcp.").and_then(|rest| rest.split_once('.')).ok_or_else(|| unknown(name))?;
    let settings = crate::settings::Settings::load(server)?;
    let arguments: Value = serde_json::from_str(arguments)?;
    let mut client = Client::connect(server, Instant::now() + settings.timeout(), false)?;
    // A start takes nothing from the time of the call.
    let until = Instant::now() + settings.timeout();
    let shown = match (settings.tools.get(name), local) {
        (Some(own), _) => {
            if client.known.gone.contains(own) {
                return Err(Error::not_found(format!(
                    "the server `{server}` no longer has the tool `{own}`; `bub-wasm mcp check {server}` shows those that it has"
                )));
            }
            let result = client.request("tools/call", json!({ "name": own, "arguments": arguments }), until)?;
            content::of_tool(server, &result)?
        }
        (None, "read_resource") => offers::read_resource(&mut client, &arguments, until)?,
        (None, "get_prompt") => offers::get_prompt(&mut client, &arguments, until)?,
        (None, _) => return Err(unknown(name)),
    };
    Ok(serde_json::to_string(&shown)?)
}

#[cfg(test)]
mod tests {
    use super::call;
    use bub_guest::ErrorKind;
    use bub_guest::test::Host;
    use serde_json::{Value, json};

    /// A server that answers each request with what `answer` makes of its method and its parameters.
    fn host(answer: impl Fn(&str, &Value) -> Value + 'static) -> Host {
        let tools = json!({ "mcp.it.echo": "echo" });
        let settings = json!({ "server.it": { "timeout_seconds": 5, "digest": "0", "tools": tools } });
        Host::new().config(settings).server(move |line| {
            let asked: Value = serde_json::from_str(line).unwrap();
            let Some(id) = asked.get("id") else { return Vec::new() };
            let result = match asked["method"].as_str().unwrap() {
                "initialize" => json!({
                    "protocolVersion": "2025-06-18",
                    "capabilities": { "tools": {}, "resources": {} },
                    "serverInfo": { "name": "it", "version": "1" }
                }),
                method => answer(method, &asked["params"]),
            };
            vec!["a line of a log".to_owned(), json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()]
        })
    }

    #[test]
    fn a_call_goes_to_the_server_and_its_texts_come_back() {
        let _host = host(|method, params| match method {
            "tools/list" => json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] }),
            "tools/call" => json!({ "content": [{ "type": "text", "text": params["arguments"]["say"] }] }),
            _ => json!({}),
        });
        assert_eq!(call("mcp.it.echo", r#"{"say":"hello"}"#).unwrap(), "\"hello\"");
        assert_eq!(call("mcp.it.other", "{}").unwrap_err().kind, ErrorKind::NotFound);
        assert_eq!(call("mcp.no.echo", "{}").unwrap_err().kind, ErrorKind::NotFound);
        assert_eq!(call("mcp.it.get_prompt", "{}").unwrap_err().message, "the server `it` has no prompts any more");
    }

    #[test]
    fn a_tool_that_is_gone_is_not_called() {
        let host = host(|method, _| match method {
            "tools/list" => json!({ "tools": [{ "name": "else" }] }),
            _ => panic!("`{method}` is called"),
        });
        let error = call("mcp.it.echo", "{}").unwrap_err();
        assert!(error.message.contains("no longer has the tool `echo`"), "{}", error.message);
        let (_, said) = &host.logged()[0];
        assert!(said.contains("new: `else`; gone: `echo`"), "{said}");
    }

    #[test]
    fn lists_that_never_end_are_refused() {
        let _host = host(|_, _| json!({ "tools": [], "nextCursor": format!("{:?}", std::time::Instant::now()) }));
        let error = call("mcp.it.echo", "{}").unwrap_err();
        assert!(error.message.contains("more than 32 pages"), "{}", error.message);
    }
}
