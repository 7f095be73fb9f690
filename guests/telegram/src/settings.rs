//! Settings: allowed users and chats, and the API address.

use crate::update::{Chat, User};
use bub_guest::schema::Either;
use bub_guest::{Result, Schema, config};
use serde::Deserialize;
use serde_json::Value;

/// The default Bot API address.
const API: &str = "https://api.telegram.org";

/// Long-polling timeout, in seconds. The host's is a minute.
const POLL: u64 = 50;

/// The table `[plugins.telegram.config]`.
#[derive(Deserialize, Schema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// People who may talk to the bot in private: numeric ids, or names as in `@ada`. None by default.
    #[serde(default)]
    #[schema(with = Vec<Either<i64, String>>)]
    allow_users: Vec<Value>,
    /// Groups that the bot listens in, by their numeric ids. None unless named.
    #[serde(default)]
    #[schema(with = Vec<Either<i64, String>>)]
    allow_chats: Vec<Value>,
    /// Words that call the bot in a group, beside its name.
    #[serde(default)]
    pub mention: Vec<String>,
    /// Another Bot API server, as in `http://127.0.0.1:8081`.
    #[serde(default = "telegram")]
    #[schema(default = "https://api.telegram.org")]
    api_base: String,
    /// How long one question for news waits for them.
    #[serde(default = "longest")]
    #[schema(maximum = POLL, default = POLL)]
    pub poll_seconds: u64,
}

fn telegram() -> String {
    API.to_owned()
}

fn longest() -> u64 {
    POLL
}

impl Settings {
    /// # Errors
    ///
    /// `config`, if the table is not as its schema says.
    pub fn read() -> Result<Self> {
        config::load()
    }

    /// Where the Bot API is, without a slash at its end.
    pub fn api(&self) -> &str {
        self.api_base.trim_end_matches('/')
    }

    /// Whether this person may use the bot in private.
    pub fn allows_user(&self, user: &User) -> bool {
        // No user name begins with a digit, so ids and names cannot be confused.
        let name = user.username.as_ref().filter(|name| name.starts_with(char::is_alphabetic));
        let name = name.map(|name| name.to_lowercase());
        self.allow_users
            .iter()
            .map(plain)
            .any(|allowed| allowed == user.id.to_string() || Some(&allowed) == name.as_ref())
    }

    /// Whether the bot is active in this group.
    pub fn allows_chat(&self, chat: &Chat) -> bool {
        self.allow_chats.iter().map(plain).any(|allowed| allowed == chat.id.to_string())
    }
}

/// Numbers as text; names in small letters, without their `@`.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().trim_start_matches('@').to_lowercase(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_named_by_number_or_name() {
        let table = serde_json::json!({ "allow_users": [42, "@Ada", "43"], "allow_chats": ["-100"] });
        let _host = bub_guest::test::Host::new().config(table);
        let settings = Settings::read().unwrap();
        assert_eq!((settings.api(), settings.poll_seconds), (API, POLL));
        let user = |id, name: &str| User { id, username: Some(name.to_owned()), ..User::default() };
        assert!(settings.allows_user(&user(42, "x")) && settings.allows_user(&user(43, "x")));
        assert!(settings.allows_user(&user(1, "ADA")));
        assert!(!settings.allows_user(&user(1, "42")) && !settings.allows_user(&user(4, "adam")));
    }
}
