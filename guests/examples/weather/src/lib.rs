//! The tool `weather`: asks a weather service, which wants a key in a header.

use bub_guest::{Context, Prompt, Result, Schema, SystemPart, Turn, config, tool};
use serde::{Deserialize, Serialize};

bub_guest::plugin! {
    about: "Says how the weather is.",
    config: Settings,
    grants: {
        /// to ask the weather service; grant the host of `server` alone
        SERVICE: Http("*"),
        /// the same, where that server is on this machine
        _LOCAL: Http("http://*"),
        /// to say who asks; it goes into a header of the requests, and never to this plugin
        KEY: Secret("weather"),
    },
    hooks: {
        /// to tell the model which city is meant where none is named
        system_prompt: home,
    },
    tools: [weather],
}

/// The table `[plugins.weather.config]`.
#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The weather service, as in `https://api.example.com`.
    server: String,
    /// The city that is meant where none is named.
    home: Option<String>,
}

#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// The name of a city.
    city: String,
    /// How temperatures are given.
    #[serde(default)]
    units: Units,
    /// For how many days.
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 7, default = 1)]
    days: u8,
}

#[derive(Deserialize, Schema, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Units {
    /// In degrees Celsius.
    #[default]
    Metric,
    /// In degrees Fahrenheit.
    Imperial,
}

fn one() -> u8 {
    1
}

/// A day of the forecast, as the service writes it and as the model reads it.
#[derive(Deserialize, Serialize)]
struct Day {
    date: String,
    sky: String,
    high: f64,
    low: f64,
}

/// Say how the weather is in a city, today and in the days that follow.
#[tool(effect = read, reads_outside)]
fn weather(asked: Asked) -> Result<Vec<Day>> {
    let settings: Settings = config::load()?;
    let units = match asked.units {
        Units::Metric => "metric",
        Units::Imperial => "imperial",
    };
    SERVICE
        .get(format!("{}/forecast", settings.server))
        .query("city", &asked.city)
        .query("units", units)
        .query("days", &asked.days.to_string())
        .header("x-api-key", KEY.placeholder()?)
        .send()
        .context("the weather service")?
        .success()
        .context(format!("the weather in `{}`", asked.city))?
        .json()
}

fn home(_turn: &Turn, _prompt: Prompt) -> Result<Vec<SystemPart>> {
    let settings: Settings = config::load()?;
    let part = |city| SystemPart::new("weather", format!("Weather without a city is the weather in {city}."));
    Ok(settings.home.map(part).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bub_guest::{ErrorKind, test};
    use serde_json::json;

    fn host() -> test::Host {
        test::Host::new().config(json!({ "server": "https://api.example.com", "home": "Bern" }))
    }

    #[test]
    fn the_service_is_asked_with_the_key_and_its_answer_is_the_result() {
        let host = host().http(|_| test::response(200, r#"[{"date":"1 May","sky":"clear","high":21.5,"low":9}]"#));
        let days = host.call::<weather>(json!({ "city": "La Paz", "units": "imperial" })).unwrap();
        assert_eq!(days, json!([{ "date": "1 May", "sky": "clear", "high": 21.5, "low": 9.0 }]));
        let request = &host.requests()[0];
        assert_eq!(request.url, "https://api.example.com/forecast?city=La%20Paz&units=imperial&days=1");
        assert_eq!(request.header_value("x-api-key"), Some("{{secret:weather}}"));
    }

    #[test]
    fn an_error_says_which_city_and_whether_to_try_again() {
        let host = host().http(|_| test::response(503, ""));
        let error = host.call::<weather>(json!({ "city": "Bern" })).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Temporary);
        assert_eq!(error.message, "the weather in `Bern`: the server answered with status 503");
    }

    #[test]
    fn the_model_is_told_the_city_at_home() {
        let host = host();
        let parts = home(&host.turn(), Prompt::Text(String::new())).unwrap();
        assert_eq!(parts[0].text, "Weather without a city is the weather in Bern.");
    }

    #[test]
    fn the_manifest_requests_the_grants_that_the_code_uses() {
        let manifest: serde_json::Value = serde_json::from_str(MANIFEST).unwrap();
        let grants: Vec<&str> =
            manifest["wants"].as_array().unwrap().iter().filter_map(|want| want["grant"].as_str()).collect();
        assert_eq!(grants, ["hook:system-prompt", "http:*", "http:http://*", "secret:weather"]);
        assert_eq!(manifest["tools"][0]["name"], "weather");
        assert_eq!(manifest["config_schema"]["required"], json!(["server"]));
    }
}
