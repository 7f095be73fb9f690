//! Markdown that is streamed.

use bub_terminal::StreamedText;

#[test]
fn a_block_is_complete_after_an_empty_line_and_a_code_block_after_its_closing_fence() {
    for (text, expected) in [
        ("one", ""),
        ("one\n", ""),
        ("one\n\n", "one\n\n"),
        ("one\n\ntwo", "one\n\n"),
        ("```\na\n\nb", ""),
        ("```\na\n\nb\n```", ""),
        ("```\na\n\nb\n```\n", "```\na\n\nb\n```\n"),
        ("~~~\n```\n\n~~~\nx", "~~~\n```\n\n~~~\n"),
    ] {
        let (mut streamed, mut complete) = (StreamedText::new(false, false), StreamedText::new(false, false));
        streamed.push(text);
        complete.push(expected);
        assert_eq!(streamed.take_complete(60), complete.take_rest(60), "{text:?}");
        let mut rest = StreamedText::new(false, false);
        rest.push(&text[expected.len()..]);
        assert_eq!(streamed.take_rest(60), rest.take_rest(60), "{text:?}");
    }
}

#[test]
fn pieces_give_the_same_lines_as_the_whole() {
    let text = "# Title\n\nSome **bold** text with `code` in it.\n\n- one\n- two\n\n```rust\nfn main() {}\n\n```\nend";
    let mut whole = StreamedText::new(false, false);
    whole.push(text);
    let mut lines = whole.take_complete(60);
    lines.extend(whole.take_rest(60));
    let mut pieces = StreamedText::new(false, false);
    let mut drawn = Vec::new();
    for piece in text.split_inclusive(|_: char| true) {
        pieces.push(piece);
        drawn.extend(pieces.take_complete(60));
    }
    drawn.extend(pieces.take_rest(60));
    assert_eq!(
        drawn.iter().filter(|line| !line.is_empty()).collect::<Vec<_>>(),
        lines.iter().filter(|line| !line.is_empty()).collect::<Vec<_>>()
    );
    assert_eq!(pieces.text(), text);
}

#[test]
fn control_characters_are_escaped() {
    for plain in [false, true] {
        let mut said = StreamedText::new(false, plain);
        said.push("a\u{1b}[2Jb\u{202e}c\n");
        assert_eq!(said.take_rest(60).concat(), "a\\u{1b}[2Jb\\u{202e}c");
    }
}
