//! Options: validated values of the configuration, overridden by the session's.

use crate::budget::Shares;
use bub_guest::Schema;
use bub_guest::schema::{Choice, Field, Literal, Node, Object};
use serde_json::{Map, Value, json};

/// The minimum budget of a conversation.
pub const LEAST_BUDGET: u64 = 512;

/// All options.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub total_budget: u64,
    pub shares: Shares,
    pub sliding_window_size: u64,
    pub enable_summary: bool,
    pub enable_memory_retrieval: bool,
    pub enable_tool_result_compression: bool,
    pub enable_instruction_pinning: bool,
    pub include_current_input: bool,
    pub debug: bool,
    pub language: Speech,
    pub categories: Vec<Category>,
    pub retrieval_limit: u64,
    pub min_similarity: f64,
    pub retrieval_timeout_ms: u64,
    pub compress_above: u64,
    pub summary_model: Option<String>,
    pub summary_after_messages: u64,
    pub summary_after_tokens: u64,
}

/// The language of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Chinese,
    English,
}

/// How the language of labels is determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speech {
    /// The language of the user.
    Conversation,
    Always(Language),
}

/// Sources of memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// The long-term memory.
    UserPreference,
    /// The daily notes.
    Note,
    /// The conversation.
    History,
}

/// The type of a value.
enum Kind {
    Flag,
    /// Minimum and maximum.
    Number(u64, u64),
    Fraction,
    Word(&'static [Choice]),
    Words(&'static [Choice]),
    Text,
}

/// An option: its key, what holds unless it is set, what it must be.
pub struct Key {
    pub name: &'static str,
    default: fn() -> Value,
    kind: Kind,
}

const CATEGORIES: &[Choice] = &[choice("user_preference"), choice("note"), choice("history")];
const LANGUAGES: &[Choice] = &[choice("auto"), choice("zh"), choice("en")];
const MANY: u64 = 100_000_000;

macro_rules! keys {
    ($($name:literal = $default:tt, $kind:expr, $about:literal;)*) => {
        /// All options, in display order.
        pub const KEYS: &[Key] =
            &[$(Key { name: $name, default: || json!($default), kind: $kind }),*];

        /// The same as members of the configuration.
        const FIELDS: &[Field] = &[$({
            const KIND: Kind = $kind;
            const RULES: &[(&str, Literal)] = KIND.rules(&KIND.bounds());
            Field {
                name: $name,
                about: &[$about],
                node: KIND.node(),
                required: false,
                rules: RULES,
                default: Some(Literal::Json(stringify!($default))),
            }
        }),*];

        /// The same as arguments of a tool that reads what a person types.
        pub const ANY: &[Field] = &[$(Field {
            name: $name,
            about: &[$about],
            node: Node::Any,
            required: false,
            rules: &[],
            default: Some(Literal::Json(stringify!($default))),
        }),*];
    };
}

keys! {
    "total_budget" = 48000, Kind::Number(LEAST_BUDGET, MANY), "tokens of the whole request, or less where the model takes less";
    "system_prompt_share" = 20, Kind::Number(1, 100), "percent for the system prompt";
    "summary_share" = 10, Kind::Number(0, 100), "percent for the summary";
    "retrieved_share" = 10, Kind::Number(0, 100), "percent for memories";
    "recent_messages_share" = 55, Kind::Number(0, 100), "percent for recent messages, which get what others leave";
    "current_input_share" = 5, Kind::Number(0, 100), "percent for the current input, where it has to be cut";
    "sliding_window_size" = 20, Kind::Number(1, 10_000), "exchanges, at most";
    "enable_summary" = true, Kind::Flag, "whether what has left the window is summarised";
    "enable_memory_retrieval" = true, Kind::Flag, "whether memories are looked for";
    "enable_tool_result_compression" = true, Kind::Flag, "whether long results of earlier exchanges are shortened";
    "enable_instruction_pinning" = true, Kind::Flag, "whether the goal stands once more at the end";
    "include_current_input" = false, Kind::Flag, "whether the current input is cut to its share";
    "debug" = false, Kind::Flag, "whether each step says in the log, at level debug, what it did";
    "language" = "auto", Kind::Word(LANGUAGES), "of the labels: `zh`, `en`, or `auto`, as the user writes";
    "categories" = ["user_preference", "note", "history"], Kind::Words(CATEGORIES), "where memories are looked for";
    "retrieval_limit" = 3, Kind::Number(1, 20), "memories, at most";
    "min_similarity" = 0.6, Kind::Fraction, "how near a memory must be, 0 to 1";
    "retrieval_timeout_ms" = 500, Kind::Number(1, 500), "for looking";
    "compress_above" = 1000, Kind::Number(100, MANY), "tokens above which a result is long";
    "summary_model" = null, Kind::Text, "`provider:model` that summarises; none: sentences are quoted";
    "summary_after_messages" = 10, Kind::Number(1, 10_000), "messages that leave the window before the next summary";
    "summary_after_tokens" = 2000, Kind::Number(1, MANY), "tokens, the same";
}

const fn choice(name: &'static str) -> Choice {
    Choice { name, about: &[] }
}

/// The table `[plugins.context-builder.config]`.
pub struct Table;

impl Schema for Table {
    const NODE: Node = Node::Object(&Object { about: &[], fields: FIELDS, closed: true });
}

impl Kind {
    const fn node(&self) -> Node {
        match self {
            Self::Flag => Node::Boolean,
            Self::Number(..) => Node::Integer { unsigned: true },
            Self::Fraction => Node::Number,
            Self::Word(words) => Node::Choice(words),
            Self::Words(_) => Node::List(&Node::Choice(CATEGORIES)),
            Self::Text => Node::String,
        }
    }

    /// The keywords of the schema, as many as [`rules`](Self::rules) takes of them.
    const fn bounds(&self) -> [(&'static str, Literal); 2] {
        match self {
            Self::Number(least, most) => {
                [("minimum", Literal::Integer(*least as i128)), ("maximum", Literal::Integer(*most as i128))]
            }
            Self::Fraction => [("minimum", Literal::Integer(0)), ("maximum", Literal::Integer(1))],
            _ => [("pattern", Literal::Text(":")); 2],
        }
    }

    const fn rules<'a>(&self, bounds: &'a [(&'static str, Literal); 2]) -> &'a [(&'static str, Literal)] {
        match self {
            Self::Number(..) | Self::Fraction => bounds,
            Self::Text => bounds.split_at(1).0,
            _ => &[],
        }
    }
}

impl Key {
    /// The option of that name.
    ///
    /// # Errors
    ///
    /// There is none; the message lists the options.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        KEYS.iter().find(|key| key.name == name).ok_or_else(|| {
            let all: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
            format!("there is no option `{name}`; there are: {}", all.join(" "))
        })
    }

    /// Converts a value to the option's type: typed values are texts.
    ///
    /// # Errors
    ///
    /// The value is invalid.
    pub fn accept(&self, value: Value) -> Result<Value, String> {
        let value = self.typed(value);
        if self.takes(&value) {
            return Ok(value);
        }
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Err(format!("`{}` must be {}, not `{shown}`", self.name, self.wanted()))
    }

    fn typed(&self, value: Value) -> Value {
        let Value::String(text) = &value else { return value };
        match self.kind {
            Kind::Flag => match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" => true.into(),
                "false" | "no" | "off" => false.into(),
                _ => value,
            },
            Kind::Number(..) | Kind::Fraction => serde_json::from_str(text).unwrap_or(value),
            Kind::Words(_) => text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect(),
            Kind::Text if text == "none" || text.is_empty() => Value::Null,
            Kind::Text | Kind::Word(_) => value,
        }
    }

    fn takes(&self, value: &Value) -> bool {
        let is_among = |value: &Value, words: &[Choice]| {
            value.as_str().is_some_and(|word| words.iter().any(|choice| choice.name == word))
        };
        match &self.kind {
            Kind::Flag => value.is_boolean(),
            Kind::Number(least, most) => value.as_u64().is_some_and(|number| (*least..=*most).contains(&number)),
            Kind::Fraction => value.as_f64().is_some_and(|number| (0.0..=1.0).contains(&number)),
            Kind::Word(words) => is_among(value, words),
            Kind::Words(words) => value.as_array().is_some_and(|list| list.iter().all(|value| is_among(value, words))),
            Kind::Text => value.is_null() || value.as_str().is_some_and(|text| text.contains(':')),
        }
    }

    fn wanted(&self) -> String {
        let names = |words: &[Choice]| words.iter().map(|choice| choice.name).collect::<Vec<_>>().join(" ");
        match &self.kind {
            Kind::Flag => "true or false".to_owned(),
            Kind::Number(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Fraction => "a number from 0 to 1".to_owned(),
            Kind::Word(words) => format!("one of {}", names(words)),
            Kind::Words(words) => format!("some of {}", names(words)),
            Kind::Text => "`provider:model`, or none".to_owned(),
        }
    }
}

impl Options {
    /// Reads each option from the configuration, overridden by the session.
    ///
    /// # Errors
    ///
    /// A value is invalid, or all shares together exceed 100 percent.
    pub fn read(configured: impl Fn(&str) -> Option<Value>, session: &Map<String, Value>) -> Result<Self, String> {
        let all = values(configured, session)?;
        let number = |name: &str| all[name].as_u64().unwrap_or_default();
        let flag = |name: &str| all[name].as_bool().unwrap_or_default();
        let categories = all["categories"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let category = |name| match name {
            "user_preference" => Category::UserPreference,
            "note" => Category::Note,
            _ => Category::History,
        };
        let shares = Shares {
            system_prompt: number("system_prompt_share"),
            summary: number("summary_share"),
            retrieved: number("retrieved_share"),
            recent_messages: number("recent_messages_share"),
            current_input: number("current_input_share"),
        };
        if shares.sum() > 100 {
            return Err(format!("the shares make {} percent together, and may make 100", shares.sum()));
        }
        Ok(Self {
            total_budget: number("total_budget"),
            shares,
            sliding_window_size: number("sliding_window_size"),
            enable_summary: flag("enable_summary"),
            enable_memory_retrieval: flag("enable_memory_retrieval"),
            enable_tool_result_compression: flag("enable_tool_result_compression"),
            enable_instruction_pinning: flag("enable_instruction_pinning"),
            include_current_input: flag("include_current_input"),
            debug: flag("debug"),
            language: match all["language"].as_str() {
                Some("zh") => Speech::Always(Language::Chinese),
                Some("en") => Speech::Always(Language::English),
                _ => Speech::Conversation,
            },
            categories: categories.map(category).collect(),
            retrieval_limit: number("retrieval_limit"),
            min_similarity: all["min_similarity"].as_f64().unwrap_or(1.0),
            retrieval_timeout_ms: number("retrieval_timeout_ms"),
            compress_above: number("compress_above"),
            summary_model: all["summary_model"].as_str().map(str::to_owned),
            summary_after_messages: number("summary_after_messages"),
            summary_after_tokens: number("summary_after_tokens"),
        })
    }
}

/// The effective value of each option, by key.
///
/// # Errors
///
/// A value is invalid.
pub fn values(
    configured: impl Fn(&str) -> Option<Value>,
    session: &Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    let value = |key: &Key| {
        let set = session.get(key.name).cloned().or_else(|| configured(key.name));
        let value = set.map_or_else(|| Ok((key.default)()), |value| key.accept(value))?;
        Ok((key.name.to_owned(), value))
    };
    KEYS.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(table: Value) -> Result<Options, String> {
        Options::read(|key| table.get(key).cloned(), &Map::new())
    }

    #[test]
    fn unset_options_are_the_originals() {
        let options = read(json!({})).unwrap();
        assert_eq!((options.total_budget, options.sliding_window_size), (48_000, 20));
        assert_eq!(options.shares, Shares::ORIGINAL);
        assert!(options.enable_summary && options.enable_memory_retrieval);
        // The original logs each step and labels in Chinese; here both must be configured.
        assert_eq!((options.debug, options.language), (false, Speech::Conversation));
        assert!(options.enable_tool_result_compression && options.enable_instruction_pinning);
        assert!(!options.include_current_input);
        assert_eq!(options.categories, [Category::UserPreference, Category::Note, Category::History]);
        assert_eq!((options.retrieval_limit, options.min_similarity, options.retrieval_timeout_ms), (3, 0.6, 500));
    }

    #[test]
    fn a_budget_of_512_is_taken_and_one_less_refused() {
        assert_eq!(read(json!({"total_budget": 512})).unwrap().total_budget, 512);
        let refused = read(json!({"total_budget": 511})).unwrap_err();
        assert_eq!(refused, "`total_budget` must be a whole number from 512 to 100000000, not `511`");
    }

    #[test]
    fn each_option_is_checked() {
        for (key, value) in [
            ("total_budget", json!("many")),
            ("total_budget", json!(-1)),
            ("sliding_window_size", json!(0)),
            ("enable_summary", json!(1)),
            ("language", json!("fr")),
            ("categories", json!(["note", "dreams"])),
            ("min_similarity", json!(1.1)),
            ("retrieval_timeout_ms", json!(501)),
            ("summary_model", json!("gpt")),
        ] {
            let refused = read(json!({ key: value })).unwrap_err();
            assert!(refused.starts_with(&format!("`{key}` must be ")), "{refused}");
        }
        assert!(read(json!({"summary_share": 11})).unwrap_err().contains("101 percent"));
        assert!(read(json!({"summary_share": 9})).is_ok());
    }

    #[test]
    fn typed_values_are_converted_to_the_type_of_the_option() {
        let session: Map<String, Value> = [
            ("total_budget", "32000"),
            ("enable_summary", "off"),
            ("min_similarity", "0.5"),
            ("categories", "note, history"),
            ("summary_model", "none"),
        ]
        .map(|(key, value)| (key.to_owned(), value.into()))
        .into_iter()
        .collect();
        let options = Options::read(|key| (key == "total_budget").then(|| json!(1000)), &session).unwrap();
        assert_eq!((options.total_budget, options.enable_summary, options.min_similarity), (32_000, false, 0.5));
        assert_eq!(options.categories, [Category::Note, Category::History]);
        assert_eq!(options.summary_model, None);
        assert!(Key::named("total_budgets").is_err_and(|why| why.contains("there is no option `total_budgets`")));
    }
}
