//! Attachments of messages: how they reach the model, where they are stored, and which are rejected.

mod anthropic;
mod kept;
mod refused;
mod sent;

use crate::home;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bub_tests::{Finished, Home, Server};
use serde_json::Value;
use std::fs;

/// A picture of one pixel.
const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8,
    0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 10, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63, 0x60, 0, 0, 0, 2, 0, 1,
    0x48, 0xaf, 0xa4, 0x71, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// The head of an MPEG-4 file, and a box without content.
const MP4: &[u8] = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom\0\0\0\x08mdat";

/// The head of a sound of eight-bit mono with two samples.
fn wav() -> Vec<u8> {
    let mut wav = b"RIFF".to_vec();
    wav.extend(38_u32.to_le_bytes());
    wav.extend(b"WAVEfmt ");
    wav.extend(16_u32.to_le_bytes());
    for field in [1_u16, 1] {
        wav.extend(field.to_le_bytes());
    }
    for field in [8000_u32, 8000] {
        wav.extend(field.to_le_bytes());
    }
    for field in [1_u16, 8] {
        wav.extend(field.to_le_bytes());
    }
    wav.extend(b"data");
    wav.extend(2_u32.to_le_bytes());
    wav.extend([0x80, 0x80]);
    wav
}

const PDF: &[u8] = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n";

fn encoded(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

fn data_url(mime_type: &str, bytes: &[u8]) -> String {
    format!("data:{mime_type};base64,{}", encoded(bytes))
}

/// Puts a file into the workspace.
fn put(home: &Home, name: &str, bytes: &[u8]) {
    fs::write(home.workspace().join(name), bytes).expect("the workspace can be written");
}

/// A home with a picture in its workspace.
fn home_with_picture() -> Home {
    let home = home();
    put(&home, "dot.png", PNG);
    home
}

/// One turn with these attached.
fn say(home: &Home, server: &Server, text: &str, attached: &[&str]) -> Finished {
    let attached = attached.iter().flat_map(|place| ["--attach", *place]);
    home.run([text].into_iter().chain(attached)).model(server).finish()
}

/// The parts of the user's messages of a request that are no text.
fn media_of(messages: &[Value]) -> Vec<Value> {
    let parts = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    parts.filter(|part| part["type"] != "text").cloned().collect()
}
