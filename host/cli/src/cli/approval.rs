//! The options that set the approval mode of tool calls.

use bub_config::Config;
use bub_permissions::policy::ApprovalMode;
use clap::builder::{PossibleValuesParser, TypedValueParser};

#[derive(Clone, clap::Args)]
pub(super) struct Approval {
    /// When to ask before tool calls that do more than read: `ask` always, `auto` once the conversation holds untrusted
    /// text; `read-only` denies them, `all` allows them [default: `approve` of `[policy]`, else auto]
    #[arg(long, value_name = "MODE", value_parser = mode())]
    approve: Option<ApprovalMode>,
    /// Allow calls with these effects without asking, as in `write,run`; `outside`: commands outside of the sandbox
    #[arg(long, value_name = "EFFECT", value_delimiter = ',', value_parser = ["read", "write", "send", "run", "outside"])]
    allow: Vec<String>,
}

fn mode() -> impl TypedValueParser<Value = ApprovalMode> {
    // clap has rejected every other word.
    PossibleValuesParser::new(ApprovalMode::NAMES).map(|name| ApprovalMode::parse(&name).unwrap_or_default())
}

impl Approval {
    /// Applies the options to the configuration of this process.
    pub(super) fn apply(self, config: &mut Config) {
        if let Some(mode) = self.approve {
            config.policy.approve = mode;
        }
        config.policy.allowed = self.allow;
    }

    /// The effective mode with that configuration.
    pub(super) fn mode(&self, config: &Config) -> ApprovalMode {
        self.approve.unwrap_or(config.policy.approve)
    }
}
