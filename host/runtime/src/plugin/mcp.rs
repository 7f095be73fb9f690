//! Servers of the Model Context Protocol: what the guest `mcp` gets of the configuration, and the tools that the user has
//! accepted. The guest speaks with the servers; what it says of their tools is used once the user has accepted it, and from
//! then on read from a file, so that a start asks no server.

use super::digest::digest;
use super::tool::{MAX_NAME, Tool};
use super::tool_name::is_called;
use bub_config::{Config, McpServer, McpTransport};
use bub_permissions::policy::rank;
use bub_permissions::{Grant, Grants};
use bub_system::files::read_text;
use bub_types::text::{clipped, line, shown};
use bub_types::{Effect, ToolSpec};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The guest that speaks with the servers.
pub const MCP_GUEST: &str = "mcp";

/// The command of that guest that asks a server what it offers, and prints [`McpOffer`] as JSON.
pub const MCP_INSPECT: &str = "mcp-inspect";

/// The longest list that is read, in bytes.
const MAX_LIST: usize = 2 << 20;

/// Tools of one server, and of all servers.
const MAX_TOOLS: usize = 128;
const MAX_ALL: usize = 1_024;

/// Characters of a description that a model is shown.
const MAX_DESCRIPTION: usize = 2_000;

/// What a server offers, as the guest says.
#[derive(Debug, Clone, Deserialize)]
pub struct McpOffer {
    /// The revision of the protocol that it speaks.
    pub protocol: String,
    /// Its own name and version.
    pub server: String,
    /// The text of an [`McpList`], whose digest the user accepts.
    pub list: String,
    /// Tools that are left out, each with the reason.
    #[serde(default)]
    pub left_out: Vec<String>,
}

/// A list of tools.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpList {
    /// In order of their names.
    pub tools: Vec<McpTool>,
    /// Whether the server has resources.
    pub resources: bool,
    /// Whether it has prompts.
    pub prompts: bool,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpTool {
    /// The server's name for it.
    pub name: String,
    /// For the model.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
    /// What the server says that it does not do.
    pub hints: McpHints,
}

/// The annotations of a tool, which are the word of a stranger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpHints {
    /// It changes nothing.
    pub read_only: Option<bool>,
    /// It may destroy something.
    pub destructive: Option<bool>,
    /// It talks to others.
    pub open_world: Option<bool>,
}

/// What the guest `mcp` is loaded with.
#[derive(Default)]
pub(super) struct McpSupply {
    pub(super) tools: Vec<ToolSpec>,
    pub(super) grants: Grants,
    /// Keys of its configuration.
    pub(super) config: Map<String, Value>,
    /// For the log.
    pub(super) notes: Vec<String>,
}

impl McpList {
    /// Reads a list.
    ///
    /// # Errors
    ///
    /// It is none, or has too many tools.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_LIST {
            return Err(format!("it is longer than {} MiB", MAX_LIST >> 20));
        }
        super::check_json(text)?;
        let list: Self = serde_json::from_str(text).map_err(|error| format!("it is no list of tools: {error}"))?;
        match list.tools.len() {
            0..=MAX_TOOLS => Ok(list),
            tools => Err(format!("it has {tools} tools; at most {MAX_TOOLS} are taken")),
        }
    }

    /// The list of a server that the user has accepted; none: nothing was accepted.
    ///
    /// # Errors
    ///
    /// The file is missing, or is not what was accepted.
    pub fn accepted(config: &Config, name: &str, server: &McpServer) -> Result<Option<Self>, String> {
        let Some(accepted) = &server.digest else { return Ok(None) };
        if let Some(list) = &server.list {
            return Self::parse(list).map(Some);
        }
        let path = config.mcp_list(name);
        let (text, _) = read_text(&path, MAX_LIST)?.ok_or_else(|| format!("`{}` is missing", path.display()))?;
        if digest(text.as_bytes()) != *accepted {
            return Err(format!("`{}` is not the list that was accepted", path.display()));
        }
        Self::parse(&text).map(Some)
    }

    /// The tools as the model sees them, and what is left out.
    pub fn specs(&self, name: &str, server: &McpServer) -> (Vec<ToolSpec>, Vec<String>) {
        let own =
            |tool: &McpTool| Self::spec(name, &tool.name, &tool.description, &tool.parameters, tool.effect(server));
        let mut all: Vec<(&str, ToolSpec)> = self.tools.iter().map(|tool| (tool.name.as_str(), own(tool))).collect();
        let more = |tool: &'static str, about: &str, properties: Value| {
            let parameters = json!({ "type": "object", "properties": properties, "additionalProperties": false });
            let effect = server.effect(tool).unwrap_or_else(|| server.default_effect());
            (tool, Self::spec(name, tool, about, &parameters, effect))
        };
        if self.resources {
            let about = "Read a resource of the server. Without `uri`, list the resources that there are.";
            let uri = json!({ "type": "string", "description": "The address of the resource." });
            all.push(more(READ_RESOURCE, about, json!({ "uri": uri })));
        }
        if self.prompts {
            let about =
                "Get a prompt of the server. Without `name`, list the prompts that there are, with their arguments.";
            let name = json!({ "type": "string", "description": "The name of the prompt." });
            let values = json!({ "type": "object", "additionalProperties": { "type": "string" } });
            all.push(more(GET_PROMPT, about, json!({ "name": name, "arguments": values })));
        }
        let (mut specs, mut left_out): (Vec<ToolSpec>, Vec<String>) = (Vec::new(), Vec::new());
        for (written, spec) in all {
            let why = match specs.iter().find(|other| is_called(&other.name, &spec.name)) {
                Some(other) => Some(format!("the name `{}` is taken by another tool of it", other.name)),
                None => Tool::new(spec.clone()).err(),
            };
            match why {
                Some(why) => left_out.push(format!("tool `{}`: {}", line(&clipped(written, 80)), line(&why))),
                None => specs.push(spec),
            }
        }
        (specs, left_out)
    }

    fn spec(server: &str, tool: &str, description: &str, parameters: &Value, effect: Effect) -> ToolSpec {
        let about = match description.trim() {
            "" => format!("The tool `{}`.", clipped(tool, 80)),
            description => clipped(&shown(description), MAX_DESCRIPTION),
        };
        ToolSpec {
            name: local_name(server, tool),
            // A stranger's words: the model is told whose they are.
            description: format!("[server {server}] {about}"),
            parameters: parameters.to_string(),
            for_model: true,
            effect,
            reads_outside: true,
        }
    }
}

