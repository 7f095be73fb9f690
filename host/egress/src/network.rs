//! The connections of all plugins.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;

use crate::resolve::{CheckedResolver, Resolve, SystemResolver};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Servers may say more about a connection in its first frames than we care to keep.
const HTTP2_HEADERS: u32 = 128 << 10;

/// Looks up names and keeps connections. Cloning it is cheap, and clones share both.
///
/// Connections to hosts that were granted by name are kept apart from the others: one of those may lead to a private
/// address, and a request that was granted by `*` must not find it open.
#[derive(Clone)]
pub struct Network {
    shared: Arc<Shared>,
}

struct Shared {
    resolver: Arc<dyn Resolve>,
    public: Clients,
    named: Clients,
}

/// Made when first wanted: reading the machine's certificates takes time, and plain HTTP needs none.
#[derive(Default)]
struct Clients {
    plain: OnceCell<reqwest::Client>,
    secure: OnceCell<reqwest::Client>,
}

impl Network {
    /// Looks names up with `resolver`. No proxy is used, whatever the environment says: a proxy would look the name up
    /// once more, behind our back.
    pub fn new(resolver: impl Resolve) -> Network {
        let shared = Shared { resolver: Arc::new(resolver), public: Clients::default(), named: Clients::default() };
        Network { shared: Arc::new(shared) }
    }

    /// Connections for a host that is granted exactly (`named`) or by a `*`, over TLS (`secure`) or not.
    pub async fn client(&self, named: bool, secure: bool) -> Result<&reqwest::Client, reqwest::Error> {
        let clients = if named { &self.shared.named } else { &self.shared.public };
        let cell = if secure { &clients.secure } else { &clients.plain };
        cell.get_or_try_init(|| async { self.connections(named, secure) }).await
    }

    fn connections(&self, named: bool, secure: bool) -> Result<reqwest::Client, reqwest::Error> {
        let resolver = CheckedResolver { resolver: Arc::clone(&self.shared.resolver), local: named };
        let builder = reqwest::Client::builder()
            .dns_resolver(resolver)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            // A request goes out once for each time that it is checked.
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_max_header_list_size(HTTP2_HEADERS);
        if secure { builder.build() } else { builder.tls_certs_only([]).build() }
    }
}

impl Default for Network {
    /// Asks the operating system for names.
    fn default() -> Network {
        Network::new(SystemResolver)
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Network")
    }
}
