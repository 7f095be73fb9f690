//! Validation of choices of a session: models and reasoning efforts.
//!
//! A model is rejected only for certain errors: its syntax and its provider. Only a provider's server knows its models,
//! and new ones appear every week, so an unlisted name is accepted, with a hint if it looks misspelled.

use crate::nearest;
use bub_guest::agent::ModelOptions;
use bub_guest::config;
use serde_json::{Map, Value};

/// Efforts of OpenAI and Anthropic; a model may support fewer.
const EFFORTS: [&str; 6] = ["minimal", "low", "medium", "high", "xhigh", "max"];

/// Leaves the effort to the model.
const NO_EFFORT: &str = "none";

/// The available providers, each with whether there is a key; `*` if one address serves every name.
pub fn providers() -> Map<String, Value> {
    config::get("providers").ok().flatten().unwrap_or_default()
}

/// Checks a model; returns a hint (with a leading space) or an empty text.
///
/// # Errors
///
/// Why it cannot be chosen, with a suggestion.
pub fn check_model(model: &str, providers: &Map<String, Value>, offered: &ModelOptions) -> Result<String, String> {
    let ids: Vec<&str> =
        offered.choices.iter().map(|choice| choice.id.as_str()).chain(offered.current.as_deref()).collect();
    let spelled = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let parts = model.split_once(':').filter(|(provider, name)| {
        !provider.is_empty()
            && provider.chars().all(spelled)
            && !name.trim().is_empty()
            && !name.contains(char::is_control)
    });
    let Some((provider, _)) = parts else {
        let meant = named(model, &ids).map(|id| format!("; did you mean `{id}`")).unwrap_or_default();
        let configured = offered.current.as_ref().map(|id| format!(" (configured is `{id}`)")).unwrap_or_default();
        return Err(format!("`{model}` is no model: write `provider:model`, as in `openai:gpt-4o`{configured}{meant}"));
    };
    let slug = provider.to_ascii_lowercase().replace(['-', '.'], "_");
    let is_offered = ids.contains(&model);
    let known = providers.get(&slug).or_else(|| providers.get(provider)).or_else(|| providers.get("*"));
    // Without a list, providers are unknown.
    if known.is_none() && !is_offered && !providers.is_empty() {
        let names: Vec<&str> = providers.keys().map(String::as_str).collect();
        let meant = nearest::nearest(&slug, names.iter().copied());
        let meant = meant.map(|name| format!("did you mean `{name}`; ")).unwrap_or_default();
        let variable = slug.to_ascii_uppercase();
        return Err(format!(
            "no provider is called `{provider}`: {meant}there are {}, and `BUB_{variable}_API_BASE` gives the address of another",
            names.join(", ")
        ));
    }
    if known.is_some_and(|has_key| *has_key == false) {
        let variable = slug.to_ascii_uppercase();
        return Ok(format!(" No key for `{provider}` is known: set `{variable}_API_KEY`."));
    }
    let slip = nearest::nearest(model, ids.iter().copied()).filter(|_| !is_offered);
    Ok(slip.map(|id| format!(" It is not among those configured; did you mean `{id}`?")).unwrap_or_default())
}

/// The model that a name without its provider, or a misspelled one, refers to.
fn named<'a>(written: &str, ids: &[&'a str]) -> Option<&'a str> {
    let names = || ids.iter().filter_map(|id| Some((id.split_once(':')?.1, *id)));
    let exact = names().find(|(name, _)| *name == written).map(|(_, id)| id);
    exact.or_else(|| {
        let near = nearest::nearest(written, names().map(|(name, _)| name))?;
        names().find(|(name, _)| *name == near).map(|(_, id)| id)
    })
}

/// # Errors
///
/// It is unknown; the message lists the known ones.
pub fn check_effort(effort: &str) -> Result<(), String> {
    if effort == NO_EFFORT || EFFORTS.contains(&effort) {
        return Ok(());
    }
    let meant = nearest::nearest(&effort.to_ascii_lowercase(), EFFORTS.into_iter().chain([NO_EFFORT]));
    let meant = meant.map(|name| format!("; did you mean `{name}`")).unwrap_or_default();
    let all = EFFORTS.map(|name| format!("`{name}`")).join(", ");
    Err(format!(
        "`{effort}` is no reasoning effort: there are {all}, and `{NO_EFFORT}`, which leaves it to the model{meant}"
    ))
}

#[cfg(test)]
mod tests {
    use super::{check_effort, check_model};
    use bub_guest::agent::{ModelChoice, ModelOptions};
    use serde_json::{Map, Value, json};

    fn offered() -> ModelOptions {
        let choice = |id: &str| ModelChoice { id: id.to_owned(), name: id.to_owned() };
        ModelOptions {
            choices: vec![choice("openai:gpt-4o"), choice("groq:llama")],
            current: Some("openai:gpt-4o".to_owned()),
        }
    }

    fn providers() -> Map<String, Value> {
        json!({ "openai": true, "groq": false, "my_cloud": true }).as_object().cloned().unwrap()
    }

    #[test]
    fn an_invalid_model_is_rejected_with_a_suggestion() {
        for (model, says) in [
            ("nope", "write `provider:model`"),
            ("default", "configured is `openai:gpt-4o`"),
            ("gpt-4o", "did you mean `openai:gpt-4o`"),
            ("gpt-4", "did you mean `openai:gpt-4o`"),
            ("openai:", "write `provider:model`"),
            (":x", "write `provider:model`"),
            ("opnai:gpt-4o", "did you mean `openai`"),
            ("nobody:x", "there are openai, groq, my_cloud"),
        ] {
            let refused = check_model(model, &providers(), &offered()).unwrap_err();
            assert!(refused.contains(says), "{model}: {refused}");
        }
    }

    #[test]
    fn an_unlisted_model_is_accepted_with_a_hint_if_it_looks_misspelled() {
        for (model, says) in [
            ("openai:gpt-4o", ""),
            ("openai:brand-new", ""),
            ("My.Cloud:anything", ""),
            ("openai:gpt-4p", " It is not among those configured; did you mean `openai:gpt-4o`?"),
            ("groq:other", " No key for `groq` is known: set `GROQ_API_KEY`."),
        ] {
            assert_eq!(check_model(model, &providers(), &offered()).as_deref(), Ok(says), "{model}");
        }
        let all = json!({ "openai": true, "*": true }).as_object().cloned().unwrap();
        assert_eq!(check_model("mine:x", &all, &offered()).as_deref(), Ok(""));
    }

    #[test]
    fn an_effort_is_one_that_servers_know() {
        for effort in ["none", "minimal", "low", "medium", "high", "xhigh", "max"] {
            assert_eq!(check_effort(effort), Ok(()), "{effort}");
        }
        for (effort, says) in
            [("banana", "there are `minimal`"), ("hihg", "did you mean `high`"), ("default", "`none`")]
        {
            assert!(check_effort(effort).unwrap_err().contains(says), "{effort}");
        }
    }
}
