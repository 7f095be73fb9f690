//! The fakes under the names of the imports.

pub(crate) use super::http;
pub use super::model::{Sink, chat, usage};
pub use super::tape::{Cursor, Tape};
pub use super::turn::Turn;
pub use super::view::View;
pub(crate) use super::{process, servers};

/// `bub:plugin/config`.
pub mod config {
    use crate::Result;
    use crate::test::world::current;

    pub fn get(key: &str) -> Option<String> {
        Some(current().borrow().config.get(key)?.to_string())
    }

    pub fn granted(grant: &str) -> Result<()> {
        current().borrow().require(grant)
    }
}

/// `bub:plugin/log`.
pub mod log {
    use crate::log::Level;
    use crate::test::world::current;

    pub fn log(level: Level, message: &str) {
        current().borrow_mut().log.push((level, message.to_owned()));
    }
}

/// `bub:plugin/secrets`.
pub mod secrets {
    use crate::Result;
    use crate::test::world::{current, missing};

    pub fn placeholder(name: &str) -> Result<String> {
        current().borrow().require(&format!("secret:{name}"))?;
        Ok(format!("{{{{secret:{name}}}}}"))
    }

    pub fn matches(name: &str, value: &str) -> Result<bool> {
        let world = current();
        let world = world.borrow();
        world.require(&format!("secret:{name}"))?;
        world.secrets.get(name).map(|secret| secret == value).ok_or_else(|| missing(&format!("secret `{name}`")))
    }

    pub fn hmac_sha256(name: &str, data: &[u8]) -> Result<Vec<u8>> {
        let world = current();
        let world = world.borrow();
        world.require(&format!("secret:{name}"))?;
        let secret = world.secrets.get(name).ok_or_else(|| missing(&format!("secret `{name}`")))?;
        Ok(hmac_sha256::HMAC::mac(data, secret.as_bytes()).to_vec())
    }
}

/// `bub:turn/stages`.
pub mod stages {
    use super::Turn;
    use crate::Result;
    use crate::agent::{ModelOptions, SelectorList};
    use crate::turn::Prompt;

    pub fn system_prompt(turn: &Turn, _prompt: &Prompt) -> Result<String> {
        turn.require("agent")?;
        Ok(String::new())
    }

    /// The system prompt and the new messages, without earlier turns.
    pub fn messages(
        turn: &Turn,
        _prompt: &Prompt,
        system_prompt: &str,
        new: &[String],
        _model: Option<&str>,
    ) -> Result<Vec<String>> {
        turn.require("agent")?;
        let system = serde_json::json!({ "role": "system", "content": system_prompt }).to_string();
        let system = (!system_prompt.is_empty()).then_some(system);
        Ok(system.into_iter().chain(new.iter().cloned()).collect())
    }

    pub fn steering(turn: &Turn) -> Result<Vec<Prompt>> {
        turn.require("agent").map(|()| Vec::new())
    }

    pub fn continue_prompt(turn: &Turn, _prompt: &Prompt) -> Result<Option<String>> {
        turn.require("agent").map(|()| None)
    }

    pub fn selectors(turn: &Turn) -> Result<SelectorList> {
        turn.require("agent")?;
        let simple = "simple".to_owned();
        Ok(SelectorList { names: vec![simple.clone()], active: simple, why: "there is no other".to_owned() })
    }

    pub fn model_options(turn: &Turn) -> Result<ModelOptions> {
        turn.require("agent")?;
        Ok(ModelOptions { choices: Vec::new(), current: None })
    }
}

/// `bub:turn/subturn`.
pub mod subturn {
    use super::Turn;
    use crate::Result;
    use crate::agent::NestedTurn;
    use crate::model::Request;
    use crate::turn::Prompt;

    /// The model answers the prompt.
    pub fn run(turn: &Turn, request: &NestedTurn) -> Result<String> {
        turn.require("agent")?;
        let (Prompt::Text(prompt) | Prompt::Parts(prompt)) = &request.prompt;
        let request = Request { model: request.model.clone(), ..Request::question("subagent", prompt) };
        super::super::model::answer(turn, &request)
    }
}

/// `bub:context/recall`.
pub mod recall {
    use super::View;
    use crate::Result;
    use crate::recall::{Answer, Hit, Options, Source};

    /// The entries of the session that hold all words of the question.
    pub fn search(view: &View, question: &str, options: &Options) -> Result<Answer> {
        view.require("recall")?;
        let hits = view.search(question, options.limit, options.timeout_ms)?;
        let hit = |hit: crate::tape::Hit| Hit {
            text: hit.entry.json()["content"].as_str().unwrap_or(&hit.entry.payload).to_owned(),
            score: hit.score,
            source: Source::History,
            date: hit.entry.date,
            entry: Some(hit.entry.id),
            tainted: false,
        };
        Ok(Answer { hits: hits.into_iter().map(hit).collect(), missed: Vec::new() })
    }
}

/// `bub:tools/toolbox`.
pub mod toolbox {
    use super::Turn;
    use crate::test::world::missing;
    use crate::tool::ToolSpec;
    use crate::turn::ToolCall;
    use crate::{Error, Result};

    pub fn list_tools(turn: &Turn) -> Result<Vec<ToolSpec>> {
        Ok(turn.world.borrow().tools.iter().map(|(spec, _)| spec.clone()).collect())
    }

    pub fn call_tools(turn: &Turn, calls: &[ToolCall]) -> Result<Vec<Result<String>>> {
        Ok(calls.iter().map(|call| call_tool(turn, call)).collect())
    }

    fn call_tool(turn: &Turn, call: &ToolCall) -> Result<String> {
        turn.require(&format!("tools:{}", call.name))?;
        let arguments = serde_json::from_str(&call.arguments).map_err(Error::from)?;
        // Taken out, so that the tool can call the host.
        let mut tools = std::mem::take(&mut turn.world.borrow_mut().tools);
        let tool = tools.iter_mut().find(|(spec, _)| spec.name == call.name);
        let answer = tool.map_or_else(|| Err(missing(&format!("tool `{}`", call.name))), |(_, tool)| tool(arguments));
        turn.world.borrow_mut().tools = tools;
        answer.map(|value| value.to_string())
    }
}
