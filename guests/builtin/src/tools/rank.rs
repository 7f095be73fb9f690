//! How well tools fit words: BM25 (Robertson and Zaragoza 2009) over names, descriptions and arguments, with what is known
//! of names of tools: they say in a few verbs what is done, and tools for the same thing are alike.

use crate::json;
use bub_estimate::terms;
use bub_guest::tool::ToolSpec;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Parameters of BM25: how soon a term counts no more, and how much a long text is discounted.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.4;

/// The weight of a name, a description, and arguments.
const NAME: f64 = 2.0;
const ABOUT: f64 = 1.0;
const ARGUMENTS: f64 = 0.5;

/// The weight of a trigram beside a word, which lets other forms of a word count.
const TRIGRAM: f64 = 0.2;

/// What it counts that a tool's verb is meant by the words, in place of the rarity of the verb.
const VERB: f64 = 1.5;

/// The share of the best tool for the same thing that is added: `list_issues` need not say what an issue is.
const FAMILY: f64 = 0.5;

/// The verbs of tools' names, with words of people that mean them.
const VERBS: [(&str, &str); 5] = [
    (
        "create",
        "add new make set up put write open start publish register book reserve schedule enter submit hand send share post \
         report propose 创建 新建 添加 发送 写",
    ),
    ("list", "find show search which what who where when all query look 列出 查询 搜索 查找 哪些 有什么"),
    ("get", "show read fetch view detail what how why 查看 读取 获取 查询"),
    ("update", "change edit modify move rename set correct write let 修改 更新 编辑 更改"),
    ("delete", "remove cancel erase drop 删除 移除 取消"),
];

/// Tools that fit the words at all, the best first; among equals in the order of the list.
pub fn ranked<'a>(tools: &'a [ToolSpec], words: &str) -> Vec<(f64, &'a ToolSpec)> {
    let texts: Vec<Text> = tools.iter().map(Text::of).collect();
    let question = terms(&spaced(words));
    let rarity: BTreeMap<&str, f64> = question
        .keys()
        .map(|term| {
            let held = texts.iter().filter(|text| text.terms.contains_key(term)).count() as f64;
            (term.as_str(), (1.0 + (texts.len() as f64 - held + 0.5) / (held + 0.5)).ln())
        })
        .collect();
    let verbs = meant_verbs(words);
    let average = texts.iter().map(|text| text.length).sum::<f64>() / texts.len().max(1) as f64;
    let score = |text: &Text| {
        let found = rarity.iter().filter_map(|(term, rarity)| Some((term, rarity, text.terms.get(*term)?)));
        let score = |(term, rarity, count): (&&str, &f64, &f64)| {
            let part = rarity * count * (SATURATION + 1.0)
                / (count + SATURATION * (1.0 - LENGTH + LENGTH * text.length / average.max(1.0)));
            if term.starts_with('~') { part * TRIGRAM } else { part }
        };
        found.map(score).sum::<f64>()
    };
    let own: Vec<f64> = texts.iter().map(score).collect();
    let with_verb = |text: &Text, score: f64| {
        let verbs = verbs.iter().filter(|verb| text.terms.contains_key(**verb)).count();
        // A verb alone says nothing.
        if score > 0.0 { score + VERB * verbs as f64 } else { 0.0 }
    };
    let own: Vec<f64> = texts.iter().zip(own).map(|(text, score)| with_verb(text, score)).collect();
    let mut families: BTreeMap<&BTreeSet<String>, f64> = BTreeMap::new();
    for (text, score) in texts.iter().zip(&own) {
        let best = families.entry(&text.family).or_default();
        *best = best.max(*score);
    }
    let all = texts.iter().zip(own).map(|(text, score)| score + FAMILY * families.get(&text.family).unwrap_or(&0.0));
    let mut found: Vec<(f64, &ToolSpec)> = all.zip(tools).filter(|(score, _)| *score > 0.0).collect();
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    found
}

/// What a tool is found by.
struct Text {
    /// Weights of terms.
    terms: BTreeMap<String, f64>,
    length: f64,
    /// The words of the name without verbs: tools for the same thing.
    family: BTreeSet<String>,
}

