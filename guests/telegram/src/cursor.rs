//! What is known from one poll to the next: the host keeps it.

use serde::{Deserialize, Serialize};

/// People whose refusal is remembered. Who comes back behind so many others is told once more.
const MAX_REFUSED: usize = 500;

#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Cursor {
    /// The number of the first update that has not come yet; 0: whatever there is.
    pub offset: i64,
    /// Who the bot is.
    pub me: Option<Me>,
    /// Who was told already that they may not talk to it; the latest last.
    pub refused: Vec<i64>,
}

#[derive(Serialize, Deserialize, Clone)]
pub struct Me {
    pub id: i64,
    pub username: String,
    pub name: String,
    /// When it was asked, in seconds since 1970: people rename their bots.
    pub at: i64,
}

impl Cursor {
    /// What the host kept; anew, where that is none of ours.
    pub fn read(text: Option<&str>) -> Self {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    pub fn write(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| format!("{{\"offset\":{}}}", self.offset))
    }

    /// Whether this person has not been refused yet; from here on they have.
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
    fn somebody_is_refused_once_and_few_are_remembered() {
        let mut cursor = Cursor::read(Some("not ours"));
        assert!(cursor.refuses(1) && !cursor.refuses(1));
        for user in 2..=600 {
            assert!(cursor.refuses(user));
        }
        let cursor = Cursor::read(Some(&cursor.write()));
        assert_eq!((cursor.refused.len(), cursor.refused.last()), (500, Some(&600)));
    }
}
