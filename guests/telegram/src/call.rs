//! Whether a message in a group addresses the bot.

use crate::cursor::Me;
use crate::update::Message;

/// A reply to the bot, its user name with `@`, its display name, or a configured word.
pub fn is_called(me: &Me, words: &[String], message: &Message) -> bool {
    let replied = message.reply_to_message.as_ref().and_then(|reply| reply.from.as_ref());
    let entities = message.entities.iter().chain(&message.caption_entities);
    let mut mentioned = entities.filter_map(|entity| entity.user.as_ref().filter(|_| entity.kind == "text_mention"));
    if replied.is_some_and(|from| from.id == me.id) || mentioned.any(|user| user.id == me.id) {
        return true;
    }
    let text = message.words().to_lowercase();
    let handle = format!("@{}", me.username);
    let names = [handle.as_str(), me.name.as_str()].into_iter().chain(words.iter().map(String::as_str));
    names.filter(|name| name.chars().count() > 1).any(|name| is_word(&text, &name.to_lowercase()))
}

/// Whether `name` occurs as a word. Scripts without spaces have no word boundaries.
fn is_word(text: &str, name: &str) -> bool {
    let goes_on = |c: Option<char>| c.is_some_and(|c| (c.is_alphanumeric() && c < '\u{2e80}') || c == '_');
    let edges = (name.chars().next(), name.chars().next_back());
    text.match_indices(name).any(|(at, found)| {
        let (before, behind) = (text[..at].chars().next_back(), text[at + found.len()..].chars().next());
        !(goes_on(before) && goes_on(edges.0)) && !(goes_on(behind) && goes_on(edges.1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::{Entity, User};

    fn me() -> Me {
        Me { id: 7, username: "helper_bot".to_owned(), name: "Bub".to_owned(), at: 0 }
    }

    fn says(text: &str) -> Message {
        Message { text: Some(text.to_owned()), ..Message::default() }
    }

    #[test]
    fn a_name_calls_as_a_word() {
        let words = ["小助手".to_owned()];
        for text in ["@Helper_Bot hi", "hi, bub!", "/help@helper_bot", "BUB", "请小助手看一下"] {
            assert!(is_called(&me(), &words, &says(text)), "{text}");
        }
        for text in ["bubble", "hubbub", "@helper_bottle hi", "@helper_bot2", "hi", ""] {
            assert!(!is_called(&me(), &words, &says(text)), "{text}");
        }
    }

    #[test]
    fn a_reply_addresses_the_author_of_the_original_message() {
        let from = |id| Message { from: Some(User { id, ..User::default() }), ..Message::default() };
        let reply = |id| Message { reply_to_message: Some(Box::new(from(id))), ..says("yes") };
        assert!(is_called(&me(), &[], &reply(7)) && !is_called(&me(), &[], &reply(8)));
        let entity = |id| Entity { kind: "text_mention".to_owned(), user: Some(User { id, ..User::default() }) };
        let mention = |id| Message { entities: vec![entity(id)], ..says("yes") };
        assert!(is_called(&me(), &[], &mention(7)) && !is_called(&me(), &[], &mention(8)));
    }
}
