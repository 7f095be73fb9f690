//! The agent's answers, as people see them.

use super::bot::{Bot, to};
use bub_types::{Envelope, MessageKind};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn markdown_is_converted_for_telegram() {
    let bot = Bot::new("").await;
    let markdown = "## Tea\n\n**Green** or *black*? `a < b`\n\n- one\n- two\n\n[site](https://x.test/?a=1&b=2)\n\n```rust\nlet x = &y;\n```";
    bot.says(markdown).await;
    let html = "<b>Tea</b>\n\n<b>Green</b> or <i>black</i>? <code>a &lt; b</code>\n\n• one\n• two\n\n\
                <a href=\"https://x.test/?a=1&amp;b=2\">site</a>\n\n\
                <pre><code class=\"language-rust\">let x = &amp;y;</code></pre>";
    assert_eq!(bot.server.messages(42)[0].html.as_deref(), Some(html));
    let sent = &bot.server.called("sendMessage")[0];
    // A preview would fetch an address that a model was talked into.
    assert_eq!(sent["link_preview_options"], json!({ "is_disabled": true }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn formatting_that_telegram_rejects_is_dropped() {
    let bot = Bot::new("").await;
    bot.server.upset("sendMessage", 0, 400, "Bad Request: can't parse entities: Unsupported start tag", json!({}));
    bot.says("**bold** & `code`").await;
    let messages = bot.server.messages(42);
    assert_eq!((messages.len(), messages[0].text.as_str(), messages[0].html.as_deref()), (1, "bold & code", None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typical_markdown_is_accepted_at_the_first_attempt() {
    let bot = Bot::new("").await;
    for odd in [
        "<b>not bold</b> & <script>alert(1)</script>",
        "**open *and* never closed",
        "[a](b) [c](javascript:d) ![e](https://f.test) <https://g.test>",
        "> quote\n> > deeper `code` **bold**\n\nand [a **b `c`**](https://d.test)",
        "1 * 2 * 3 _ 4 _ 5 ~ 6",
        "| a | b |\n|---|---|\n| **c** | `d` & <e> |",
        "```\n<pre>&amp;</pre>\n```",
        "~~~py`\"\nx\n~~~",
        "\u{0}\u{1b}[31m \u{202e} 🦀👩‍👩‍👧",
    ] {
        bot.says(odd).await;
    }
    assert_eq!(bot.server.called("sendMessage").len(), bot.server.messages(42).len(), "none was refused");
    assert!(bot.server.messages(42).iter().all(|message| message.html.is_some()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_answer_is_several_messages_and_code_is_code_in_each() {
    let bot = Bot::new("").await;
    let paragraphs: String = (0..60).map(|n| format!("Paragraph {n} {}\n\n", "word ".repeat(30))).collect();
    let code: String = (0..300).map(|n| format!("    call({n}); // 🦀\n")).collect();
    let handle = bot.says(&format!("{paragraphs}```rust\n{code}```\n\nend")).await.expect("it stands there");
    let messages = bot.server.messages(42);
    assert_eq!(handle.split(',').count(), messages.len());
    assert!(messages.len() >= 4, "{}", messages.len());
    for message in &messages {
        let html = message.html.as_deref().expect("it has looks");
        let (opened, closed) = (html.matches("<pre>").count(), html.matches("</pre>").count());
        assert!(opened == closed && message.text.encode_utf16().count() <= 4_096, "{html}");
        assert_eq!(message.text.contains("call("), opened == 1, "code is code in each");
    }
    let all: String = messages.iter().map(|message| message.text.split_whitespace().collect::<String>()).collect();
    let expected: String = format!("{paragraphs}{code}end").split_whitespace().collect();
    assert!(all == expected, "nothing is lost");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_and_errors_are_not_formatted() {
    let bot = Bot::new("").await;
    for kind in [MessageKind::Command, MessageKind::Error] {
        bot.sends(&Envelope { kind, ..to(42, "*.rs  **x**\n  _y_ <z>") }).await;
    }
    assert_eq!(bot.server.seen(42), ["*.rs  **x**\n  _y_ <z>", "*.rs  **x**\n  _y_ <z>"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_answer_is_no_message() {
    let bot = Bot::new("").await;
    assert_eq!(bot.says(" \n ").await, None);
    assert!(bot.server.seen(42).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_sent_to_its_topic_and_follows_its_group() {
    let bot = Bot::new("").await;
    bot.sends(&to("-100/12", "green")).await;
    assert_eq!(bot.server.messages(-100)[0].thread, Some(12));
    bot.server.moves(-100, -1_000_000_100);
    bot.sends(&to(-100, "black")).await;
    assert_eq!(bot.server.seen(-1_000_000_100), ["black"]);
}
