//! Provenance of a message's parts: the sender's own, quoted, forwarded, or by another author.

use crate::media;
use crate::update::Message;
use bub_guest::turn::{Passage, Provenance};
use serde_json::Value;

/// Maximum characters of a quoted message.
const MAX_QUOTE: usize = 1_000;

/// Maximum characters of a name.
const MAX_NAME: usize = 64;

/// Provenance of a message, and its author if that is not the sender.
pub fn of(message: &Message) -> (Provenance, Option<String>) {
    if let Some(author) = forwarded(message) {
        return (Provenance::Forwarded, author);
    }
    match &message.via_bot {
        // The sender chose the result; a bot wrote it.
        Some(bot) => (Provenance::Attached, Some(bot.username.as_deref().unwrap_or(&bot.first_name)).map(one_line)),
        None => (Provenance::Written, None),
    }
}

/// The message that this one replies to, here or in another chat. In a topic every message replies to the first one,
/// which is ignored.
pub fn answered(message: &Message) -> Option<&Message> {
    let reply = message
        .reply_to_message
        .as_deref()
        .filter(|reply| !(message.is_topic_message && Some(reply.message_id) == message.message_thread_id));
    reply.or(message.external_reply.as_deref())
}

/// Whether the sender also wrote the message replied to.
pub fn answers_own(message: &Message, answered: &Message) -> bool {
    let is_same = sender(message).is_some() && sender(message) == sender(answered);
    is_same && of(answered).0 == Provenance::Written
}

/// The citation of the message replied to. `me`: the bot's id.
pub fn cited(message: &Message, me: i64) -> Option<Passage> {
    let part = message.quote.as_ref().map(|quote| quote.text.as_str());
    let Some(answered) = answered(message) else {
        // Only the quoted part; Telegram does not reveal its origin.
        let text = part.filter(|_| message.reply_to_message.is_none())?;
        return Some(Passage { provenance: Provenance::Quoted, author: None, text: shortened(text) });
    };
    let told =
        || media::told(answered).or_else(|| media::of(answered).map(|attached| format!("[{}]", attached.name())));
    let text = Some(part.unwrap_or(answered.words())).filter(|text| !text.is_empty()).map(str::to_owned).or_else(told);
    let is_own = answered.from.as_ref().is_some_and(|from| from.id == me);
    let (_, author) = of(answered);
    let author = match is_own && author.is_none() {
        true => "you".to_owned(),
        false => author.unwrap_or_else(|| speaker(answered)),
    };
    let provenance = if answers_own(message, answered) { Provenance::Written } else { Provenance::Quoted };
    let author = Some(author).filter(|author| !author.is_empty());
    Some(Passage { provenance, author, text: shortened(&text.unwrap_or_default()) })
}

/// The display name of the sending user or chat.
pub fn speaker(message: &Message) -> String {
    let chat = message.sender_chat.as_ref().and_then(|chat| chat.title.clone());
    let name = chat.or_else(|| message.from.as_ref().map(|from| from.full_name())).unwrap_or_default();
    one_line(&name)
}

/// The id of the sending user or chat.
pub fn sender(message: &Message) -> Option<i64> {
    message.sender_chat.as_ref().map(|chat| chat.id).or(message.from.as_ref().map(|from| from.id))
}

