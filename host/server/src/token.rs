//! Who makes a request: by a token, always.

use super::{Api, Problem};
use anyhow::{Context, Result, ensure};
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bub_config::{Commands, Config, Quota, Scope, Token};
use bub_gateway::HTTP;
use bub_runtime::turn::{Identity, Requester};
use bub_system::files::{Access, read_text};
use bub_types::Principal;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// Below `$BUB_HOME`: the owner's token.
const FILE: &str = "serve.token";

/// Longest file of a token, in bytes.
const MAX_FILE: usize = 4096;

/// What the bearer of that one is called.
const OWNER: &str = "owner";

/// Whoever makes a request, and what their token lets them do.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bearer {
    hash: [u8; 32],
    pub name: String,
    pub reach: String,
    scopes: BTreeSet<Scope>,
    principal: Principal,
    commands: Commands,
    pub quota: Quota,
}

impl Bearer {
    /// # Errors
    ///
    /// The token does not let its bearer do that.
    pub fn needs(&self, scope: Scope) -> Result<(), Problem> {
        if self.may(scope) {
            return Ok(());
        }
        Err(Problem::forbidden(format!("token `{}` has no scope `{}`, which this needs", self.name, scope.name())))
    }

    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }

    /// # Errors
    ///
    /// The token does not reach that session.
    pub fn reaches(&self, session: &str) -> Result<(), Problem> {
        if session.starts_with(&self.reach) {
            return Ok(());
        }
        let (name, reach) = (&self.name, self.reach.escape_debug());
        Err(Problem::forbidden(format!("token `{name}` reaches only sessions that begin with `{reach}`")))
    }

    /// Whether the configuration knows the bearer as its owner or a peer.
    pub fn is_trusted(&self) -> bool {
        !matches!(self.principal, Principal::Anonymous)
    }

    /// Who looks at a session's next turn when they do: what it shows is what their own turn would be shown.
    pub fn requester(&self) -> Requester<'_> {
        Requester { channel: HTTP, sender: &self.name, speaker: Some(self.speaker()) }
    }

    /// Who speaks when they do.
    pub fn speaker(&self) -> Identity {
        Identity { principal: self.principal, commands: self.commands, session_prefix: self.reach.clone() }
    }
}

/// All tokens that are known, by their hashes.
pub struct Tokens(Vec<Bearer>);

impl Tokens {
    /// Those of the configuration, and the owner's, which is made when there is none.
    ///
    /// # Errors
    ///
    /// The owner's cannot be read or written, or others can read it.
    pub fn load(config: &Config) -> Result<Self> {
        let path = Self::file(config);
        let own = own(&path).with_context(|| format!("the token in `{}`", path.display()))?;
        let commands = config.channel(HTTP).commands.unwrap_or(Commands::Tools);
        let bearer = |hash: [u8; 32], token: &Token| Bearer {
            hash,
            name: token.name.clone(),
            reach: token.session_prefix.clone(),
            principal: token.principal,
            commands: if token.scopes.contains(&Scope::Admin) { commands } else { Commands::None },
            scopes: token.scopes.clone(),
            quota: token.quota.or(config.quotas.of(token.principal)),
        };
        let owner = Token {
            name: OWNER.to_owned(),
            hash: String::new(),
            scopes: [Scope::Turns, Scope::Read, Scope::Admin].into(),
            session_prefix: String::new(),
            principal: Principal::Owner,
            quota: Quota::default(),
        };
        let mut known = vec![bearer(hash(own.as_bytes()), &owner)];
        for token in &config.tokens {
            ensure!(token.name != OWNER, "a token of config.toml is called `{OWNER}`, as that in `{FILE}` is");
            known.push(bearer(from_hex(&token.hash), token));
        }
        Ok(Self(known))
    }

    /// Whose token that is. All are looked at, so that the time tells nothing.
    fn find(&self, token: &[u8]) -> Option<&Bearer> {
        let hash = hash(token);
        let mut found = None;
        for bearer in &self.0 {
            if bool::from(bearer.hash.ct_eq(&hash)) {
                found = Some(bearer);
            }
        }
        found
    }

    /// Whether the bearer's token is still theirs, and says what it said.
    pub(super) fn knows(&self, bearer: &Bearer) -> bool {
        self.0.contains(bearer)
    }

    /// Where the owner's stands.
    pub fn file(config: &Config) -> PathBuf {
        config.home.join(FILE)
    }
}

fn hash(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// The configuration has checked that it is one.
fn from_hex(text: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).unwrap_or_default();
        *byte = u8::from_str_radix(digits, 16).unwrap_or_default();
    }
    bytes
}

fn own(path: &Path) -> Result<String> {
    match read_text(path, MAX_FILE).map_err(anyhow::Error::msg)? {
        Some((token, access)) => {
            let shown = path.display();
            ensure!(access == Access::Private, "other users can read `{shown}`: `chmod 600 {shown}`");
            let token = token.trim();
            ensure!(token.len() >= 32, "it is shorter than 32 characters: remove the file to have a new one made");
            Ok(token.to_owned())
        }
        None => {
            let mut bytes = [0; 32];
            getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("there is no randomness: {error}"))?;
            let token = URL_SAFE_NO_PAD.encode(bytes);
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            writeln!(file, "{token}")?;
            Ok(token)
        }
    }
}

/// Finds out who makes the request.
pub(super) async fn identify(
    State(api): State<Arc<Api>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let given = request.headers().get(header::AUTHORIZATION).map(|value| value.as_bytes());
    let token = given.and_then(|given| {
        let (scheme, token) = given.split_at_checked(7)?;
        scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
    });
    let Some(bearer) = token.and_then(|token| api.door.rules().tokens.find(token).cloned()) else {
        return Err(Problem::unknown());
    };
    bearer.take_request(&api)?;
    request.extensions_mut().insert(bearer);
    Ok(next.run(request).await)
}
