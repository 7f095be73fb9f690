//! An answer that is shown while it is written.

use super::bot::{Bot, partial, to};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_grows_in_its_place() {
    let bot = Bot::new("").await;
    let handle = bot.sends(&partial(42, "One")).await.expect("it stands there");
    assert_eq!(bot.server.seen(42), ["One …"]);
    bot.changes(&handle, &partial(42, "One **and two")).await;
    assert_eq!(bot.server.seen(42), ["One **and two …"]);
    // Nothing new is no error.
    bot.changes(&handle, &partial(42, "One **and two")).await;
    bot.changes(&handle, &to(42, "One **and two**")).await;
    let messages = bot.server.messages(42);
    assert_eq!((messages.len(), messages[0].edits, messages[0].text.as_str()), (1, 2, "One and two"));
    assert_eq!(messages[0].html.as_deref(), Some("One <b>and two</b>"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overflow_of_a_growing_answer_is_sent_once_at_the_end() {
    let bot = Bot::new("").await;
    let words = |count: usize| (0..count).map(|n| format!("word{n} ")).collect::<String>();
    let handle = bot.sends(&partial(42, &words(10))).await.expect("it stands there");
    for count in [800, 1_200, 1_500] {
        bot.changes(&handle, &partial(42, &words(count))).await;
        let seen = bot.server.seen(42);
        assert!(seen.len() == 1 && seen[0].ends_with(" …"), "{} messages", seen.len());
    }
    bot.changes(&handle, &to(42, &words(1_500))).await;
    let seen = bot.server.seen(42);
    assert!(seen.len() == 4, "{} messages", seen.len());
    assert_eq!(seen.join(" "), words(1_500).trim_end());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shorter_update_deletes_surplus_messages() {
    let bot = Bot::new("").await;
    let handle = bot.says(&"word ".repeat(2_000)).await.expect("it stands there");
    assert_eq!(bot.server.seen(42).len(), 3);
    bot.changes(&handle, &to(42, "short")).await;
    assert_eq!(bot.server.seen(42), ["short"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_answer_is_sent_again() {
    let bot = Bot::new("").await;
    let handle = bot.sends(&partial(42, "One")).await.expect("it stands there");
    bot.server.remove(42, handle.parse().expect("one id"));
    bot.changes(&handle, &to(42, "One and two")).await;
    assert_eq!(bot.server.seen(42), ["One and two"]);
}
