//! Settings: allowed users and chats, and the API address.

use crate::bub::plugin::config;
use crate::update::{Chat, User};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The default Bot API address.
const API: &str = "https://api.telegram.org";

/// Long-polling timeout, in seconds. The host's is a minute.
const POLL: u64 = 50;

/// `[plugins.telegram.config]`, validated by the host.
pub struct Settings {
    /// Ids as text; user names in lower case, without `@`.
    users: Vec<String>,
    chats: Vec<String>,
    pub mention: Vec<String>,
    /// Without a trailing slash.
    pub api: String,
    pub poll_seconds: u64,
}

impl Settings {
    pub fn read() -> Self {
        let listed = |key: &str| get::<Vec<Value>>(key).unwrap_or_default().iter().map(plain).collect();
        let api = get::<String>("api_base").unwrap_or_else(|| API.to_owned());
        Self {
            users: listed("allow_users"),
            chats: listed("allow_chats"),
            mention: get("mention").unwrap_or_default(),
            api: api.trim_end_matches('/').to_owned(),
            poll_seconds: get("poll_seconds").unwrap_or(POLL).min(POLL),
        }
    }

    /// Whether this person may use the bot in private.
    pub fn allows_user(&self, user: &User) -> bool {
        // No user name begins with a digit, so ids and names cannot be confused.
        let name = user.username.as_ref().filter(|name| name.starts_with(char::is_alphabetic));
        let name = name.map(|name| name.to_lowercase());
        self.users.iter().any(|allowed| *allowed == user.id.to_string() || Some(allowed) == name.as_ref())
    }

    /// Whether the bot is active in this group.
    pub fn allows_chat(&self, chat: &Chat) -> bool {
        self.chats.contains(&chat.id.to_string())
    }
}

fn get<T: DeserializeOwned>(key: &str) -> Option<T> {
    serde_json::from_str(&config::get(key)?).ok()
}

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
        let users = [serde_json::json!(42), serde_json::json!("@Ada"), serde_json::json!("43")];
        let settings = Settings {
            users: users.iter().map(plain).collect(),
            chats: vec!["-100".to_owned()],
            mention: Vec::new(),
            api: String::new(),
            poll_seconds: 0,
        };
        let user = |id, name: &str| User { id, username: Some(name.to_owned()), ..User::default() };
        assert!(settings.allows_user(&user(42, "x")) && settings.allows_user(&user(43, "x")));
        assert!(settings.allows_user(&user(1, "ADA")));
        assert!(!settings.allows_user(&user(1, "42")) && !settings.allows_user(&user(4, "adam")));
    }
}
