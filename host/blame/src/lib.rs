//! Which source wrote which bytes of a model request.
//!
//! While a request is made, the host keeps a [`RequestTrail`]: its parts with their sources, and what each stage made of
//! them. [`blame`] turns a trail into a [`Blame`], in which every byte of the body that was sent has exactly one source:
//! what a stage kept has the source that it had, what a stage changed has the stage's, and the punctuation of JSON is the
//! host's.
//!
//! | module | content |
//! | --- | --- |
//! | `source` | plugins, entries of the tape, the configuration, the host |
//! | `trail` | what the host keeps, as JSON with a version |
//! | `leaves` | the names, texts and literals of a JSON document, with their places |
//! | `difference` | the parts of a text that stand in an earlier text too |
//! | `carry` | sources from the leaves of one document to those of the next |
//! | `parts` | messages, tools and settings from one stage to the next |
//! | `blame` | the whole |
//! | `report` | what one sees of it: parts, with the sources of their texts |
//!
//! The crate has no knowledge of WebAssembly, hooks or tapes, and trails can come from a file: no input makes it panic,
//! recurse, or take more than about linear time.
//!
//! ```
//! use bub_blame::{RequestTrail, Part, PartKind, Source, Stage, blame};
//!
//! let mut trail = RequestTrail::new("cli:local", "turn-0");
//! let entry = trail.source(Source::entry(4));
//! let polite = trail.source(Source::plugin("polite", "5f3a", "before-llm-call"));
//! trail.parts.push(Part::new(PartKind::Message, r#"{"role":"user","content":"open the door"}"#, entry));
//! trail.stages.push(Stage::new(polite).with_messages([r#"{"role":"user","content":"open the door, please"}"#]));
//! trail.body = r#"{"messages":[{"role":"user","content":"open the door, please"}]}"#.into();
//!
//! let blame = blame(&trail).unwrap();
//! let texts: Vec<&str> = blame.texts_of(polite).collect();
//! assert_eq!(texts, [", please"]);
//! ```

#![warn(missing_docs, unreachable_pub)]

mod blame;
mod carry;
mod difference;
mod leaves;
mod parts;
mod report;
mod source;
mod trail;

pub use blame::{Blame, BlamedPart, Span, blame};
pub use difference::{Change, History, Step, changes};
pub use report::{PartReport, Passage};
pub use source::{HOST, Source, SourceKind};
pub use trail::{CallTrail, FORMAT, Finer, Part, PartKind, RequestTrail, Stage, TrailSink};
