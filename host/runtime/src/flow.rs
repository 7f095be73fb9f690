//! The data that a call would carry out of a conversation: where its request goes, and what of it was read before.
//! Facts only; [`decide`](bub_permissions::policy::decide) decides what they permit.
//!
//! A call is looked at and not the request that comes of it, for three reasons: the arguments are all that a model can put
//! into a request, the owner has to be asked before the tool begins, and what a tool asks for beyond that (a redirect, a
//! link of a page) stands in an answer that came from outside, whose writer knows nothing of what was read here.

pub mod address;
mod encodings;
mod overlap;

use self::address::Addresses;
use self::overlap::Overlap;
use bub_permissions::Grant;
use bub_permissions::policy::Flow;
use bub_types::text::one_line;
use serde_json::Value;

/// The most text of one call's arguments that is compared, in bytes. More of it is no request for a page.
const MAX_ARGUMENTS: usize = 64 << 10;

/// Characters of an address that are shown.
const SHOWN: usize = 120;

/// Text that the conversation has read.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// The description of the source, for people: `` text read by `fs.read` ``.
    pub source: &'a str,
    /// The text.
    pub text: &'a str,
}

/// The known facts of a conversation when a call is made.
#[derive(Debug, Clone, Default)]
pub struct Conversation<'a> {
    /// The texts that the owner wrote in this turn, also while it ran. The owner's own text may leave.
    pub owner_texts: Vec<&'a str>,
    /// Addresses that the owner wrote, in this turn and before it.
    pub owner: Addresses,
    /// Addresses that stood on pages that were fetched, in this turn and before it.
    pub pages: Addresses,
    /// The texts that were read and are no pages: files, what programs showed, memory.
    pub read: Vec<Reading<'a>>,
    /// Whether more was read than is kept.
    pub is_partial: bool,
}

/// Where a plugin may send requests.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// Hosts that its grants name.
    pub hosts: Vec<String>,
    /// Whether a grant names no host: then the arguments decide where a request goes.
    pub is_open: bool,
}

impl Reach {
    /// Where these grants of [`GrantKind::Http`](bub_permissions::GrantKind::Http) reach; none, where there are none.
    pub fn from_grants(grants: &[Grant]) -> Option<Self> {
        let host = |grant: &str| grant.split_once("://").map_or(grant, |(_, host)| host).to_owned();
        // Below a whole top-level domain is anywhere, too.
        let names_none = |host: &String| host.strip_prefix('*').is_some_and(|below| below.matches('.').count() < 2);
        let (open, hosts): (Vec<_>, Vec<_>) = grants.iter().map(|grant| host(grant.target())).partition(names_none);
        (!grants.is_empty()).then_some(Self { hosts, is_open: !open.is_empty() })
    }
}

/// The flows of a call whose plugin may send requests there.
pub fn of_request(conversation: &Conversation<'_>, reach: &Reach, arguments: &Value) -> Vec<Flow> {
    let texts = texts(arguments);
    let mut flows = Vec::new();
    let mut leaving = Vec::with_capacity(texts.len());
    let mut destinations = Vec::new();
    for text in &texts {
        let mut rest = text.clone();
        for url in address::requested(text, reach.is_open) {
            destinations.push(url.host_str().unwrap_or_default().to_owned());
            if address::forms(&url).any(|form| conversation.owner.has(&form)) {
                // All of it is the owner's word, but for a fragment, which is no part of an address.
                rest = match address::is_whole(&rest, &url) {
                    true => url.fragment().unwrap_or_default().to_owned(),
                    false => rest.replace(url.as_str().split('#').next().unwrap_or_default(), " "),
                };
            } else if address::forms(&url).any(|form| conversation.pages.has(&form)) {
                // A host that stood on the page says nothing of what was read; the rest of the address may.
                if let Some(host) = url.host_str().filter(|host| !host.is_empty()) {
                    rest = rest.replace(host, " ");
                }
            } else if flows.is_empty() {
                flows.push(Flow::UnknownAddress { address: shown(url.as_str()) });
            }
        }
        leaving.push(rest);
    }
    if destinations.is_empty() {
        match reach.is_open {
            true => flows.push(Flow::UnnamedAddress),
            false => destinations.extend(reach.hosts.iter().take(1).cloned()),
        }
    }
    let to = destinations.into_iter().next().unwrap_or_else(|| "an address that it does not name".to_owned());
    let is_comparable = texts.iter().map(String::len).sum::<usize>() <= MAX_ARGUMENTS;
    let found = match is_comparable {
        true => overlap::find(&leaving, &conversation.owner_texts, &conversation.read),
        false => Overlap::TooMuch,
    };
    match found {
        Overlap::In(source) => flows.push(Flow::Leak { source: source.to_owned(), to: shown(&to) }),
        Overlap::Nowhere if !conversation.is_partial => {}
        // An incomparable text counts as the same, unless it is too short to be compared at all.
        Overlap::Nowhere | Overlap::TooMuch => flows.push(Flow::Unchecked { to: shown(&to) }),
        Overlap::TooLittle => {}
    }
    flows
}

fn shown(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// All texts of the arguments: values, names and numbers.
fn texts(arguments: &Value) -> Vec<String> {
    let mut texts = Vec::new();
    let mut left = vec![arguments];
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) => texts.push(text.clone()),
            Value::Number(number) => texts.push(number.to_string()),
            Value::Array(items) => left.extend(items),
            Value::Object(fields) => {
                texts.extend(fields.keys().cloned());
                left.extend(fields.values());
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    texts
}
