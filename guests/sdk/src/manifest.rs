//! The manifest, made at compile time of what `plugin!` lists.

use crate::json::Writer;
use crate::schema::Node;

/// What a plugin says of itself. `plugin!` makes it.
#[derive(Debug)]
pub struct Manifest {
    /// The crate's name.
    pub name: &'static str,
    /// The crate's version.
    pub version: &'static str,
    /// What the plugin does, in a sentence.
    pub about: &'static str,
    /// The grants of its hooks and of what it calls.
    pub wants: &'static [Want],
    /// The schema of its configuration.
    pub config: Option<Node>,
    /// After which turns `after_turn` is called.
    pub after_turn: Option<&'static str>,
    /// Its tools.
    pub tools: &'static [Tool],
}

/// A grant that it asks for.
#[derive(Debug)]
pub struct Want {
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
        if !self.tools.is_empty() {
            to.key("tools");
            to.raw("[");
            let mut at = 0;
            while at < self.tools.len() {
                self.tools[at].write(to);
                at += 1;
            }
            to.raw("]");
        }
        to.raw("}");
    }
}

impl Want {
    const fn write<const N: usize>(&self, to: &mut Writer<N>) {
        // What is called by name needs no grant.
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
