//! Authentication by bearer tokens, and by logins that stand for them.

use super::origin_check::is_same_origin;
use super::secrets::{hash, random_secret, to_hex};
use super::{Api, ApiError, login};
use anyhow::{Context, Result, ensure};
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use bub_config::{Commands, Config, Quota, Scope, Token};
use bub_gateway::HTTP;
use bub_runtime::turn::{Identity, Requester};
use bub_system::files::{Access, read_text};
use bub_types::Principal;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// The file of the owner's token in `$BUB_HOME`.
const OWNER_FILE: &str = "serve.token";

/// The longest token file, in bytes.
const MAX_FILE: usize = 4096;

/// The name of the owner's token.
const OWNER: &str = "owner";

/// The token of a request, and what it allows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bearer {
    hash: [u8; 32],
    pub name: String,
    /// The prefix of the sessions that it reaches.
    pub session_prefix: String,
    scopes: BTreeSet<Scope>,
    principal: Principal,
    commands: Commands,
    pub quota: Quota,
}

impl Bearer {
    /// # Errors
    ///
    /// The token does not have that scope.
    pub(crate) fn needs(&self, scope: Scope) -> Result<(), ApiError> {
        if self.may(scope) {
            return Ok(());
        }
        Err(ApiError::forbidden(format!("token `{}` has no scope `{}`, which this needs", self.name, scope.name())))
    }

    pub(crate) fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }

    /// # Errors
    ///
    /// The token does not reach that session.
    pub(crate) fn check_reach(&self, session: &str) -> Result<(), ApiError> {
        if session.starts_with(&self.session_prefix) {
            return Ok(());
        }
        let (name, prefix) = (&self.name, self.session_prefix.escape_debug());
        Err(ApiError::forbidden(format!("token `{name}` reaches only sessions that begin with `{prefix}`")))
    }

    /// Whether the principal of the token is the owner or a peer.
    pub(crate) fn is_trusted(&self) -> bool {
        !matches!(self.principal, Principal::Anonymous)
    }

    /// The digest of the token, in hexadecimal.
    pub(crate) fn digest(&self) -> String {
        to_hex(&self.hash)
    }

    /// The requester of a preview, which shows what a turn of the bearer would be shown.
    pub(crate) fn requester(&self) -> Requester<'_> {
        Requester { channel: HTTP, sender: &self.name, identity: Some(self.identity()) }
    }

    /// The speaker of the bearer's messages.
    pub(crate) fn identity(&self) -> Identity {
        Identity {
            principal: self.principal,
            commands: self.commands,
            session_prefix: self.session_prefix.clone(),
            taint: None,
        }
    }
}

/// All valid tokens, by their hashes.
pub struct Tokens(Vec<Bearer>);

impl Tokens {
    /// Loads the tokens of the configuration and the owner's, which is created if it does not exist.
    ///
    /// # Errors
    ///
    /// The owner's token cannot be read or written, or other users can read it.
    pub fn load(config: &Config) -> Result<Self> {
        let path = Self::file(config);
        let owner_token = owner_token(&path).with_context(|| format!("the token in `{}`", path.display()))?;
        let commands = config.channel(HTTP).commands.unwrap_or(Commands::Tools);
        let bearer = |hash: [u8; 32], token: &Token| Bearer {
            hash,
            name: token.name.clone(),
            session_prefix: token.session_prefix.clone(),
            principal: token.principal,
            commands: if token.scopes.contains(&Scope::Admin) { commands } else { Commands::None },
            scopes: token.scopes.clone(),
            quota: token.quota.or(config.quotas.for_principal(token.principal)),
        };
        let owner = Token {
            name: OWNER.to_owned(),
            hash: String::new(),
            scopes: [Scope::Turns, Scope::Read, Scope::Admin].into(),
            session_prefix: String::new(),
            principal: Principal::Owner,
            quota: Quota::default(),
        };
        let mut known = vec![bearer(hash(owner_token.as_bytes()), &owner)];
        for token in &config.tokens {
            ensure!(token.name != OWNER, "a token of config.toml is called `{OWNER}`, as that in `{OWNER_FILE}` is");
            known.push(bearer(from_hex(&token.hash), token));
        }
        Ok(Self(known))
    }

    /// Finds a token. All are compared, so that the time reveals nothing.
    pub(super) fn find(&self, token: &[u8]) -> Option<&Bearer> {
        let hash = hash(token);
        let mut found = None;
        for bearer in &self.0 {
            if bool::from(bearer.hash.ct_eq(&hash)) {
                found = Some(bearer);
            }
        }
        found
    }

    /// The token of that name; without one, the owner's.
    pub(super) fn named(&self, name: Option<&str>) -> Option<&Bearer> {
        self.0.iter().find(|bearer| bearer.name == name.unwrap_or(OWNER))
    }

    /// Whether the bearer's token exists unchanged.
    pub(super) fn contains(&self, bearer: &Bearer) -> bool {
        self.0.contains(bearer)
    }

    /// The path of the owner's token.
    pub fn file(config: &Config) -> PathBuf {
        config.home.join(OWNER_FILE)
    }
}

/// The configuration has checked that the text is hexadecimal.
fn from_hex(text: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).unwrap_or_default();
        *byte = u8::from_str_radix(digits, 16).unwrap_or_default();
    }
    bytes
}

fn owner_token(path: &Path) -> Result<String> {
    match read_text(path, MAX_FILE).map_err(anyhow::Error::msg)? {
        Some((token, access)) => {
            let shown = path.display();
            ensure!(access == Access::Private, "other users can read `{shown}`: `chmod 600 {shown}`");
            let token = token.trim();
            ensure!(token.len() >= 32, "it is shorter than 32 characters: remove the file to get a new one");
            Ok(token.to_owned())
        }
        None => {
            let token = random_secret()?;
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            writeln!(file, "{token}")?;
            Ok(token)
        }
    }
}

/// Middleware: authenticates a request by its `Authorization` header, or by the cookie of a login.
pub(super) async fn authenticate(
    State(api): State<Arc<Api>>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let header = request.headers().get(header::AUTHORIZATION).map(|value| value.as_bytes());
    let token = header.and_then(|header| {
        let (scheme, token) = header.split_at_checked(7)?;
        scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
    });
    let rules = api.auth.rules();
    let bearer = match (token, login::cookie(request.headers())) {
        (Some(token), _) => rules.tokens.find(token).cloned(),
        // A page of another origin that may use the API authenticates by a token of its own.
        (None, Some(cookie)) if is_same_origin(request.headers()) => api.logins.find(&rules.tokens, cookie).await?,
        _ => None,
    };
    let Some(bearer) = bearer else {
        return Err(ApiError::unauthorized());
    };
    bearer.take_request(&api)?;
    request.extensions_mut().insert(bearer);
    Ok(next.run(request).await)
}
