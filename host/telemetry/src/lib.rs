//! Traces, metrics and logs of the program, by OTLP over HTTP.
//!
//! The crates of the program describe what they do by spans of `tracing`, and know nothing of OTLP. The subscriber
//! of this crate makes records of these spans and of what is logged inside of them, and hands them to the exporter, a
//! thread of its own with a bounded queue. Until [`Exporter::start`] is called, it asks for no span, and `tracing` makes
//! none.
//!
//! Which spans are exported, and what they are called, follows from their fields:
//!
//! | field | meaning |
//! | --- | --- |
//! | `otel.name` | the name of the span, in place of the one in the code |
//! | `otel.kind` | `client` for a request to another program |
//! | `otel.parent` | a [`TraceContext`] of another process or of a span that has ended |
//! | `otel.status` | what went wrong, for people; `error.type` says it for programs and makes the span an error |
//! | `outcome` | how it ended; a span that declares it and ends without was dropped, and is `cancelled` |
//!
//! Names with a dot are those of the semantic conventions; all others get the prefix `bub.`.
//!
//! A span without a parent is exported only if it begins a turn, or names a parent in another process.

#![warn(missing_docs, unreachable_pub)]

#[cfg(feature = "otlp")]
mod callsite;
mod context;
mod counts;
#[cfg(feature = "otlp")]
mod encode;
#[cfg(feature = "otlp")]
mod exporter;
#[cfg(feature = "otlp")]
mod ids;
mod metric;
#[cfg(feature = "otlp")]
mod protobuf;
#[cfg(feature = "otlp")]
mod queue;
#[cfg(feature = "otlp")]
mod record;
#[cfg(feature = "otlp")]
mod request;
mod sampler;
mod settings;
#[cfg(feature = "otlp")]
mod slab;
#[cfg(feature = "otlp")]
mod stack;
#[cfg(feature = "otlp")]
mod subscriber;
#[cfg(feature = "otlp")]
mod text;

pub use context::TraceContext;
pub use counts::{Counts, counts};
#[cfg(feature = "otlp")]
pub use exporter::Exporter;
pub use metric::{Metric, Number, Sample};
#[cfg(feature = "otlp")]
pub use request::probe;
pub use sampler::{Sampler, SamplerKind};
pub use settings::Settings;
#[cfg(feature = "otlp")]
pub use subscriber::subscriber;

/// The target of spans that are made for export alone. The log has the spans `turn` and `hook` without it.
#[macro_export]
macro_rules! span {
    ($name:literal $(, $($fields:tt)*)?) => {
        $crate::__tracing::info_span!(target: "otel", $name $(, $($fields)*)?)
    };
}

#[doc(hidden)]
pub use tracing as __tracing;

/// Whether spans are exported. What is only for export need not be computed otherwise.
pub fn is_on() -> bool {
    #[cfg(feature = "otlp")]
    return subscriber::is_on();
    #[cfg(not(feature = "otlp"))]
    false
}

/// The span that this thread works in, as other programs are told of it.
pub fn current() -> Option<TraceContext> {
    #[cfg(feature = "otlp")]
    return subscriber::current();
    #[cfg(not(feature = "otlp"))]
    None
}