impl Text {
    fn of(tool: &ToolSpec) -> Self {
        let name = spaced(&tool.name);
        let mut text = Self { terms: BTreeMap::new(), length: 0.0, family: family(&name) };
        text.add(&name, NAME);
        text.add(&tool.description, ABOUT);
        let schema = json::value(&tool.parameters);
        let mut arguments = String::new();
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let about = property.get("description").and_then(Value::as_str).unwrap_or_default();
            arguments.push_str(&format!("{} {about} ", spaced(name)));
        }
        text.add(&arguments, ARGUMENTS);
        text
    }

    fn add(&mut self, text: &str, weight: f64) {
        for term in terms(text).into_keys() {
            if !term.starts_with('~') {
                self.length += weight;
            }
            *self.terms.entry(term).or_default() += weight;
        }
    }
}

/// The words of a name that are no verbs.
fn family(name: &str) -> BTreeSet<String> {
    let words = terms(name).into_keys().filter(|term| !term.starts_with('~'));
    words
        .filter(|word| !VERBS.iter().any(|(verb, others)| verb == word || others.split(' ').any(|other| other == word)))
        .collect()
}

/// The verbs of tools that these words mean.
fn meant_verbs(words: &str) -> Vec<&'static str> {
    let lower = words.to_lowercase();
    let said: BTreeSet<&str> = lower.split(|character: char| !character.is_alphanumeric()).collect();
    let is_said = |word: &str| if word.is_ascii() { said.contains(word) } else { lower.contains(word) };
    VERBS
        .iter()
        .filter(|(verb, others)| is_said(verb) || others.split(' ').any(is_said))
        .map(|(verb, _)| *verb)
        .collect()
}

/// Separates the words of `create_issue` and `createIssue`.
fn spaced(name: &str) -> String {
    let mut spaced = String::with_capacity(name.len() + 8);
    let mut was_lower = false;
    for character in name.chars() {
        if was_lower && character.is_uppercase() {
            spaced.push(' ');
        }
        was_lower = character.is_lowercase() || character.is_numeric();
        spaced.push(if matches!(character, '_' | '.' | '-' | '/') { ' ' } else { character });
    }
    spaced
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use bub_guest::tool::Effect;

    pub fn tool(name: &str, description: &str, parameters: &str) -> ToolSpec {
        ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: parameters.to_owned(),
            for_model: true,
            effect: Effect::Run,
            reads_outside: false,
        }
    }

    #[test]
    fn tools_are_found_by_their_names_descriptions_arguments_and_verbs() {
        let tools = [
            tool(
                "mcp.hub.createIssue",
                "Open a new issue (bug report) in a repository.",
                r#"{"properties":{"title":{}}}"#,
            ),
            tool("mcp.hub.listIssue", "List issues.", "{}"),
            tool("mcp.hub.list_pulls", "List pull requests.", "{}"),
            tool("mcp.mail.send", "Send an e-mail.", r#"{"properties":{"to":{"description":"the recipient"}}}"#),
            tool("mcp.天气.查询", "查询一个城市的天气预报", "{}"),
        ];
        for (words, expected) in [
            ("report an issue", "mcp.hub.createIssue"),
            ("which issues are there", "mcp.hub.listIssue"),
            ("which pull requests are open", "mcp.hub.list_pulls"),
            ("write a recipient a message", "mcp.mail.send"),
            ("北京的天气怎么样", "mcp.天气.查询"),
        ] {
            assert_eq!(ranked(&tools, words)[0].1.name, expected, "{words}");
        }
        let bugs = ranked(&tools, "bug");
        assert_eq!(
            bugs.iter().map(|(_, tool)| &*tool.name).collect::<Vec<_>>(),
            ["mcp.hub.createIssue", "mcp.hub.listIssue"]
        );
        for nothing in ["zzz", "the of and", "", "create"] {
            let found = ranked(&tools[1..], nothing);
            assert!(found.is_empty(), "{nothing}: {:?}", found.first().map(|(_, tool)| &tool.name));
        }
        assert!(ranked(&[], "anything").is_empty());
    }
}
