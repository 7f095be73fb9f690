//! Addresses of the network: those that a text names, and sets of them that are small enough to stand on a tape.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;

/// Characters that may follow an address in a text without being a part of it.
const BEHIND: &[char] = &['.', ',', ';', ':', '!', '?', ')', ']', '}', '>', '\'', '"', '*', '_', '|', '\\'];

/// Where an address in Markdown, code or JSON ends at the latest, if it ends there.
const ENDS: &[char] = &[')', ']', '}', '\'', ',', '|', '\\'];

/// An address, as 96 bits of its SHA-256: two texts are one address if and only if they lead to the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address([u8; 12]);

impl Address {
    /// The address of that URL. A fragment never leaves this machine, and a slash at the end says nothing.
    pub fn from_url(url: &Url) -> Self {
        let mut url = url.clone();
        url.set_fragment(None);
        let hash = Sha256::digest(url.as_str().trim_end_matches('/'));
        let mut short = [0; 12];
        short.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
        Self(short)
    }

    /// As it stands on a tape.
    pub fn text(self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Reads [`Self::text`]; none for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }
}

/// The latest addresses of one kind, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addresses(VecDeque<Address>);

impl Addresses {
    /// How many are kept. A conversation that names more asks again about the first ones.
    pub const MAX: usize = 512;

    /// Adds one; an old one makes room for it.
    pub fn add(&mut self, address: Address) {
        if self.has(&address) {
            return;
        }
        if self.0.len() >= Self::MAX {
            self.0.pop_front();
        }
        self.0.push_back(address);
    }

    /// Whether it is one of them.
    pub fn has(&self, address: &Address) -> bool {
        self.0.contains(address)
    }

    /// The oldest first.
    pub fn iter(&self) -> impl Iterator<Item = Address> + '_ {
        self.0.iter().copied()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Extend<Address> for Addresses {
    fn extend<I: IntoIterator<Item = Address>>(&mut self, addresses: I) {
        addresses.into_iter().for_each(|address| self.add(address));
    }
}

/// The addresses that stand in a text with their scheme, each in every way in which its end can be understood: a parenthesis
/// behind it may be a part of it or not.
pub fn written(text: &str) -> Vec<Address> {
    let mut found = Vec::new();
    for token in tokens(text) {
        for address in with_scheme(token) {
            let mut take = |text: &str| {
                found.extend(Url::parse(text).ok().filter(Url::has_host).map(|url| Address::from_url(&url)))
            };
            let mut rest = address;
            take(rest);
            while let Some(shorter) = rest.strip_suffix(BEHIND) {
                rest = shorter;
                take(rest);
            }
            if let Some(end) = rest.find(ENDS) {
                take(rest.get(..end).unwrap_or_default());
            }
        }
    }
    found
}

/// The same, and those that people write without a scheme, as `example.org` or `localhost:8000/x`: they may mean either one.
pub fn meant(text: &str) -> Vec<Address> {
    let mut found = written(text);
    for token in tokens(text).filter(|token| !token.contains("://")) {
        let token = token.trim_matches(|c| BEHIND.contains(&c) || "([{<`".contains(c));
        found.extend(bare(token).iter().flat_map(forms));
    }
    found
}

/// Those of [`meant`] that are addresses whatever else they may be: with a scheme, or a host with a path or a `www` behind
/// which no file could be meant.
pub fn certain(text: &str) -> Vec<Address> {
    let mut found = written(text);
    for token in tokens(text).filter(|token| !token.contains("://")) {
        let token = token.trim_matches(|c| BEHIND.contains(&c) || "([{<`".contains(c));
        if token.starts_with("www.") || token.contains('/') {
            found.extend(bare(token).iter().flat_map(forms));
        }
    }
    found
}

/// The addresses that a request is made to whose arguments hold this text. `is_open`: the plugin may reach any host, so that
/// a host without a scheme is one too.
pub fn requested(text: &str, is_open: bool) -> Vec<Url> {
    // As URLs are read: line breaks within are passed over, and `https:host` has a host.
    if let Some(url) = Url::parse(text.trim()).ok().filter(Url::has_host) {
        return vec![url];
    }
    let mut found: Vec<Url> = Vec::new();
    for token in tokens(text) {
        for address in with_scheme(token) {
            let plain = address.trim_end_matches(BEHIND);
            found.extend([plain, address].iter().find_map(|text| Url::parse(text).ok()).filter(Url::has_host));
        }
    }
    if found.is_empty() && is_open {
        found.extend(bare(text.trim()));
    }
    found
}

/// The ways in which an address without a scheme may be meant; one with a scheme is itself.
pub fn forms(url: &Url) -> impl Iterator<Item = Address> + use<> {
    let mut forms = vec![Address::from_url(url)];
    if url.scheme() == BARE {
        forms = ["https", "http"]
            .iter()
            .filter_map(|scheme| Url::parse(&format!("{scheme}{}", url.as_str().get(BARE.len()..)?)).ok())
            .map(|url| Address::from_url(&url))
            .collect();
    }
    forms.into_iter()
}

/// Whether the text is that address and nothing else.
pub fn is_whole(text: &str, url: &Url) -> bool {
    let whole = Url::parse(text.trim()).ok().filter(Url::has_host).or_else(|| bare(text.trim()));
    whole.is_some_and(|whole| whole == *url)
}

/// Stands for a scheme that was not written.
const BARE: &str = "bare";

/// A host without a scheme, with what follows it.
fn bare(token: &str) -> Option<Url> {
    let token = token.strip_prefix("//").unwrap_or(token);
    if token.contains('@') || token.contains(char::is_whitespace) {
        return None;
    }
    let end = token.find(['/', '?', '#']).unwrap_or(token.len());
    let authority = token.get(..end)?;
    let host =
        authority.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(authority, |(host, _)| host);
    let is_ip = host.parse::<std::net::Ipv4Addr>().is_ok() || host.starts_with('[') && host.ends_with(']');
    let labels: Vec<&str> = host.split('.').collect();
    let is_label = |label: &&str| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-');
    let is_top = |label: &&str| label.chars().count() >= 2 && label.chars().all(char::is_alphabetic);
    let is_name = labels.len() > 1 && labels.iter().all(is_label) && labels.last().is_some_and(is_top);
    if !(is_ip || is_name || host == "localhost") {
        return None;
    }
    // By a scheme of the web, so that the host is read as one.
    let url = Url::parse(&format!("https://{token}")).ok()?;
    Url::parse(&format!("{BARE}{}", url.as_str().strip_prefix("https")?)).ok()
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || c.is_control() || "<>\"`".contains(c))
        .filter(|token| token.contains(['.', ':']))
}

/// From each scheme in the token to the next one, or to the end.
fn with_scheme(token: &str) -> impl Iterator<Item = &str> {
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let starts: Vec<usize> = token
        .match_indices("://")
        .filter_map(|(at, _)| {
            let before = token.get(..at)?;
            let start = before
                .rfind(|c| !is_scheme(c))
                .map_or(0, |last| last + before[last..].chars().next().map_or(1, char::len_utf8));
            (start < at).then_some(start)
        })
        .collect();
    // An address may hold another one, as in `https://a.org/?to=https://b.org`: it is whole, and so is the one inside.
    starts.into_iter().filter_map(|start| token.get(start..))
}
