//! The state between polls, which the host stores.

use serde::{Deserialize, Serialize};

/// Maximum remembered refusals. Older people are notified again.
const MAX_REFUSED: usize = 500;

#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Cursor {
    /// The next update's number; 0: any.
    pub offset: i64,
    /// The bot's identity.
    pub me: Option<Me>,
    /// People who were notified of their refusal; latest last.
    pub refused: Vec<i64>,
}

#[derive(Serialize, Deserialize, Clone)]
pub struct Me {
    pub id: i64,
    pub username: String,
    pub name: String,
    /// When it was fetched, in seconds since 1970: bots can be renamed.
    pub at: i64,
}

impl Cursor {
    /// Parses the stored cursor; a new one if it is invalid.
    pub fn read(text: Option<&str>) -> Self {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    pub fn write(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| format!("{{\"offset\":{}}}", self.offset))
    }

    /// Records a refusal; returns whether it is new.
    pub fn refuses(&mut self, user: i64) -> bool {
        if self.refused.contains(&user) {
            return false;
        }
        self.refused.push(user);
        let many = self.refused.len().saturating_sub(MAX_REFUSED);
        self.refused.drain(..many);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_refused_once_and_few_refusals_are_remembered() {
        let mut cursor = Cursor::read(Some("not ours"));
        assert!(cursor.refuses(1) && !cursor.refuses(1));
        for user in 2..=600 {
            assert!(cursor.refuses(user));
        }
        let cursor = Cursor::read(Some(&cursor.write()));
        assert_eq!((cursor.refused.len(), cursor.refused.last()), (500, Some(&600)));
    }
}
