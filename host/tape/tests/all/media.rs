//! Marks in the place of media, and the media again.

use bub_tape::{Error, Media, told};

const DATA: &str = "QUJDREVGR0g=";

fn picture(data: &str) -> String {
    format!(
        r#"{{"role": "user", "content": [{{"type": "text", "text": ";base64,{DATA}"}}, {{"type": "image_url", "image_url": {{"url": "data:image/png;base64,{data}"}}}}]}}"#
    )
}

#[test]
fn extracted_media_are_restored_byte_for_byte() {
    let media = Media::default();
    let cases = [
        picture(DATA),
        format!(r#"[{{"type":"input_audio","input_audio":{{"format":"wav","data":"{DATA}"}}}}]"#),
        format!(r#"{{"content":[{{"type":"image","source":{{"data":"{DATA}"}}}}, {{"type":"text","text":"é"}}]}}"#),
    ];
    for case in cases {
        let extracted = media.extract(&case).into_owned();
        assert!(extracted.contains("{{media:0}}"), "equal data has one mark: {extracted}");
        assert_eq!(media.extract(&extracted), extracted, "a mark is no data");
        assert_eq!(media.weight(&extracted), DATA.len());
        assert_eq!(media.restore(&extracted).unwrap(), case);
    }
}

#[test]
fn a_message_without_media_is_unchanged() {
    let media = Media::default();
    let texts = [
        format!(r#"{{"role": "user", "content": "data:image/png;base64,{DATA}"}}"#),
        format!(r#"[{{"type": "text", "text": "data:image/png;base64,{DATA}"}}]"#),
        r#"[{"type": "image_url", "image_url": {"url": "data:image/png;base64,no base64!"}}]"#.to_owned(),
        r#"[{"type": "text", "text": "{{media:0}} data:x;base64,{{media:0}}"}]"#.to_owned(),
        "no JSON at all ;base64,".to_owned(),
    ];
    for text in texts {
        assert_eq!(media.extract(&text), text);
        assert_eq!(media.restore(&text).unwrap(), text);
    }
    for url in ["https://x/;base64,AAAA", "data:text/plain,AAAA", ""] {
        assert_eq!(media.extract_url(url), url);
    }
}

#[test]
fn an_unknown_placeholder_is_an_error() {
    let error = Media::default().restore(&picture("{{media:7}}")).unwrap_err();
    assert!(matches!(error, Error::InvalidInput(_)));
    assert_eq!(error.to_string(), "`{{media:7}}` is no media placeholder of this turn");
}

#[test]
fn the_newest_media_of_a_request_are_kept_and_older_ones_are_described() {
    let media = Media::default();
    let answer = r#"{"role": "assistant", "content": "seen"}"#.to_owned();
    let messages = vec![picture(DATA), picture("QUJD"), answer, picture("REVG")];
    let marked: Vec<String> = messages.iter().map(|message| media.extract(message).into_owned()).collect();
    assert_eq!(media.restore_request(&marked, 20, "it").unwrap(), messages);

    let filled = media.restore_request(&marked, 8, "it").unwrap();
    assert_eq!(filled[1..], messages[1..]);
    let text = r#"{"type": "text", "text": "[image/png, 8 B] (left out: the request would be too large)"}"#;
    assert!(filled[0].ends_with(&format!("{text}]}}")), "{}", filled[0]);

    let error = media.restore_request(&marked, 3, "it").unwrap_err();
    assert_eq!(error.to_string(), "the media come to 4 B in base64, and it takes 3 B: attach less");
}

#[test]
fn a_guest_cannot_make_a_message_grow_without_end() {
    let media = Media::default();
    let mark = media.extract_url(&format!("data:image/png;base64,{}", "A".repeat(1 << 20)));
    let part = format!(r#"{{"type":"image_url","image_url":{{"url":"{mark}"}}}}"#);
    let message = format!(r#"{{"content":[{}]}}"#, vec![part; 100].join(","));
    assert!(message.len() < 10_000);
    let error = media.restore(&message).unwrap_err();
    assert_eq!(error.to_string(), "the media come to 105 MB in base64, and a message takes 32 MB: attach less");
}

#[test]
fn parts_are_described_in_words() {
    let table = [
        (r#"{"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}"#, Some("[image/png, 3 B]")),
        (r#"{"type": "image_url", "image_url": {"url": "https://x/y.png"}}"#, Some("[image, https://x/y.png]")),
        (r#"{"type": "input_audio", "input_audio": {"data": "QUI=", "format": "wav"}}"#, Some("[audio/wav, 2 B]")),
        (
            r#"{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"}}"#,
            Some("[a.pdf, application/pdf, 3 B]"),
        ),
        (r#"{"type": "image_url"}"#, Some("[image]")),
        (r#"{"type": "text", "text": "a"}"#, None),
        (r#"{"type": "refusal", "refusal": "no"}"#, None),
        ("7", None),
    ];
    for (part, expected) in table {
        assert_eq!(told(part, &|_| None).as_deref(), expected, "{part}");
    }
}
