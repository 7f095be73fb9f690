//! Which traces are recorded.

/// A sampler, by the names that `OTEL_TRACES_SAMPLER` has for them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    /// Whether a trace that another program began is recorded if that program records it.
    pub follows_parent: bool,
    /// What decides about other traces.
    pub kind: SamplerKind,
}

/// What decides about a trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SamplerKind {
    /// Every trace is recorded.
    AlwaysOn,
    /// None is.
    AlwaysOff,
    /// This share of them, from 0 to 1, by their ids: programs with the same share choose the same traces.
    Ratio(f64),
}

impl Default for Sampler {
    fn default() -> Self {
        Self { follows_parent: true, kind: SamplerKind::AlwaysOn }
    }
}

impl Sampler {
    /// The names of the samplers.
    pub const NAMES: [&'static str; 6] = [
        "always_on",
        "always_off",
        "traceidratio",
        "parentbased_always_on",
        "parentbased_always_off",
        "parentbased_traceidratio",
    ];

    /// The sampler of that name; `ratio` is for those that have one.
    pub fn parse(name: &str, ratio: f64) -> Option<Self> {
        let (follows_parent, name) = match name.strip_prefix("parentbased_") {
            Some(name) => (true, name),
            None => (false, name),
        };
        let kind = match name {
            "always_on" => SamplerKind::AlwaysOn,
            "always_off" => SamplerKind::AlwaysOff,
            "traceidratio" => SamplerKind::Ratio(ratio),
            _ => return None,
        };
        Some(Self { follows_parent, kind })
    }

    /// Whether the trace is recorded. `parent`: whether the program that it comes from records it, if it comes from one.
    pub fn records(self, trace_id: u128, parent: Option<bool>) -> bool {
        match (self.kind, parent.filter(|_| self.follows_parent)) {
            (_, Some(is_sampled)) => is_sampled,
            (SamplerKind::AlwaysOn, None) => true,
            (SamplerKind::AlwaysOff, None) => false,
            // Its largest ids are rounded up.
            (SamplerKind::Ratio(ratio), None) if ratio >= 1.0 => true,
            // The lower half of an id is random in every implementation.
            (SamplerKind::Ratio(ratio), None) => {
                ((trace_id as u64 >> 1) as f64) < ratio.clamp(0.0, 1.0) * (1u64 << 63) as f64
            }
        }
    }
}
