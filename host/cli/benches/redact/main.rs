//! Throughput of redaction, compared with a separate search for each encoding, which finds fewer secrets.

use bub_redact::{Patterns, RedactStream, encodings};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Bytes of each text.
const BYTES: usize = 4 << 20;

fn main() {
    let texts = [
        ("prose", "The heron stands in the shallow water and waits for a fish to come by. ".to_owned()),
        (
            "JSON with escapes",
            r#"{"id": 12, "text": "one\nline & \"another\"\u00e9", "url": "/a%20b?c=%2F"}"#.to_owned(),
        ),
        ("beginnings of keys", "sk-live-key-00 sk-live-kez SK-LIVE-KEY-0 ".to_owned()),
    ];
    for count in [1, 8, 64] {
        let values: Vec<String> =
            (0..count).map(|number| format!("sk-live-key-{number:04}-0123456789abcdef")).collect();
        let forms: Vec<Vec<u8>> = values.iter().flat_map(|value| encodings(value.as_bytes())).collect();
        let begun = Instant::now();
        let patterns = Patterns::new(&forms);
        println!("{count} secrets: {} spellings, made in {:?}", forms.len(), begun.elapsed());
        let plain: Vec<String> = forms.into_iter().filter_map(|form| String::from_utf8(form).ok()).collect();
        for (name, piece) in &texts {
            let text = piece.repeat(BYTES / piece.len());
            let whole = time(|| drop(black_box(patterns.redact_text(&text))));
            let pieces = time(|| {
                let mut stream = RedactStream::new(&patterns);
                text.as_bytes().chunks(1400).for_each(|chunk| drop(black_box(stream.push(chunk))));
                drop(black_box(stream.finish()));
            });
            let each = time(|| {
                let found = plain.iter().filter(|form| text.contains(form.as_str())).count();
                black_box(found);
            });
            println!(
                "  {name}: {} as a whole, {} in pieces; each spelling by itself {}",
                rate(whole),
                rate(pieces),
                rate(each)
            );
        }
    }
}

fn time(mut act: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..5)
        .map(|_| {
            let begun = Instant::now();
            act();
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn rate(took: Duration) -> String {
    format!("{:.0} MB/s", BYTES as f64 / took.as_secs_f64() / 1e6)
}
