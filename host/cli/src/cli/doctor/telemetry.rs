//! Whether telemetry is exported, and whether the collector takes it.

use super::{Diagnostic, State, diagnostic};
use crate::cli::telemetry::answers;
use bub_config::Config;

const WHAT: &str = "telemetry";

pub(super) async fn diagnostics(config: &Config) -> Vec<Diagnostic> {
    let problems = config.telemetry.problems().iter();
    let mut diagnostics: Vec<Diagnostic> =
        problems.map(|problem| diagnostic(WHAT, State::Note, problem.clone())).collect();
    diagnostics.push(match config.telemetry_settings() {
        Ok(None) if config.telemetry.is_disabled() => {
            diagnostic(WHAT, State::Well, "is off by a variable of OpenTelemetry")
        }
        Ok(None) => diagnostic(WHAT, State::Well, "is off; `endpoint` in `[telemetry]` of config.toml turns it on"),
        Ok(Some(settings)) => {
            let host = &settings.host;
            match answers(&settings).await {
                Ok(()) => diagnostic(WHAT, State::Well, format!("the collector at `{host}` takes it")),
                Err(why) => {
                    let text = format!("the collector at `{host}` does not take it: {why}; turns run without it");
                    diagnostic(WHAT, State::Wrong, text)
                }
            }
        }
        Err(error) => diagnostic(WHAT, State::Wrong, format!("is off: {error:#}")),
    });
    diagnostics
}
