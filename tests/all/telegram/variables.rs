//! The bot as Bub's variables have it.

use super::bot::Bot;
use super::stand_in::TOKEN;
use super::{bob, private, said, with};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bubs_variables_name_the_bot_and_whom_it_listens_to() {
    // The stand-in is on this machine; unless said otherwise the token goes to Telegram alone.
    let variables = format!(
        "BUB_TELEGRAM_TOKEN={TOKEN}\nBUB_SECRET_TELEGRAM_TOKEN_HOSTS=127.0.0.1\n\
         BUB_TELEGRAM_ALLOW_USERS='42, @nobody'\nBUB_TELEGRAM_ALLOW_CHATS='[-100]'\n"
    );
    // Variables take precedence over the file.
    let bot = Bot::in_environment("allow_users = [43]", "", &variables).await;
    bot.server.tells("message", private("hello"));
    bot.server.tells("message", said(bob(), "Bub, hello"));
    bot.server.tells("message", with(private("hi"), json!({ "from": bob(), "chat": { "id": 43, "type": "private" } })));
    let arrivals = bot.arrivals().await;
    let senders: Vec<_> = arrivals.iter().map(|arrival| arrival.message.sender.clone().unwrap_or_default()).collect();
    assert_eq!(senders, ["42", "43"], "Ada in private, Bob in the group");
    assert!(bot.server.seen(43)[0].contains("Your id is 43"));
}
