//! A new login, and a new token for one.

use crate::callback::Callback;
use crate::error::told;
use crate::http::{Http, challenge};
use crate::store::{LoginFiles, Store, Stored};
use bub_egress::Network;
use bub_types::text::{clipped, line};
use reqwest::Url;
use rmcp::transport::AuthError;
use rmcp::transport::auth::{AuthorizationManager, AuthorizationRequest, AuthorizationSession, OAuthClientConfig};
use std::io;
use std::sync::Arc;

/// The name by which servers show this program.
const CLIENT: &str = "bub-wasm";

/// The longest text of a server in an error, in characters.
const MAX_TEXT: usize = 200;

/// Held while a token is renewed by this process.
static RENEWING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A client that was registered by hand.
#[derive(Debug, Clone)]
pub struct ClientId {
    /// Its id.
    pub id: String,
    /// Its secret, if it has one.
    pub secret: Option<String>,
}

/// A login that waits for its user.
pub struct Login {
    session: AuthorizationSession,
}

impl Login {
    /// Finds out where the server has its logins, registers this program there unless it has a `client`, and makes the
    /// address that the user has to open.
    ///
    /// # Errors
    ///
    /// One line: the server has no logins, or cannot be reached.
    pub async fn begin(
        network: &Network,
        url: &Url,
        files: &LoginFiles,
        callback: &Callback,
        client: Option<ClientId>,
        scopes: Vec<String>,
    ) -> Result<Self, String> {
        let client_secret = client.as_ref().and_then(|client| client.secret.clone());
        let mut manager =
            manager(network, url, files, client_secret, callback.address()).await.map_err(|error| told(&error))?;
        let challenge = challenge(network, url).await;
        let found =
            manager.resolve_metadata_from_challenge(challenge.as_deref()).await.map_err(|error| told(&error))?;
        manager.set_metadata(found.metadata);
        let mut request =
            AuthorizationRequest::new(callback.address()).with_client_name(CLIENT).with_initial_scope_selection();
        if !scopes.is_empty() {
            request = request.with_scopes(scopes);
        }
        if let Some(ClientId { id, secret }) = client {
            request = request.with_preregistered_client(id);
            if let Some(secret) = secret {
                request = request.with_client_secret(secret);
            }
        }
        let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| told(&error))?;
        Ok(Self { session })
    }

    /// The address that the user opens in a browser.
    pub fn address(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Gets the tokens with what the browser has brought back, and stores them.
    ///
    /// # Errors
    ///
    /// One line: the user has said no, the address is not an answer to this login, or the server refuses.
    pub async fn finish(&self, address: &str) -> Result<(), String> {
        if let Some(refusal) = refusal(address) {
            return Err(refusal);
        }
        self.session.handle_callback_url(address).await.map(drop).map_err(|error| told(&error))
    }
}

/// What a server says in place of a code.
fn refusal(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    let value = |key: &str| url.query_pairs().find(|(name, _)| name == key).map(|(_, value)| value.into_owned());
    let error = value("error")?;
    let text = value("error_description").map(|text| format!(": {text}")).unwrap_or_default();
    Some(clipped(&line(&format!("the login was refused with `{error}`{text}")), MAX_TEXT))
}

async fn manager(
    network: &Network,
    url: &Url,
    files: &LoginFiles,
    client_secret: Option<String>,
    redirect_uri: String,
) -> Result<AuthorizationManager, AuthError> {
    let http = Arc::new(Http::new(network, url));
    let mut manager = AuthorizationManager::new_with_oauth_http_client(url.clone(), http).await?;
    manager.set_credential_store(Store { files: files.clone(), client_secret, redirect_uri });
    Ok(manager)
}

/// Renews the token of a login if it ends soon. Without a login nothing is done.
///
/// # Errors
///
/// One line: the login has ended, or the server cannot be asked. The token stays as it was.
pub async fn ensure_fresh(network: &Network, url: &Url, files: &LoginFiles) -> Result<(), String> {
    let unreadable = |error: io::Error| format!("the login cannot be read: {error}");
    let Some(stored) = files.read().map_err(unreadable)? else { return Ok(()) };
    if !stored.is_stale() {
        return Ok(());
    }
    // One request for the calls that wait meanwhile.
    let _renewing = RENEWING.lock().await;
    let Some(stored) = files.read().map_err(unreadable)?.filter(Stored::is_stale) else { return Ok(()) };
    let client_id = stored.credentials.client_id.clone();
    let secret = stored.client_secret.clone();
    let renewed = async {
        let mut manager = manager(network, url, files, secret.clone(), stored.redirect_uri.clone()).await?;
        if !manager.initialize_from_store().await? {
            return Err(AuthError::AuthorizationRequired);
        }
        let mut config = OAuthClientConfig::new(client_id, stored.redirect_uri);
        if let Some(secret) = secret {
            config = config.with_client_secret(secret);
        }
        manager.configure_client(config)?;
        manager.get_access_token().await.map(drop)
    };
    renewed.await.map_err(|error| told(&error))
}
