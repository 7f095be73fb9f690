//! Telegram is busy, away, or does not want to.

use super::bot::{Bot, to};
use super::private;
use super::stand_in::HANGS_UP;
use serde_json::json;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_limit_is_followed() {
    let bot = Bot::new("").await;
    let wait = |seconds: u64| json!({ "retry_after": seconds });
    bot.server.upset("sendMessage", 0, 429, "Too Many Requests: retry after 7", wait(7));
    bot.server.upset("getUpdates", 0, 429, "Too Many Requests: retry after 3", wait(3));
    let failure = bot.try_send(&to(42, "hi")).await.expect_err("it is refused");
    assert_eq!(failure.retry_after(), Some(Duration::from_secs(7)), "{failure}");
    assert!(bot.server.seen(42).is_empty());
    let failure = bot.try_poll(None).await.err().expect("it is refused");
    assert_eq!(failure.retry_after(), Some(Duration::from_secs(3)), "{failure}");
    // Once is once.
    bot.says("hi").await;
    assert_eq!(bot.server.seen(42), ["hi"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partial_delivery_is_completed_without_repetition() {
    let bot = Bot::new("").await;
    bot.server.upset("sendMessage", 1, 429, "Too Many Requests: retry after 1", json!({ "retry_after": 1 }));
    bot.server.upset("sendMessage", 1, 500, "Internal Server Error", json!({}));
    bot.says(&"word ".repeat(2_500)).await;
    let seen = bot.server.seen(42);
    assert_eq!(seen.join(" "), "word ".repeat(2_500).trim_end());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn permanent_errors_are_distinguished_from_temporary_ones() {
    let bot = Bot::new("").await;
    bot.server.block(42);
    let blocked = bot.try_send(&to(42, "hi")).await.expect_err("it is refused");
    assert!(blocked.to_string().ends_with("telegram: Forbidden: bot was blocked by the user"), "{blocked}");
    let unknown = bot.try_send(&to(4711, "hi")).await.expect_err("it is refused");
    assert!(unknown.to_string().ends_with("telegram: Bad Request: chat not found"), "{unknown}");
    let nowhere = bot.try_send(&to("here", "hi")).await.expect_err("it is refused");
    assert!(nowhere.to_string().ends_with("`here` is no chat of telegram: a chat is a number"), "{nowhere}");
    for failure in [blocked, unknown, nowhere] {
        assert_eq!(failure.retry_after(), None, "{failure}");
    }
    for (status, description) in [
        (500, "Internal Server Error"),
        (502, "<html>bad gateway</html>"),
        (409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"),
    ] {
        bot.server.upset("getUpdates", 0, status, description, json!({}));
        let failure = bot.try_poll(None).await.err().expect("it is refused");
        assert_eq!(failure.retry_after(), Some(Duration::ZERO), "{failure}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_telegram_that_is_away_may_come_back() {
    let bot = Bot::new("").await;
    bot.server.tells("message", private("hello"));
    for status in [HANGS_UP, 504] {
        bot.server.upset("getUpdates", 0, status, "<nothing>", json!({}));
        let failure = bot.try_poll(None).await.err().expect("there is no answer");
        assert_eq!(failure.retry_after(), Some(Duration::ZERO), "{failure}");
    }
    assert_eq!(bot.arrivals().await.len(), 1);
}
