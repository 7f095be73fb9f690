//! Connections, shared by all plugins.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;

use crate::resolve::{CheckedResolver, LookupFuture, Resolve, SystemResolver};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Limit of HTTP/2 header lists, in bytes.
const HTTP2_HEADERS: u32 = 128 << 10;

/// The resolver and the connection pools. Clones share both.
///
/// Connections to exactly granted hosts have pools of their own: they may lead to private addresses, and requests
/// granted by `*` must not reuse them.
#[derive(Clone)]
pub struct Network {
    shared: Arc<Shared>,
}

struct Shared {
    resolver: Arc<dyn Resolve>,
    public: Clients,
    named: Clients,
}

/// Created lazily: loading the system's certificates takes time, and plain HTTP needs none.
#[derive(Default)]
struct Clients {
    plain: OnceCell<reqwest::Client>,
    secure: OnceCell<reqwest::Client>,
}

impl Network {
    /// A network that resolves names with `resolver`. Proxies of the environment are ignored: a proxy would resolve the
    /// name itself, unchecked.
    pub fn new(resolver: impl Resolve) -> Network {
        let shared = Shared { resolver: Arc::new(resolver), public: Clients::default(), named: Clients::default() };
        Network { shared: Arc::new(shared) }
    }

    /// The client for hosts granted exactly (`named`) or by a `*`, over TLS (`secure`) or not.
    pub async fn client(&self, named: bool, secure: bool) -> Result<&reqwest::Client, reqwest::Error> {
        let clients = if named { &self.shared.named } else { &self.shared.public };
        let cell = if secure { &clients.secure } else { &clients.plain };
        cell.get_or_try_init(|| async { self.connections(named, secure) }).await
    }

    /// All addresses of a name, unchecked.
    pub(crate) fn lookup(&self, name: &str) -> LookupFuture {
        self.shared.resolver.resolve(name)
    }

    fn connections(&self, named: bool, secure: bool) -> Result<reqwest::Client, reqwest::Error> {
        let resolver = CheckedResolver { resolver: Arc::clone(&self.shared.resolver), local: named };
        let builder = bub_tls::client()
            .dns_resolver(resolver)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            // No retries: each request that is sent was checked.
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_max_header_list_size(HTTP2_HEADERS);
        if secure { builder.build() } else { builder.tls_certs_only([]).build() }
    }
}

impl Default for Network {
    /// Uses the operating system's resolver.
    fn default() -> Network {
        Network::new(SystemResolver)
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Network")
    }
}
