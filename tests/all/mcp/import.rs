//! `mcp import`: the files of other programs.

use super::{config_of, kept, script, with_server};
use crate::home;
use serde_json::json;
use std::fs;

const KEY: &str = "k3y-in-another-programs-file";

#[test]
fn the_servers_of_another_program_are_added_and_their_keys_become_secrets() {
    let home = home();
    let file = home.workspace().join("servers.json");
    let servers = json!({ "mcpServers": {
        "My Server": { "command": "python3", "args": [script(), "good"], "env": { "API_KEY": KEY, "LEVEL": 3, "PATH_TO": "${HOME}/x" }, "autoApprove": ["echo"] },
        "web": { "type": "http", "url": "https://mcp.example.com/mcp", "headers": { "Authorization": format!("Bearer {KEY}") }, "disabled": true },
        "old": { "type": "sse", "url": "https://mcp.example.com/sse" },
        "odd": 7,
        "both": { "command": "a", "url": "https://a.example" }
    } });
    fs::write(&file, servers.to_string()).unwrap();
    let imported = home.bub(["mcp", "import", "servers.json"]).finish();
    assert_eq!(imported.code, Some(0), "{imported}");
    for line in [
        "server `My Server` is called `my-server` here",
        "server `my-server`: `env.API_KEY` is the secret `mcp-my-server-api-key` now",
        "server `my-server`: `autoApprove` is not carried over",
        "server `my-server`: `env.PATH_TO` refers to a variable",
        "server `web`: `headers.Authorization` is the secret `mcp-web-authorization` now",
        "server `old` is left out: it speaks the transport `sse`",
        "server `odd` is left out: it is no object",
        "server `both` is left out: it has `command` and `url`",
        "server `my-server` is added; to see its tools and accept them: bub-wasm mcp check my-server --accept",
    ] {
        assert!(imported.stdout.contains(line), "{line}: {imported}");
    }
    let config = config_of(&home);
    assert_eq!(config["mcp"].as_table().unwrap().len(), 2);
    assert_eq!(config["mcp"]["my-server"]["env"]["API_KEY"].as_str(), Some("{{secret:mcp-my-server-api-key}}"));
    assert_eq!(config["mcp"]["my-server"]["env"]["LEVEL"].as_str(), Some("3"));
    assert_eq!(
        config["mcp"]["web"]["headers"]["Authorization"].as_str(),
        Some("Bearer {{secret:mcp-web-authorization}}")
    );
    assert!(!config.to_string().contains(KEY) && !kept(&home).contains(KEY));
    assert!(home.bub(["secret", "list"]).finish().stdout.contains("mcp.example.com"));
    assert_eq!(home.bub(["mcp", "check", "my-server", "--accept"]).finish().code, Some(0));
}

#[test]
fn a_server_that_is_there_stays_and_a_file_that_is_none_is_refused() {
    let home = with_server("good", "");
    let file = home.workspace().join("servers.json");
    fs::write(&file, json!({ "servers": { "it": { "command": "false" } } }).to_string()).unwrap();
    let imported = home.bub(["mcp", "import", "servers.json"]).finish();
    assert!(imported.code == Some(1) && imported.stdout.contains("`[mcp.it]` is in config.toml already"), "{imported}");
    assert_eq!(config_of(&home)["mcp"]["it"]["command"].as_str(), Some("python3"));
    home.bub(["mcp", "import", "absent.json"]).finish().refuses(&["absent.json"]);
    for (text, named) in [("{", "servers.json"), ("[]", "mcpServers"), ("{\"mcpServers\": 1}", "mcpServers")] {
        fs::write(&file, text).unwrap();
        home.bub(["mcp", "import", "servers.json"]).finish().refuses(&[named]);
    }
    fs::write(&file, "[".repeat(100_000)).unwrap();
    home.bub(["mcp", "import", "servers.json"]).finish().refuses(&["servers.json"]);
}
