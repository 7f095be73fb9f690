//! How a schema is written, at compile time.

use super::{Choice, Field, Literal, Node, Object};
use crate::json::Writer;

impl Node {
    /// Whether null, and so absence, is a value of it.
    pub const fn is_nullable(&self) -> bool {
        matches!(self, Self::Nullable(_))
    }

    /// Writes the schema.
    pub const fn write<const N: usize>(&self, to: &mut Writer<N>) {
        let about: &[&str] = match self {
            Self::Object(object) => object.about,
            _ => &[],
        };
        to.raw("{");
        self.members(to, &[]);
        describe(to, about, self);
        to.raw("}");
    }

    /// Writes its members, without the description.
    const fn members<const N: usize>(&self, to: &mut Writer<N>, rules: &[(&str, Literal)]) {
        match self {
            Self::Any => {}
            Self::Boolean => to.kind("boolean"),
            Self::String => to.kind("string"),
            Self::Number => to.kind("number"),
            Self::Integer { unsigned } => {
                to.kind("integer");
                if *unsigned && !has(rules, "minimum") {
                    to.key("minimum");
                    to.integer(0);
                }
            }
            Self::Choice(choices) => {
                to.kind("string");
                to.key("enum");
                to.raw("[");
                let mut at = 0;
                while at < choices.len() {
                    to.comma();
                    to.text(&[choices[at].name]);
                    at += 1;
                }
                to.raw("]");
            }
            Self::List(items) => {
                to.kind("array");
                to.key("items");
                items.write(to);
            }
            Self::Map(values) => {
                to.kind("object");
                to.key("additionalProperties");
                values.write(to);
            }
            Self::Nullable(inner) => {
                to.key("anyOf");
                to.raw("[{");
                inner.members(to, rules);
                to.raw("},{\"type\":\"null\"}]");
                return;
            }
            Self::Either(one, other) => {
                to.key("anyOf");
                to.raw("[{");
                one.members(to, rules);
                to.raw("},");
                other.write(to);
                to.raw("]");
                return;
            }
            Self::Object(object) => object.members(to),
        }
        let mut at = 0;
        while at < rules.len() {
            to.key(rules[at].0);
            rules[at].1.write(to);
            at += 1;
        }
    }
}

const fn has(rules: &[(&str, Literal)], keyword: &str) -> bool {
    let mut at = 0;
    while at < rules.len() {
        if equal(rules[at].0, keyword) {
            return true;
        }
        at += 1;
    }
    false
}

const fn equal(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// The description; the variants of an enum that have one follow it.
const fn describe<const N: usize>(to: &mut Writer<N>, about: &[&str], node: &Node) {
    let choices: &[Choice] = match node {
        Node::Choice(choices) | Node::Nullable(Node::Choice(choices)) => choices,
        _ => &[],
    };
    let mut documented = false;
    let mut at = 0;
    while at < choices.len() {
        documented |= !choices[at].about.is_empty();
        at += 1;
    }
    if about.is_empty() && !documented {
        return;
    }
    to.key("description");
    if !documented {
        to.text(about);
        return;
    }
    to.quoted_choices(about, choices);
}

impl<const N: usize> Writer<N> {
    const fn kind(&mut self, kind: &str) {
        self.key("type");
        self.text(&[kind]);
    }

    const fn quoted_choices(&mut self, about: &[&str], choices: &[Choice]) {
        self.raw("\"");
        self.unquoted(about);
        let mut at = 0;
        while at < choices.len() {
            if !choices[at].about.is_empty() {
                if at > 0 || !about.is_empty() {
                    self.raw(" ");
                }
                self.raw("`");
                self.unquoted(&[choices[at].name]);
                self.raw("`: ");
                self.unquoted(choices[at].about);
            }
            at += 1;
        }
        self.raw("\"");
    }
}

impl Object {
    const fn members<const N: usize>(&self, to: &mut Writer<N>) {
        to.kind("object");
        to.key("properties");
        to.raw("{");
        let mut at = 0;
        let mut required = 0;
        while at < self.fields.len() {
            let field = &self.fields[at];
            to.key(field.name);
            field.write(to);
            required += field.required as usize;
            at += 1;
        }
        to.raw("}");
        if required > 0 {
            to.key("required");
            to.raw("[");
            let mut at = 0;
            while at < self.fields.len() {
                if self.fields[at].required {
                    to.comma();
                    to.text(&[self.fields[at].name]);
                }
                at += 1;
            }
            to.raw("]");
        }
        if self.closed {
            to.key("additionalProperties");
            to.raw("false");
        }
    }
}

impl Field {
    const fn write<const N: usize>(&self, to: &mut Writer<N>) {
        to.raw("{");
        self.node.members(to, self.rules);
        describe(to, self.about, &self.node);
        if let Some(default) = &self.default {
            to.key("default");
            default.write(to);
        }
        to.raw("}");
    }
}

impl Literal {
    const fn write<const N: usize>(&self, to: &mut Writer<N>) {
        match self {
            Self::Integer(number) => to.integer(*number),
            Self::Text(text) => to.text(&[text]),
            Self::Json(json) => to.raw(json),
        }
    }
}
