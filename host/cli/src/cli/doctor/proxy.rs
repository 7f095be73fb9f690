//! The proxies of the environment, and the requests that use them.

use super::{Diagnostic, State};
use bub_model::{Route, split};
use bub_redact::proxy_address;
use bub_runtime::host::Host;

/// The variables in the order in which they are read.
const VARIABLES: [&str; 6] = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

pub(super) async fn diagnostic(host: &Host) -> Diagnostic {
    let named: Vec<String> = VARIABLES
        .iter()
        .filter_map(|name| Some((name, std::env::var(name).ok().filter(|value| !value.trim().is_empty())?)))
        .map(|(name, value)| format!("{name} is `{}`", proxy_address(&value)))
        .collect();
    let mut passing = Vec::new();
    for label in std::iter::once(&host.config.model.model).chain(&host.config.fallback_models) {
        let is_plugins = split(label).is_ok_and(|(provider, _)| host.plugins().provider(provider).is_some());
        if let (false, Ok((server, Route::Proxy(proxy)))) = (is_plugins, host.model.route(label).await) {
            passing.push(format!("requests of model `{label}` to `{server}` pass through `{proxy}`"));
        }
    }
    let text = match (named.is_empty(), passing.is_empty()) {
        (true, true) => "none is named, and none is used".to_owned(),
        (false, true) => format!("{}; nothing passes through it", named.join(", ")),
        (_, false) => {
            let named = if named.is_empty() { "named by the system".to_owned() } else { named.join(", ") };
            format!("{named}; {}; plugins' requests and private addresses never do", passing.join(", "))
        }
    };
    super::diagnostic("proxy", State::Well, text)
}
