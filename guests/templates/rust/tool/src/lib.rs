//! The tool `{{name_snake}}_count`: counts what a text is made of.

use bub_guest::{Result, Schema, config, tool};
use serde::{Deserialize, Serialize};

bub_guest::plugin! {
    about: "Counts the words, characters or lines of a text.",
    config: Settings,
    tools: [count],
}

/// The table `[plugins.{{name}}.config]`.
#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// How fast the user reads.
    #[serde(default = "words_per_minute")]
    #[schema(minimum = 1, default = 200)]
    words_per_minute: u32,
}

fn words_per_minute() -> u32 {
    200
}

/// What the model passes. The comments are its instructions.
#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// The text, as it is.
    text: String,
    /// What is counted.
    #[serde(default)]
    unit: Unit,
}

#[derive(Deserialize, Serialize, Schema, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Unit {
    #[default]
    Words,
    Characters,
    Lines,
}

/// The result, as the model reads it.
#[derive(Serialize)]
struct Counted {
    count: usize,
    unit: Unit,
    /// How long it takes to read the words.
    #[serde(skip_serializing_if = "Option::is_none")]
    minutes: Option<f64>,
}

/// Count the words, characters or lines of a text. Use this instead of counting yourself.
// `effect = read`: it changes nothing, so the host lets models call it without asking.
#[tool(name = "{{name_snake}}_count", effect = read)]
fn count(asked: Asked) -> Result<Counted> {
    let settings: Settings = config::load()?;
    let count = match asked.unit {
        Unit::Words => asked.text.split_whitespace().count(),
        Unit::Characters => asked.text.chars().count(),
        Unit::Lines => asked.text.lines().count(),
    };
    let minutes = || (count as f64 / f64::from(settings.words_per_minute) * 100.0).round() / 100.0;
    Ok(Counted {
        count,
        unit: asked.unit,
        minutes: matches!(asked.unit, Unit::Words).then(minutes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bub_guest::test::Host;
    use serde_json::json;

    #[test]
    fn words_are_counted_with_the_time_to_read_them() {
        let host = Host::new().config(json!({ "words_per_minute": 60 }));
        let counted = host
            .call::<count>(json!({ "text": "to be\nor not  to be" }))
            .unwrap();
        assert_eq!(
            counted,
            json!({ "count": 6, "unit": "words", "minutes": 0.1 })
        );
    }

    #[test]
    fn lines_and_characters_are_counted() {
        let host = Host::new();
        let count_of = |unit| {
            host.call::<count>(json!({ "text": "dö\nde", "unit": unit }))
                .unwrap()
        };
        assert_eq!(count_of("lines"), json!({ "count": 2, "unit": "lines" }));
        assert_eq!(
            count_of("characters"),
            json!({ "count": 5, "unit": "characters" })
        );
    }
}
