//! A model call as it goes to the chain of hooks, to a model's server or to a plugin that is a provider.

use crate::guest::bindings::exchange;
use crate::guest::bindings::exported::before_llm_call::LlmRequest;
use crate::plugin::{Offer, check_json};
use crate::turn::{Message, Turn};
use bub_model::RawObject;
use bub_tape::MAX_SENT;
use bub_types::Error;
use bub_types::ToolSpec;
use std::borrow::Cow;
use std::sync::Arc;

/// The most media that a provider gets that is a plugin, in bytes of base64: it has 64 MiB for several copies.
const MAX_LENT: usize = 8_000_000;

/// A checked request to a model. Cloning it is cheap.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) purpose: String,
    pub(super) model: String,
    pub(super) messages: Vec<Message>,
    tools: Arc<Vec<Offered>>,
    max_tokens: Option<u32>,
    options: Option<String>,
}

/// A tool as the caller describes it, and as a model is told of it.
#[derive(Clone)]
struct Offered {
    spec: Arc<ToolSpec>,
    offer: Arc<Offer>,
}

impl Request {
    /// The request of a guest, to that model.
    ///
    /// # Errors
    ///
    /// A part of it is not JSON.
    pub(super) fn new(turn: &Turn, model: String, request: exchange::Request) -> Result<Self, Error> {
        let wrong = |reason| Error::invalid(format!("the request holds {reason}"));
        request.options.iter().try_for_each(|options| check_json(options)).map_err(wrong)?;
        let messages = turn.messages(&request.messages).map_err(wrong)?;
        let tools: Result<Vec<Offered>, String> = request.tools.into_iter().map(|spec| offer(turn, spec)).collect();
        Ok(Self {
            purpose: request.purpose,
            model,
            messages,
            tools: Arc::new(tools.map_err(wrong)?),
            max_tokens: request.max_tokens,
            options: request.options,
        })
    }

    /// As the chain sees it.
    pub(super) fn shown(&self) -> LlmRequest {
        LlmRequest {
            purpose: self.purpose.clone(),
            model: self.model.clone(),
            messages: self.messages.iter().map(|message| message.object().to_string()).collect(),
            tool_names: self.tools.iter().map(|tool| tool.spec.name.clone()).collect(),
            max_tokens: self.max_tokens,
            options: self.options.clone(),
        }
    }

    /// As the chain has left it.
    ///
    /// # Errors
    ///
    /// A part of it is not JSON.
    pub(super) fn rewrite(&mut self, turn: &Turn, written: LlmRequest) -> Result<(), Error> {
        self.messages = turn.messages(&written.messages).map_err(Error::invalid)?;
        let is_left = |tool: &Offered| written.tool_names.contains(&tool.spec.name);
        if !self.tools.iter().all(is_left) {
            Arc::make_mut(&mut self.tools).retain(is_left);
        }
        (self.purpose, self.model) = (written.purpose, written.model);
        (self.max_tokens, self.options) = (written.max_tokens, written.options);
        Ok(())
    }

    /// As a server of that model is asked, with the media themselves.
    ///
    /// # Errors
    ///
    /// There are too many media, or none where one should be.
    pub(super) fn to_server(&self, turn: &Turn, model: &str) -> Result<bub_model::Request, Error> {
        let filled = turn.scope.media.restore_request(&self.messages, MAX_SENT, &format!("model `{model}`"))?;
        let messages = self.messages.iter().zip(filled).map(|(message, filled)| match filled {
            Cow::Borrowed(_) => Ok(message.object().clone()),
            Cow::Owned(filled) => RawObject::new(&filled),
        });
        Ok(bub_model::Request {
            model: Some(model.to_owned()),
            messages: messages.collect::<Result<_, _>>().map_err(crate::guest::convert::into_error)?,
            tools: self.tools.iter().map(|tool| tool.offer.spec.clone()).collect(),
            max_tokens: self.max_tokens.map(u64::from),
            options: self.options.clone(),
            stream: true,
        })
    }