/// Names are arbitrary: escapes line ends and anything that looks like another field.
pub fn one_line(name: &str) -> String {
    let plain = name.chars().map(|c| if c.is_control() || "|=:\u{2028}\u{2029}".contains(c) { ' ' } else { c });
    let name: String = plain.take(MAX_NAME).collect();
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The author of a forwarded message, by the current fields and those of older servers. An unknown form of origin
/// counts as forwarded too.
fn forwarded(message: &Message) -> Option<Option<String>> {
    let origin = message.forward_origin.as_ref();
    let is_old = message.forward_date.is_some() || message.forward_sender_name.is_some();
    let old = message.forward_from.as_ref().or(message.forward_from_chat.as_ref());
    if origin.is_none() && old.is_none() && !is_old && !message.is_automatic_forward {
        return None;
    }
    let text = |value: &Value, key: &str| value[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let named = |value: &Value| {
        let name = [text(value, "first_name"), text(value, "last_name")].into_iter().flatten().collect::<Vec<_>>();
        let username = || text(value, "username").map(|name| format!("@{name}"));
        text(value, "title").or_else(|| (!name.is_empty()).then(|| name.join(" "))).or_else(username)
    };
    let by_origin = origin.and_then(|origin| {
        let named = ["sender_user", "sender_chat", "chat"].into_iter().find_map(|key| named(&origin[key]));
        named.or_else(|| text(origin, "sender_user_name"))
    });
    let name = by_origin.or_else(|| old.and_then(named)).or_else(|| message.forward_sender_name.clone());
    Some(name.map(|name| one_line(&name)))
}

fn shortened(text: &str) -> String {
    let end = if text.chars().count() > MAX_QUOTE { " ..." } else { "" };
    text.chars().take(MAX_QUOTE).chain(end.chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(more: Value) -> Message {
        let mut all =
            json!({ "message_id": 1, "from": { "id": 42, "first_name": "Ada" }, "chat": { "id": 42 }, "text": "hi" });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn a_name_is_one_line_and_no_other_fact() {
        assert_eq!(one_line("Eve|sender_id=1\nAda: hi"), "Eve sender_id 1 Ada hi");
        assert_eq!(one_line(&"x".repeat(100)).len(), MAX_NAME);
    }

    #[test]
    fn every_form_of_origin_is_a_forward_and_names_its_author() {
        let eve = json!({ "id": 7, "first_name": "Eve", "last_name": "Mallory" });
        for (more, author) in [
            (json!({ "forward_origin": { "type": "user", "sender_user": eve } }), Some("Eve Mallory")),
            (json!({ "forward_origin": { "type": "hidden_user", "sender_user_name": "E." } }), Some("E.")),
            (json!({ "forward_origin": { "type": "chat", "sender_chat": { "title": "News" } } }), Some("News")),
            (
                json!({ "forward_origin": { "type": "channel", "chat": { "title": "Ch" }, "message_id": 3 } }),
                Some("Ch"),
            ),
            (json!({ "forward_origin": { "type": "something new" } }), None),
            (json!({ "forward_origin": "something newer" }), None),
            (json!({ "forward_from": eve, "forward_date": 1 }), Some("Eve Mallory")),
            (json!({ "forward_from_chat": { "id": -5, "title": "News" }, "forward_date": 1 }), Some("News")),
            (json!({ "forward_sender_name": "E.", "forward_date": 1 }), Some("E.")),
            (json!({ "forward_date": 1 }), None),
            (json!({ "is_automatic_forward": true }), None),
        ] {
            let (provenance, named) = of(&message(more.clone()));
            assert_eq!((provenance, named.as_deref()), (Provenance::Forwarded, author), "{more}");
        }
        assert_eq!(of(&message(json!({}))), (Provenance::Written, None));
        let inline = message(json!({ "via_bot": { "id": 9, "is_bot": true, "first_name": "G", "username": "gif" } }));
        assert_eq!(of(&inline), (Provenance::Attached, Some("gif".to_owned())));
    }

    #[test]
    fn only_the_senders_own_plain_words_are_the_senders_when_they_are_cited() {
        let cited = |reply: Value| cited(&message(json!({ "reply_to_message": reply })), 5).unwrap();
        let own = json!({ "message_id": 9, "from": { "id": 42, "first_name": "Ada" }, "text": "before" });
        assert_eq!(cited(own.clone()).provenance, Provenance::Written);
        let mut forwarded = own.clone();
        forwarded["forward_origin"] = json!({ "type": "hidden_user", "sender_user_name": "Eve" });
        let told = cited(forwarded);
        assert_eq!((told.provenance, told.author.as_deref()), (Provenance::Quoted, Some("Eve")));
        let mut bot = own;
        bot["from"]["id"] = json!(5);
        let told = cited(bot);
        assert_eq!((told.provenance, told.author.as_deref()), (Provenance::Quoted, Some("you")));
    }

    #[test]
    fn a_message_of_another_chat_is_cited_as_its_author_wrote_it() {
        let external =
            json!({ "origin": { "type": "hidden_user", "sender_user_name": "Eve" }, "photo": [{ "file_id": "p" }] });
        let told = cited(&message(json!({ "external_reply": external })), 5).unwrap();
        assert_eq!((told.author.as_deref(), told.text.as_str()), (Some("Eve"), "[photo]"));
        let alone = cited(&message(json!({ "quote": { "text": "alone" } })), 5).unwrap();
        assert_eq!((alone.provenance, alone.author, alone.text.as_str()), (Provenance::Quoted, None, "alone"));
    }
}
