//! The manifest, made at compile time of what `plugin!` lists.

use crate::json::Writer;
use crate::schema::Node;

/// The description of a plugin. `plugin!` makes it.
#[derive(Debug)]
pub struct Manifest {
    /// The crate's name.
    pub name: &'static str,
    /// The crate's version.
    pub version: &'static str,
    /// The purpose of the plugin, in one sentence.
    pub about: &'static str,
    /// The grants of its hooks and of what it calls.
    pub wants: &'static [GrantRequest],
    /// The schema of its configuration.
    pub config: Option<Node>,
    /// After which turns `after_turn` is called.
    pub after_turn: Option<&'static str>,
    /// Its tools.
    pub tools: Tools,
    /// Its commands.
    pub commands: Option<&'static [Command]>,
    /// The model provider that it is.
    pub provider: Option<&'static str>,
    /// The channel that it is.
    pub channel: Option<Channel>,
}

/// Its tools, as far as they are known without running it.
#[derive(Debug)]
pub enum Tools {
    /// These.
    Fixed(&'static [Tool]),
    /// The host asks for them whenever it loads the plugin.
    Dynamic,
}

/// A grant that it asks for.
#[derive(Debug)]
pub struct GrantRequest {
    /// The grant, in parts.
    pub grant: [&'static str; 2],
    /// The reason, by lines.
    pub why: &'static [&'static str],
}

/// A tool that it has.
#[derive(Debug)]
pub struct Tool {
    /// A dotted name.
    pub name: &'static str,
    /// The description, by lines.
    pub about: &'static [&'static str],
    /// The schema of its arguments.
    pub parameters: Node,
    /// `read`, `write`, `send` or `run`.
    pub effect: &'static str,
    /// Whether it returns text by other authors.
    pub reads_outside: bool,
    /// Whether it is offered to the model.
    pub for_model: bool,
}

/// A command: `bub-wasm NAME` runs it.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// Small letters, digits and hyphens, a letter first.
    pub name: &'static str,
    /// Its purpose.
    pub about: &'static str,
}

/// The name and the abilities of a channel.
#[derive(Debug, Clone, Copy)]
pub struct Channel {
    /// The value of `channel` in its messages: small letters, digits, `-` and `_`.
    pub name: &'static str,
    /// People there say one thing in several messages.
    pub needs_debounce: bool,
    /// `poll` returns messages.
    pub supports_polling: bool,
    /// The secret without which there is nothing to poll. The host does not call `poll` before it is set.
    pub polling_secret: Option<&'static str>,
    /// `receive` takes requests.
    pub webhook: bool,
    /// `update` changes a message that was sent.
    pub supports_edits: bool,
    /// A message that is sent twice under one key arrives once.
    pub deduplicates: bool,
}

/// The first of these that there is; `plugin!` calls it.
#[doc(hidden)]
pub const fn first<T: Copy>(all: &[Option<T>]) -> Option<T> {
    let mut at = 0;
    while at < all.len() {
        if all[at].is_some() {
            return all[at];
        }
        at += 1;
    }
    None
}

impl Channel {
    /// A channel of that name that can only send.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            needs_debounce: false,
            supports_polling: false,
            polling_secret: None,
            webhook: false,
            supports_edits: false,
            deduplicates: false,
        }
    }
}

impl Manifest {
    /// Its length as JSON.
    pub const fn len(&self) -> usize {
        let mut counter = Writer::<0>::new();
        self.write(&mut counter);
        counter.len()
    }

    /// Never: a manifest has a name.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The JSON of the custom section `bub:manifest`; `N` is [`len`](Self::len).
    pub const fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut writer = Writer::<N>::new();
        self.write(&mut writer);
        writer.finish()
    }

    const fn write<const N: usize>(&self, to: &mut Writer<N>) {
        to.raw("{");
        to.key("name");
        to.text(&[self.name]);
        to.key("version");
        to.text(&[self.version]);
        to.key("about");
        to.text(&[self.about]);
        to.key("wants");
        to.raw("[");
        let mut at = 0;
        while at < self.wants.len() {
            self.wants[at].write(to);
            at += 1;
        }
        to.raw("]");
        if let Some(when) = self.after_turn {
            to.key("after_turn");
            to.text(&[when]);
        }
        if let Some(config) = &self.config {
            to.key("config_schema");
            config.write(to);
        }
        match self.tools {
            Tools::Fixed([]) => {}
            Tools::Fixed(tools) => {
                to.key("tools");
                to.raw("[");
                let mut at = 0;
                while at < tools.len() {
                    tools[at].write(to);
                    at += 1;
                }
                to.raw("]");
            }
            Tools::Dynamic => {
                to.key("tools");
                to.text(&["dynamic"]);
            }
        }
        if let Some(commands) = self.commands {
            to.key("commands");
            to.raw("[");
            let mut at = 0;
            while at < commands.len() {
                commands[at].write(to);
                at += 1;
            }
            to.raw("]");
        }
        if let Some(provider) = self.provider {
            to.key("provider");
            to.raw("{");
            to.key("name");
            to.text(&[provider]);
            to.raw("}");
        }
        if let Some(channel) = &self.channel {
            to.key("channel");
            channel.write(to);
        }
        to.raw("}");
    }
}

impl Command {
    const fn write<const N: usize>(&self, to: &mut Writer<N>) {
        to.comma();
        to.raw("{");
        to.key("name");
        to.text(&[self.name]);
        to.key("about");
        to.text(&[self.about]);
        to.raw("}");
    }
}

impl Channel {
    const fn write<const N: usize>(&self, to: &mut Writer<N>) {
        to.raw("{");
        to.key("name");
        to.text(&[self.name]);
        to.key("needs_debounce");
        to.boolean(self.needs_debounce);
        to.key("supports_polling");
        to.boolean(self.supports_polling);
        if let Some(secret) = self.polling_secret {
            to.key("polling_secret");
            to.text(&[secret]);
        }
        to.key("webhook");
        to.boolean(self.webhook);
        to.key("supports_edits");
        to.boolean(self.supports_edits);
        to.key("deduplicates");
        to.boolean(self.deduplicates);
        to.raw("}");
    }
}

impl GrantRequest {
    const fn write<const N: usize>(&self, to: &mut Writer<N>) {
        // An export that is called by name needs no grant.
        if self.grant[0].is_empty() {
            return;
        }
        to.comma();
        to.raw("{\"grant\":\"");
        to.unquoted(&[self.grant[0]]);
        to.unquoted(&[self.grant[1]]);
        to.raw("\",\"why\":");
        to.text(self.why);
        to.raw("}");
    }
}

impl Tool {
    const fn write<const N: usize>(&self, to: &mut Writer<N>) {
        to.comma();
        to.raw("{");
        to.key("name");
        to.text(&[self.name]);
        to.key("description");
        to.text(self.about);
        to.key("parameters");
        self.parameters.write(to);
        to.key("effect");
        to.text(&[self.effect]);
        to.key("reads_outside");
        to.boolean(self.reads_outside);
        to.key("for_model");
        to.boolean(self.for_model);
        to.raw("}");
    }
}
