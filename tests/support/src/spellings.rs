//! Spellings in which a secret may come back from a program or a server.

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Each character as that function spells it.
fn each(text: &str, spell: impl Fn(char) -> String) -> String {
    text.chars().map(spell).collect()
}

/// Each spelling of the value, with its name.
pub fn spellings(value: &str) -> Vec<(&'static str, String)> {
    let lower_percent = |character: char| character.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect();
    let escape = |character: char| {
        let mut units = [0; 2];
        character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    vec![
        ("itself", value.to_owned()),
        ("upper case", value.to_uppercase()),
        ("lower case", value.to_lowercase()),
        ("reversed", value.chars().rev().collect()),
        ("hexadecimal", hex(value)),
        ("hexadecimal in upper case", hex(value).to_uppercase()),
        ("every byte percent-encoded", each(value, lower_percent)),
        ("every character escaped", each(value, escape)),
        ("every character in braces", each(value, |character| format!("\\u{{{:x}}}", u32::from(character)))),
        ("bytes as C escapes them", value.bytes().map(|byte| format!("\\x{byte:02X}")).collect()),
        ("decimal references", each(value, |character| format!("&#{};", u32::from(character)))),
        ("hexadecimal references", each(value, |character| format!("&#x{:X};", u32::from(character)))),
        ("references behind zeros", each(value, |character| format!("&#00{};", u32::from(character)))),
    ]
}
