//! Hosts that the user has named for the program's own requests: registries of plugins, indexes of releases.

use crate::ip_scope::{IpScope, ip_scope};
use crate::resolve::{Resolve, SystemResolver};
use bub_types::text::escaped;
use reqwest::Url;
use std::net::IpAddr;

/// An address for messages: at most 200 characters, without its query and its credentials, which may hold a key.
pub fn shown_url(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // They fail for an address that cannot have them.
    let _ = (url.set_username(""), url.set_password(None));
    escaped(url.as_str(), 200)
}

/// Whether a host, by name or by address, is on a private network or on this machine. Needs a tokio runtime.
pub async fn has_local_address(name: &str) -> bool {
    let name = name.trim_matches(['[', ']']);
    if let Ok(address) = name.parse::<IpAddr>() {
        return ip_scope(address) == IpScope::Local;
    }
    let addresses = SystemResolver.resolve(name).await.unwrap_or_default();
    addresses.into_iter().any(|address| ip_scope(address) == IpScope::Local)
}