    /// As a provider is asked for that model which is a plugin, with the media themselves.
    ///
    /// # Errors
    ///
    /// There are too many media, or none where one should be.
    pub(super) fn to_guest(&self, turn: &Turn, plugin: &str, model: &str) -> Result<exchange::Request, Error> {
        let filled = turn.scope.media.restore_request(&self.messages, MAX_LENT, &format!("plugin `{plugin}`"))?;
        Ok(exchange::Request {
            model: Some(model.to_owned()),
            messages: filled.iter().map(|message| bub_model::text_files_as_text(message).into_owned()).collect(),
            tools: self.tools.iter().map(|tool| ToolSpec::clone(&tool.spec)).collect(),
            max_tokens: self.max_tokens,
            purpose: self.purpose.clone(),
            options: self.options.clone(),
        })
    }

    /// The same with marks in place of media.
    pub(super) fn with_marks(&self, model: &str) -> bub_model::Request {
        bub_model::Request {
            model: Some(model.to_owned()),
            messages: self.messages.iter().map(|message| message.object().clone()).collect(),
            tools: self.tools.iter().map(|tool| tool.offer.spec.clone()).collect(),
            max_tokens: self.max_tokens.map(u64::from),
            options: self.options.clone(),
            stream: true,
        }
    }

    /// The tools, as the caller describes them and as a model is told of them.
    pub(super) fn tools(&self) -> impl Iterator<Item = (&ToolSpec, &bub_model::ToolSpec)> {
        self.tools.iter().map(|tool| (&*tool.spec, &*tool.offer.spec))
    }

    /// All but its messages.
    pub(super) fn clone_without_messages(&self) -> Self {
        Self {
            purpose: self.purpose.clone(),
            model: self.model.clone(),
            messages: Vec::new(),
            tools: self.tools.clone(),
            max_tokens: self.max_tokens,
            options: self.options.clone(),
        }
    }

    /// Whether it is that one, unchanged: with the same messages and tools, not with equal ones.
    pub(super) fn is(&self, other: &Self) -> bool {
        let place = |message: &Message| message.as_ref().as_ptr();
        let rest = |of: &Self| (of.max_tokens, of.messages.len());
        rest(self) == rest(other)
            && Arc::ptr_eq(&self.tools, &other.tools)
            && (&self.purpose, &self.model, &self.options) == (&other.purpose, &other.model, &other.options)
            && self.messages.iter().map(place).eq(other.messages.iter().map(place))
    }

    /// Model, limits and options as members of a body.
    pub(super) fn settings(&self, usual: &bub_model::Settings) -> String {
        super::trail::settings(usual, &self.model, self.max_tokens, self.options.as_deref())
    }

    /// The longest answer in tokens, if the caller sets it.
    pub(super) fn max_tokens(&self) -> Option<u64> {
        self.max_tokens.map(u64::from)
    }

    /// Tokens, by the measure that selectors have too.
    pub(super) fn weight(&self) -> u64 {
        self.messages.iter().map(Message::weight).chain(self.tools.iter().map(|tool| tool.offer.weight)).sum()
    }

    /// Bytes of its texts.
    pub(super) fn bytes(&self) -> u64 {
        let messages = self.messages.iter().map(Message::bytes);
        let tools = self.tools.iter().map(|tool| &tool.spec);
        let tools = tools.map(|tool| tool.name.len() + tool.description.len() + tool.parameters.len());
        messages.chain(tools).map(|bytes| bytes as u64).sum()
    }
}

/// The offer of a tool to a model. A tool that stands as its plugin gave it was checked when that was loaded.
fn offer(turn: &Turn, spec: ToolSpec) -> Result<Offered, String> {
    let mut all = turn.scope.plugins.iter().flat_map(|plugin| &plugin.tools);
    let is_it = |tool: &&crate::plugin::Tool| {
        tool.name == spec.name && tool.description == spec.description && tool.parameters == spec.parameters
    };
    match all.find(is_it) {
        Some(tool) => {
            let spec = if **tool.spec() == spec { tool.spec().clone() } else { Arc::new(spec) };
            Ok(Offered { spec, offer: tool.offer().clone() })
        }
        None => Ok(Offered { offer: Arc::new(Offer::new(&spec)?), spec: Arc::new(spec) }),
    }
}
