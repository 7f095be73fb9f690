//! Metrics, as they are scraped and as they are exported.

use std::fmt::{self, Display, Formatter};

/// A metric.
#[derive(Debug)]
pub struct Metric {
    /// The name of the metric.
    pub name: &'static str,
    /// `counter` or `gauge`.
    pub kind: &'static str,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// The quantity that it counts.
    pub about: &'static str,
}

/// A value of a metric at one moment.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The metric.
    pub metric: &'static Metric,
    /// The names and values of its labels.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: Number,
}

/// A value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A count.
    Whole(u64),
    /// A measure.
    Float(f64),
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}
