//! The COSE message of heads, read by a reader of its own and verified with the public key.

use crate::home::{TAPE, with_turns};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bub_audit::Head;
use ring::signature::{ED25519, UnparsedPublicKey};

/// What the message is made of.
#[derive(Debug, PartialEq)]
enum Item {
    Number(i128),
    Bytes(Vec<u8>),
    Text(String),
    Array(Vec<Item>),
    Map(Vec<(Item, Item)>),
    Tagged(u64, Box<Item>),
}

fn read(bytes: &mut &[u8]) -> Item {
    let first = take(bytes, 1)[0];
    let number = match first & 31 {
        short @ 0..=23 => u64::from(short),
        long => take(bytes, 1 << (long - 24)).iter().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    };
    let length = usize::try_from(number).unwrap();
    match first >> 5 {
        0 => Item::Number(number.into()),
        1 => Item::Number(-1 - i128::from(number)),
        2 => Item::Bytes(take(bytes, length)),
        3 => Item::Text(String::from_utf8(take(bytes, length)).unwrap()),
        4 => Item::Array((0..length).map(|_| read(bytes)).collect()),
        5 => Item::Map((0..length).map(|_| (read(bytes), read(bytes))).collect()),
        6 => Item::Tagged(number, Box::new(read(bytes))),
        _ => panic!("it has no simple values"),
    }
}

fn take(bytes: &mut &[u8], count: usize) -> Vec<u8> {
    let (taken, rest) = bytes.split_at(count);
    *bytes = rest;
    taken.to_vec()
}

#[tokio::test]
async fn heads_are_a_cose_message_that_the_public_key_verifies() {
    let home = with_turns(2).await;
    let head = home.is_whole().await.head.unwrap();
    let heads = [Head { tape: TAPE.to_owned(), chain: head.chain, seq: head.seq, hash: head.hash.clone() }];
    let message = bub_audit::cose(&home.folder(), &heads).unwrap();
    let mut rest = message.as_slice();
    let Item::Tagged(18, content) = read(&mut rest) else { panic!("it is no COSE_Sign1") };
    assert!(rest.is_empty());
    let Item::Array(parts) = *content else { panic!("it is no array") };
    let [Item::Bytes(protected), Item::Map(unprotected), Item::Bytes(payload), Item::Bytes(signature)] = &parts[..]
    else {
        panic!("{parts:?}")
    };
    assert!(unprotected.is_empty());
    let keys = home.folder().keys().unwrap();
    let Item::Map(headers) = read(&mut protected.as_slice()) else { panic!("no headers") };
    let text = |text: &str| Item::Text(text.to_owned());
    let key = keys.keys.last().unwrap();
    assert_eq!(
        headers,
        [
            (Item::Number(1), Item::Number(-8)),
            (Item::Number(3), text("application/vnd.in-toto+json")),
            (Item::Number(4), Item::Bytes(key.id.clone().into_bytes())),
        ]
    );
    let statement: serde_json::Value = serde_json::from_slice(payload).unwrap();
    assert_eq!(statement["subject"][0]["digest"]["sha256"], head.hash);
    // The structure of RFC 9052, section 4.4, with each length as the shortest form has it.
    let string = |bytes: &[u8]| match bytes.len() {
        short @ 0..=23 => [&[0x40 | u8::try_from(short).unwrap()], bytes].concat(),
        middle @ 24..=255 => [&[0x58, u8::try_from(middle).unwrap()], bytes].concat(),
        long => [&[0x59], &u16::try_from(long).unwrap().to_be_bytes()[..], bytes].concat(),
    };
    let mut signed = [&[0x84, 0x6a], &b"Signature1"[..], &string(protected), &[0x40], &string(payload)].concat();
    let public = UnparsedPublicKey::new(&ED25519, STANDARD.decode(&key.public).unwrap());
    public.verify(&signed, signature).unwrap();
    *signed.last_mut().unwrap() ^= 1;
    assert!(public.verify(&signed, signature).is_err());
}
