//! The place in a trace that programs tell each other: the header `traceparent` of W3C Trace Context.

use std::fmt::{self, Display, Formatter};

/// A span of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace; never 0.
    pub trace_id: u128,
    /// The span; never 0.
    pub span_id: u64,
    /// Whether the trace is recorded.
    pub is_sampled: bool,
}

/// The length of a header of version 00.
const LENGTH: usize = 55;

impl TraceContext {
    /// The name of the header.
    pub const HEADER: &'static str = "traceparent";

    /// Reads the header's value. A value that breaks the rules is as good as none.
    ///
    /// ```
    /// use bub_telemetry::TraceContext;
    ///
    /// let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    /// let context = TraceContext::parse(header).expect("it is valid");
    /// assert!(context.is_sampled && context.span_id == 0x00f067aa0ba902b7);
    /// assert_eq!(context.to_string(), header);
    /// ```
    pub fn parse(value: &str) -> Option<Self> {
        let value = value.trim_matches([' ', '\t']);
        let bytes = value.as_bytes();
        let (version, is_longer) = (hex(value, 0, 2)?, bytes.len() > LENGTH);
        let ends = match version {
            0 => !is_longer,
            0xff => false,
            // A later version may append fields.
            _ => !is_longer || bytes.get(LENGTH) == Some(&b'-'),
        };
        let separated = [2, 35, 52].iter().all(|at| bytes.get(*at) == Some(&b'-'));
        let (trace_id, span_id, flags) = (hex(value, 3, 35)?, hex(value, 36, 52)?, hex(value, 53, 55)?);
        let span_id = u64::try_from(span_id).ok()?;
        (ends && separated && trace_id != 0 && span_id != 0).then_some(Self {
            trace_id,
            span_id,
            is_sampled: flags & 1 == 1,
        })
    }
}

impl Display for TraceContext {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, u8::from(self.is_sampled))
    }
}

/// A number in lower-case hexadecimal digits, which is the only form that the standard allows.
fn hex(text: &str, from: usize, to: usize) -> Option<u128> {
    let digits = text.get(from..to)?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if !digits.bytes().all(is_digit) {
        return None;
    }
    u128::from_str_radix(digits, 16).ok()
}
