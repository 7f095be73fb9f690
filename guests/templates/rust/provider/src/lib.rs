//! A model provider: answers requests for models `{{name}}:...`.

use bub_guest::hook::Provider;
use bub_guest::model::{Event, Request, Sink};
use bub_guest::{Context, Error, Result, Schema, config};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

bub_guest::plugin! {
    about: "The provider `{{name}}`, which answers from its configuration.",
    config: Settings,
    hooks: {
        /// to answer when a model `{{name}}:...` is called
        provider: Canned,
    },
}

/// The table `[plugins.{{name}}.config]`.
#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Answers by question.
    #[serde(default)]
    answers: BTreeMap<String, String>,
}

/// The one model of this provider.
const MODEL: &str = "canned";

struct Canned;

impl Provider for Canned {
    /// The part before the colon.
    const NAME: &'static str = "{{name}}";

    fn complete(request: Request, sink: &Sink) -> Result<()> {
        if let Some(other) = request
            .model
            .as_deref()
            .filter(|model| *model != MODEL && *model != "check")
        {
            return Err(Error::config(format!(
                "provider `{{name}}` has the one model `{MODEL}`, not `{other}`"
            )));
        }
        let settings: Settings = config::load()?;
        let question = question(&request)?;
        let answer = settings
            .answers
            .get(question.trim())
            .map_or_else(|| format!("You said: {question}"), String::clone);
        // Readers see each piece when it is sent.
        for piece in answer.split_inclusive(' ') {
            sink.send(&Event::Text(piece.to_owned()))?;
        }
        sink.send(&Event::Finish("stop".to_owned()))
    }
}

/// The last line of what the user said last. Messages are in OpenAI's chat format.
fn question(request: &Request) -> Result<String> {
    for message in request.messages.iter().rev() {
        let message: Value = serde_json::from_str(message).context("a message of the request")?;
        if message["role"] == "user" {
            let text = match &message["content"] {
                Value::String(text) => text.clone(),
                // A message with images is a list of parts.
                parts => parts
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|part| part["text"].as_str())
                    .collect(),
            };
            return Ok(text.lines().last().unwrap_or_default().to_owned());
        }
    }
    Err(Error::invalid("the request has no message of a user"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bub_guest::test::Host;
    use serde_json::json;

    fn answer(host: &Host, model: &str, question: &str) -> Result<String> {
        let request = Request {
            model: Some(model.to_owned()),
            ..Request::question("turn", question)
        };
        Canned::complete(request, &host.sink())?;
        let text = |event| {
            if let Event::Text(text) = event {
                text
            } else {
                String::new()
            }
        };
        Ok(host.sent().into_iter().map(text).collect())
    }

    #[test]
    fn a_known_question_has_its_answer_and_another_one_is_repeated() {
        let settings = json!({ "answers": { "ping": "pong" } });
        assert_eq!(
            answer(&Host::new().config(settings.clone()), "canned", "ping").unwrap(),
            "pong"
        );
        assert_eq!(
            answer(&Host::new().config(settings), "canned", "how are you").unwrap(),
            "You said: how are you"
        );
    }

    #[test]
    fn an_unknown_model_is_named() {
        let error = answer(&Host::new(), "large", "ping").unwrap_err();
        assert_eq!(
            error.message,
            "provider `{{name}}` has the one model `canned`, not `large`"
        );
    }
}
