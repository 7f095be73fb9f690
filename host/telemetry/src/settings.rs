//! What is exported, and where to.

use crate::sampler::Sampler;
use std::fmt::{self, Debug, Formatter};
use std::time::Duration;

/// The settings of the exporter. `Debug` shows no header's value.
#[derive(Clone)]
pub struct Settings {
    /// The address of the collector, to which `/v1/traces` and the like are appended.
    pub endpoint: String,
    /// Its host and its port, for messages.
    pub host: String,
    /// Whether it is on this machine: no proxy is used then.
    pub is_local: bool,
    /// Headers of each request.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The name of this program among others.
    pub service_name: String,
    /// Further attributes of everything that is exported.
    pub resource: Vec<(String, String)>,
    /// Which traces are recorded.
    pub sampler: Sampler,
    /// Whether metrics are exported.
    pub metrics: bool,
    /// Whether lines of the log are exported.
    pub logs: bool,
    /// The longest time for one request.
    pub timeout: Duration,
    /// The time between two requests with spans.
    pub span_interval: Duration,
    /// The time between two requests with metrics.
    pub metric_interval: Duration,
}

impl Debug for Settings {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let headers: Vec<&String> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Settings")
            .field("host", &self.host)
            .field("headers", &headers)
            .field("service_name", &self.service_name)
            .field("resource", &self.resource)
            .field("sampler", &self.sampler)
            .finish_non_exhaustive()
    }
}
