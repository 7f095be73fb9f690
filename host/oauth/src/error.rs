//! What people read of a failure.

use bub_types::text::{clipped, line};
use rmcp::transport::AuthError;

/// The longest text of a server in an error, in characters.
const MAX_TEXT: usize = 300;

/// One line about a failure. Texts of servers in it are clipped.
pub(crate) fn told(error: &AuthError) -> String {
    let text = match error {
        AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_) => "the login has ended".to_owned(),
        AuthError::NoAuthorizationSupport => "it offers no login by OAuth".to_owned(),
        other => other.to_string(),
    };
    clipped(&line(&text), MAX_TEXT)
}
