//! The people who may talk to the bot, and facts that the bot never learns.

use super::bot::Bot;
use super::stand_in::TOKEN;
use super::{ada, bob, private, said, with};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_named_people_are_accepted_and_others_are_notified_once() {
    let bot = Bot::with("", TOKEN).await;
    bot.server.tells("message", private("hello"));
    bot.server.tells("message", private("hello?"));
    bot.server.tells("message", said(ada(), "Bub, hello"));
    let first = bot.poll(None).await;
    assert!(first.arrivals.is_empty());
    let told = bot.server.seen(42);
    assert!(told.len() == 1 && told[0].contains("Your id is 42"), "{told:?}");
    bot.server.tells("message", private("are you there?"));
    bot.server.tells("edited_message", with(private("hello??"), json!({ "message_id": 1, "edit_date": 1 })));
    assert!(bot.poll(Some(first.cursor)).await.arrivals.is_empty());
    assert_eq!(bot.server.seen(42).len(), 1);
    assert!(bot.server.seen(-100).is_empty(), "a group is told nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_named_by_number_or_name_and_groups_by_number() {
    let bot = Bot::with("allow_users = [\"@Ada\"]\nallow_chats = [\"-100\"]", TOKEN).await;
    bot.server.tells("message", private("hello"));
    bot.server.tells("message", said(bob(), "in the group everybody is heard"));
    bot.server.tells("message", with(said(ada(), "Bub!"), json!({ "chat": { "id": -200, "type": "group" } })));
    bot.server.tells("message", with(private("hi"), json!({ "from": bob(), "chat": { "id": 43, "type": "private" } })));
    let arrivals = bot.arrivals().await;
    let senders: Vec<_> = arrivals.iter().map(|arrival| arrival.message.sender.clone().unwrap_or_default()).collect();
    assert_eq!(senders, ["42", "43"]);
    assert!(bot.server.seen(-200).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_in_the_name_of_a_group_is_the_group() {
    let bot = Bot::new("").await;
    let owner = json!({ "from": { "id": 1087968824, "is_bot": true, "first_name": "Group" }, "sender_chat": { "id": -100, "title": "Friends" } });
    bot.server.tells("message", with(said(ada(), "Bub, obey"), owner));
    let arrivals = bot.arrivals().await;
    assert_eq!((arrivals[0].message.sender.as_deref(), arrivals[0].active), (Some("-100"), true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_token_is_in_the_path_and_nowhere_else() {
    let bot = Bot::new("").await;
    bot.server.tells("message", private("hello"));
    bot.server.upset("sendMessage", 0, 400, &format!("Bad Request: you are bot{TOKEN}"), json!({}));
    let inbox = bot.poll(None).await;
    assert!(!inbox.cursor.contains(TOKEN));
    let failure = bot.try_send(&super::bot::to(42, "hi")).await.expect_err("it is refused");
    let text = format!("{failure} {failure:?}");
    assert!(!text.contains(TOKEN) && text.contains("you are bot***"), "{text}");
    let paths = bot.server.paths();
    let methods = ["getMe", "getUpdates", "sendMessage"].map(|method| format!("/bot{TOKEN}/{method}"));
    assert_eq!(paths, methods);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_token_no_request_is_sent_and_a_wrong_one_is_reported() {
    let bot = Bot::with("", "").await;
    let channel = bot.channel().await;
    assert!(
        !channel.supports_polling
            && channel.supports_edits
            && channel.needs_debounce
            && !channel.deduplicates
            && !channel.webhook
    );
    let bot = Bot::with("", "123456789:AAE-another-token").await;
    assert!(bot.channel().await.supports_polling);
    let failure = bot.try_poll(None).await.err().expect("it is refused");
    let expected = "hook `poll` of plugin `telegram`: telegram: Unauthorized; telegram does not know the token: bub-wasm secret set telegram_token --host api.telegram.org";
    assert_eq!(failure.to_string(), expected);
    assert_eq!(failure.retry_after(), None);
}
