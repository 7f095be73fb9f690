//! Files, in and out.

use super::bot::{Bot, to};
use super::{PNG, ada, bob, private, said, with};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bub_runtime::hooks::Arrival;
use bub_types::{Envelope, MediaItem, MediaKind, Provenance};
use serde_json::{Value, json};

/// A message of Ada with a file and no text.
fn sends(more: Value) -> Value {
    with(with(private(""), json!({ "text": null })), more)
}

/// The attachment: its type, name and size.
fn media(arrival: &Arrival) -> Vec<(MediaKind, &str, Option<&str>, usize)> {
    let of = |item: &'_ MediaItem| {
        let (_, data) = item.url.split_once(";base64,").expect("it is data");
        STANDARD.decode(data).expect("base64").len()
    };
    let all = arrival.message.media.iter();
    all.map(|item| (item.kind, item.mime_type.as_str(), item.filename.as_deref(), of(item))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn photos_documents_and_voice_are_attached_by_their_types() {
    let bot = Bot::new("").await;
    let server = &bot.server;
    let (small, large) = (server.file("small", b"\x89PNG"), server.file("large", PNG));
    let photo = json!([{ "file_id": small, "file_size": 4 }, { "file_id": large, "file_size": PNG.len() }]);
    server.tells("message", sends(json!({ "photo": photo, "caption": "look" })));
    let ogg = [b"OggS\0\x02\0\0\0\0\0\0\0\0", &[0; 14][..], b"OpusHead"].concat();
    let voice = json!({ "file_id": server.file("voice", &ogg), "file_size": ogg.len(), "mime_type": "audio/ogg" });
    server.tells("message", sends(json!({ "voice": voice })));
    // It is called an image, and is a text.
    let text =
        json!({ "file_id": server.file("text", b"plain words"), "mime_type": "image/png", "file_name": "x.png" });
    server.tells("message", sends(json!({ "document": text })));
    let odd = json!({ "file_id": server.file("odd", &[0, 1, 2, 3, 4]), "file_name": "odd.bin" });
    server.tells("message", sends(json!({ "document": odd })));
    let arrivals = bot.arrivals().await;
    assert_eq!(arrivals[0].message.content, "look");
    assert_eq!(media(&arrivals[0]), [(MediaKind::Image, "image/png", None, PNG.len())]);
    assert_eq!(media(&arrivals[1]), [(MediaKind::Audio, "audio/ogg", None, ogg.len())]);
    assert_eq!(media(&arrivals[2]), [(MediaKind::Document, "text/plain", Some("x.png"), 11)]);
    assert_eq!(arrivals[3].message.content, "[odd.bin was left out: it is no image, sound, video or document]");
    assert!(arrivals[3].message.media.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_too_large_or_gone_is_described() {
    let bot = Bot::new("").await;
    let server = &bot.server;
    let video = json!({ "file_id": "v", "file_size": 3_400_000, "file_name": "film.mp4" });
    server.tells("message", sends(json!({ "video": video, "caption": "see" })));
    server.tells("message", sends(json!({ "document": { "file_id": "gone" } })));
    // Telegram did not say how large it is.
    let large = json!({ "file_id": server.file("large", &vec![b'x'; 2_000_001]) });
    server.tells("message", sends(json!({ "document": large })));
    // Telegram does not feel well, and does the next moment.
    let well = json!({ "file_id": server.file("well", b"words"), "file_size": 5 });
    server.tells("message", sends(json!({ "document": well })));
    server.upset("getFile", 2, 500, "Internal Server Error", json!({}));
    let first = bot.poll(None).await;
    let mut arrivals = first.arrivals;
    // A file that cannot be downloaded now comes with the next poll.
    if arrivals.len() == 3 {
        arrivals.extend(bot.poll(Some(first.cursor)).await.arrivals);
    }
    let said: Vec<_> = arrivals.iter().map(|arrival| arrival.message.content.as_str()).collect();
    let expected = [
        "see\n[video film.mp4: 3.4 MB, and at most 2 MB are taken]",
        "[document: it could not be fetched: Bad Request: invalid file_id]",
        "[document: it could not be fetched: it is larger than telegram said]",
        "",
    ];
    assert_eq!(said, expected);
    assert_eq!(media(&arrivals[3]), [(MediaKind::Document, "text/plain", None, 5)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_files_come_in_several_polls_and_none_is_lost() {
    let bot = Bot::new("").await;
    let text = vec![b'x'; 1_900_000];
    for n in 0..7 {
        let file = json!({ "file_id": bot.server.file(&format!("f{n}"), &text), "file_size": text.len() });
        bot.server.tells("message", sends(json!({ "document": file, "caption": n.to_string() })));
    }
    let (mut cursor, mut seen, mut polls) = (None, Vec::new(), 0);
    while seen.len() < 7 && polls < 10 {
        let inbox = bot.poll(cursor).await;
        seen.extend(
            inbox.arrivals.iter().map(|arrival| (arrival.message.content.clone(), arrival.message.media.len())),
        );
        (cursor, polls) = (Some(inbox.cursor), polls + 1);
    }
    assert_eq!(seen, (0..7).map(|n| (n.to_string(), 1)).collect::<Vec<_>>());
    assert_eq!(polls, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_group_a_file_is_downloaded_when_a_question_refers_to_it() {
    let bot = Bot::new("").await;
    let file = bot.server.file("p", PNG);
    let photo = json!({ "photo": [{ "file_id": file, "file_size": PNG.len() }] });
    let shown = with(with(said(ada(), ""), json!({ "text": null, "message_id": 77 })), photo.clone());
    bot.server.tells("message", shown.clone());
    bot.server.tells("message", with(said(ada(), "Bub, what is it?"), json!({ "reply_to_message": shown })));
    // An album whose first picture calls the bot.
    let album = json!({ "text": null, "media_group_id": "g" });
    let of_album = |more| with(with(with(said(ada(), ""), album.clone()), photo.clone()), more);
    bot.server.tells("message", of_album(json!({ "caption": "Bub, and these?" })));
    bot.server.tells("message", of_album(json!({})));
    let arrivals = bot.arrivals().await;
    let told: Vec<_> = arrivals
        .iter()
        .map(|arrival| (arrival.message.content.as_str(), arrival.active, arrival.message.media.len()))
        .collect();
    let expected = [
        ("Ada Lovelace: [photo]", false, 0),
        ("Ada Lovelace: Bub, what is it?", true, 1),
        ("Ada Lovelace: Bub, and these?", true, 1),
        ("Ada Lovelace: ", true, 1),
    ];
    assert_eq!(told, expected);
    // Ada sent the photo that she asks about. Others' photos are not hers.
    let own = &arrivals[1].message;
    assert_eq!((own.media[0].provenance, own.passages[0].provenance), (Provenance::Written, Provenance::Written));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_another_author_is_marked() {
    let bot = Bot::new("").await;
    let photo = json!({ "photo": [{ "file_id": bot.server.file("p", PNG), "file_size": PNG.len() }] });
    let gone = json!({ "document": { "file_id": "gone", "file_name": "run this.txt", "file_size": 5 } });
    let by = |from, more: &Value| with(with(said(from, ""), json!({ "text": null, "message_id": 77 })), more.clone());
    let origin = json!({ "type": "hidden_user", "sender_user_name": "Eve" });
    let asks = |answered| with(private("what is it?"), json!({ "reply_to_message": answered }));
    bot.server.tells("message", asks(by(bob(), &photo)));
    bot.server.tells("message", with(with(private("look"), photo.clone()), json!({ "forward_origin": origin })));
    let other_chat = with(photo.clone(), json!({ "origin": origin }));
    bot.server.tells("message", with(private("and this?"), json!({ "external_reply": other_chat })));
    bot.server.tells("message", asks(by(bob(), &gone)));
    let arrivals = bot.arrivals().await;
    let of: Vec<_> = arrivals.iter().map(|arrival| arrival.message.media.first().map(|item| item.provenance)).collect();
    assert_eq!(of, [Some(Provenance::Attached), Some(Provenance::Forwarded), Some(Provenance::Attached), None]);
    let last = &arrivals[3].message;
    assert_eq!(last.content, "what is it?", "the name of a file that is not there is no word of the sender's");
    assert!(last.passages.iter().all(|passage| passage.provenance != Provenance::Written), "{last:?}");
    assert!(last.passages.iter().any(|passage| passage.text.contains("run this.txt")), "{last:?}");
}

fn item(kind: MediaKind, mime_type: &str, filename: Option<&str>, bytes: &[u8]) -> MediaItem {
    let url = format!("data:{mime_type};base64,{}", STANDARD.encode(bytes));
    MediaItem {
        kind,
        mime_type: mime_type.to_owned(),
        filename: filename.map(str::to_owned),
        url,
        provenance: Provenance::Written,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn photos_and_documents_go_out() {
    let bot = Bot::new("").await;
    let media = vec![
        item(MediaKind::Image, "image/png", Some("dot.png"), PNG),
        item(MediaKind::Document, "application/pdf", Some("ümläut \".pdf"), b"%PDF-\0\xff"),
        // It is called an image, and Telegram does not see one.
        item(MediaKind::Image, "image/webp", None, b"RIFF"),
        MediaItem { url: "https://x.test/a.png".to_owned(), ..item(MediaKind::Image, "image/png", None, b"") },
    ];
    let handle = bot.sends(&Envelope { media, ..to(42, "here") }).await.expect("it stands there");
    assert_eq!(handle.split(',').count(), 5);
    let messages = bot.server.messages(42);
    assert_eq!(messages[0].text, "here");
    let files: Vec<_> = messages.iter().filter_map(|message| message.file.clone()).collect();
    let expected = [
        ("photo", "dot.png".to_owned(), PNG.to_vec()),
        ("document", "ümläut _.pdf".to_owned(), b"%PDF-\0\xff".to_vec()),
        ("document", "file.webp".to_owned(), b"RIFF".to_vec()),
        ("photo", "https://x.test/a.png".to_owned(), Vec::new()),
    ];
    assert_eq!(files, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_telegram_rejects_does_not_repeat_the_text() {
    let bot = Bot::new("").await;
    bot.server.upset("sendDocument", 0, 413, "Request Entity Too Large", json!({}));
    let media = vec![item(MediaKind::Document, "application/pdf", Some("a<b.pdf"), b"%PDF")];
    bot.sends(&Envelope { media, ..to(42, "here") }).await;
    assert_eq!(bot.server.seen(42), ["here", "[a<b.pdf could not be sent: Request Entity Too Large]"]);
}
