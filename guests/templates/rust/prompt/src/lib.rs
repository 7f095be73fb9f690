//! Adds a part to the system prompt: the rules of the configuration.

use bub_guest::{Prompt, Result, Schema, SystemPart, Turn, config};
use serde::Deserialize;

bub_guest::plugin! {
    about: "Adds your rules to the system prompt.",
    config: Settings,
    hooks: {
        /// to tell the model your rules
        system_prompt: rules,
    },
}

/// The table `[plugins.{{name}}.config]`.
#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// What the model has to follow.
    #[serde(default = "plain_english")]
    rules: Vec<String>,
}

fn plain_english() -> Vec<String> {
    vec!["Answer in plain English.".to_owned()]
}

/// Called before each request to a model. The parts of all plugins are joined.
fn rules(_turn: &Turn, _prompt: Prompt) -> Result<Vec<SystemPart>> {
    let settings: Settings = config::load()?;
    if settings.rules.is_empty() {
        return Ok(Vec::new());
    }
    let rules: String = settings
        .rules
        .iter()
        .map(|rule| format!("- {rule}\n"))
        .collect();
    // The name is for people, in `bub-wasm tape` and in the notes of selectors.
    Ok(vec![SystemPart::new(
        "rules",
        format!("Follow these rules:\n{rules}"),
    )])
}

#[cfg(test)]
mod tests {
    use super::*;
    use bub_guest::test::Host;
    use serde_json::json;

    fn texts(host: &Host) -> Vec<String> {
        rules(&host.turn(), Prompt::Text("hello".to_owned()))
            .unwrap()
            .into_iter()
            .map(|part| part.text)
            .collect()
    }

    #[test]
    fn the_rules_of_the_configuration_are_a_part_of_the_prompt() {
        let host = Host::new().config(json!({ "rules": ["Be brief.", "Be kind."] }));
        assert_eq!(
            texts(&host),
            ["Follow these rules:\n- Be brief.\n- Be kind.\n"]
        );
    }

    #[test]
    fn without_rules_nothing_is_added() {
        assert!(texts(&Host::new().config(json!({ "rules": [] }))).is_empty());
    }
}
