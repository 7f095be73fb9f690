//! Secrets that are known by their form alone.

use bub_redact::{mask, proxy_address};

#[test]
fn keys_and_passwords_are_masked_and_names_are_not() {
    for plain in ["openai:gpt-4o-mini-2024-07-18", "anthropic:claude-sonnet-4-20250514", "hook:build-prompt", "a@b", ""]
    {
        assert_eq!(mask(plain), plain);
    }
    assert_eq!(mask("at https://me:hunter2@host:80/v1?a=b"), "at https://***@host:80/v1?a=b");
    assert_eq!(mask("https://host/@scope/name"), "https://host/@scope/name");
    assert_eq!(mask("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"), "***");
}

#[test]
fn the_address_of_a_proxy_shows_neither_user_nor_password_nor_path() {
    for (address, shown) in [
        ("http://proxy:3128", "http://proxy:3128"),
        (" socks5h://proxy/path?query ", "socks5h://proxy"),
        ("me:secret@proxy:3128", "http://***@proxy:3128"),
        ("http://me:se/cr?e#t@proxy:3128/", "http://***@proxy:3128"),
        ("http://me:p@ss@proxy", "http://***@proxy"),
        ("", "http://"),
    ] {
        assert_eq!(proxy_address(address), shown, "{address}");
    }
}
