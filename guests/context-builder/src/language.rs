//! The language of labels: configured, or the user's.

use crate::options::{Language, Speech};
use crate::thread;

/// The newest messages that are examined.
const LOOKED_AT: usize = 3;

/// Minimum letters of a message; otherwise the previous one decides.
const ENOUGH: u64 = 4;

/// A Chinese character counts as this many letters.
const HAN: u64 = 4;

impl Speech {
    /// `said`: user messages, newest first.
    pub fn of(self, said: impl Iterator<Item = impl AsRef<str>>) -> Language {
        match self {
            Self::Always(language) => language,
            Self::Conversation => spoken(said),
        }
    }
}

/// Chinese if the user's last text is mostly in Chinese characters without kana.
fn spoken(said: impl Iterator<Item = impl AsRef<str>>) -> Language {
    let (mut chinese, mut others) = (0, 0);
    for text in said.take(LOOKED_AT) {
        let (mut han, mut letters, mut kana) = (0_u64, 0_u64, 0_u64);
        for character in thread::typed(text.as_ref()).chars() {
            match u32::from(character) {
                0x3040..0x3100 | 0x31f0..0x3200 | 0xff66..0xffa0 => kana += 1,
                0x3400..0x4dc0 | 0x4e00..0xa000 | 0xf900..0xfb00 | 0x20000..0x32000 => han += HAN,
                _ if character.is_alphabetic() => letters += 1,
                _ => {}
            }
        }
        match kana {
            0 => (chinese, others) = (chinese + han, others + letters),
            _ => others += han + kana * HAN + letters,
        }
        if chinese + others >= ENOUGH {
            break;
        }
    }
    if chinese > others { Language::Chinese } else { Language::English }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(said: &[&str]) -> Language {
        Speech::Conversation.of(said.iter().copied())
    }

    #[test]
    fn the_users_last_messages_decide() {
        for chinese in
            ["我的猫叫什么名字?", "帮我 review 这个 function", "解释一下 Rust 的生命周期", "繁體中文也是中文"]
        {
            assert_eq!(of(&[chinese]), Language::Chinese, "{chinese}");
        }
        for other in [
            "What is my cat called?",
            "Что такое 猫?",
            "猫の名前は何ですか",
            "고양이 이름",
            "",
            "42",
            "The word 猫 means cat.",
        ] {
            assert_eq!(of(&[other]), Language::English, "{other}");
        }
        assert_eq!(of(&["ok", "请解释一下量子力学"]), Language::Chinese, "two letters are too few to tell");
        assert_eq!(of(&["now in English please", "请解释一下量子力学"]), Language::English);
        assert_eq!(of(&["sender_id=x\n---Date: 2026-11-21T10:00:00+01:00---\n继续"]), Language::Chinese);
        assert_eq!(Speech::Always(Language::Chinese).of(["hello"].into_iter()), Language::Chinese);
    }
}