/// The tools for resources and prompts, which the guest answers.
const READ_RESOURCE: &str = "read_resource";
const GET_PROMPT: &str = "get_prompt";

/// The name of a server's tool here: `mcp.SERVER.TOOL`. Characters that names cannot have become `_`, and a long name is cut,
/// with a part of its digest at the end.
pub fn local_name(server: &str, tool: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = format!("{MCP_GUEST}.{server}.").chars().chain(tool.chars().map(plain)).collect();
    if name.len() <= MAX_NAME {
        return name;
    }
    let tail = digest(tool.as_bytes());
    format!("{}_{}", &name[..MAX_NAME - 9], &tail[..8])
}

impl McpTool {
    /// The effect of a call. The user's word for the tool is final. The server's own word makes the effect of an unnamed tool
    /// only greater, unless the user trusts it.
    pub fn effect(&self, server: &McpServer) -> Effect {
        if let Some(effect) = server.effect(&self.name) {
            return effect;
        }
        let unnamed = server.default_effect();
        match self.hints.effect() {
            None => unnamed,
            Some(said) if server.trust_annotations => said,
            Some(said) if rank(said) > rank(unnamed) => said,
            Some(_) => unnamed,
        }
    }
}

impl McpHints {
    /// The effect that the annotations amount to; none where they say nothing of it.
    fn effect(self) -> Option<Effect> {
        match (self.read_only, self.destructive, self.open_world) {
            (Some(true), ..) => Some(Effect::Read),
            (_, Some(false), Some(true)) => Some(Effect::Send),
            (_, Some(false), _) => Some(Effect::Write),
            (Some(false), ..) | (_, Some(true), _) => Some(Effect::Run),
            (None, None, Some(true)) => Some(Effect::Run),
            (None, None, _) => None,
        }
    }
}

impl McpSupply {
    /// What the configuration says of all servers that are switched on.
    pub(super) fn new(config: &Config) -> Self {
        let mut supply = Self::default();
        for (name, server) in config.mcp_servers() {
            supply.add(config, name, server);
        }
        supply
    }

    fn add(&mut self, config: &Config, name: &str, server: &McpServer) {
        let list = match McpList::accepted(config, name, server) {
            Ok(list) => list,
            Err(why) => {
                self.notes.push(format!(
                    "the tools of MCP server `{name}` are not used: {why}; `bub-wasm mcp check {name} --accept` accepts \
                     those that it has"
                ));
                None
            }
        };
        if server.digest.is_none() {
            self.notes.push(format!(
                "the tools of MCP server `{name}` are not used before you have accepted them: `bub-wasm mcp check {name}` \
                 shows them, and `--accept` accepts them"
            ));
        }
        let list = list.unwrap_or_default();
        let (mut specs, left_out) = list.specs(name, server);
        self.notes.extend(left_out.into_iter().map(|why| format!("MCP server `{name}`: {why}")));
        let room = MAX_ALL.saturating_sub(self.tools.len());
        if specs.len() > room {
            specs.truncate(room);
            self.notes.push(format!("MCP server `{name}`: all servers together have more than {MAX_ALL} tools"));
        }
        let mut names: Map<String, Value> = Map::new();
        for tool in &list.tools {
            // Of two that have one name here, the first is offered.
            names.entry(local_name(name, &tool.name)).or_insert_with(|| json!(tool.name));
        }
        let address = match server.transport() {
            Some(McpTransport::Address(url)) => Some(url),
            Some(McpTransport::Program(_)) | None => None,
        };
        let settings = json!({
            "url": address,
            "headers": server.headers,
            "protocol": server.protocol,
            "timeout_seconds": server.timeout_seconds,
            "digest": server.digest,
            "tools": names,
        });
        self.config.insert(format!("server.{name}"), settings);
        self.grants.extend(server.grant(name));
        self.grants.extend(server.header_secrets().iter().map(|secret| Grant::secret(secret)));
        self.tools.extend(specs);
    }
}
