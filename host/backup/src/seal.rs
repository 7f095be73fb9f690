//! Secrets under a passphrase.
//!
//! A sealed text is the magic line, the logarithm of scrypt's cost, a salt, and the text encrypted by ChaCha20-Poly1305
//! (RFC 8439) with the key that scrypt (RFC 7914, `r` 8, `p` 1) makes of the passphrase and the salt. The salt is
//! random, so each key encrypts one text, and its nonce is 0.

use anyhow::{Result, anyhow, bail, ensure};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use scrypt::Params;

const MAGIC: &[u8] = b"bub-wasm sealed 1\n";
const SALT: usize = 16;

/// The logarithm of the cost: 128 MiB, and about half a second.
const COST: u8 = 17;

/// The highest cost that is accepted of a file: 1 GiB.
const MAX_COST: u8 = 20;

/// The shortest passphrase.
const MIN_PASSPHRASE: usize = 8;

/// Encrypts a text.
pub(crate) fn seal(text: &[u8], passphrase: &str) -> Result<Vec<u8>> {
    ensure!(
        passphrase.chars().count() >= MIN_PASSPHRASE,
        "the passphrase is shorter than {MIN_PASSPHRASE} characters: take a longer one"
    );
    let mut salt = [0; SALT];
    getrandom::fill(&mut salt).map_err(|error| anyhow!("there are no random numbers: {error}"))?;
    let mut sealed = text.to_vec();
    key(passphrase, &salt, COST)?
        .seal_in_place_append_tag(nonce(), Aad::empty(), &mut sealed)
        .map_err(|_| anyhow!("the secrets are too long"))?;
    Ok([MAGIC, &[COST], &salt, &sealed].concat())
}

/// Decrypts a sealed text.
pub(crate) fn open(sealed: &[u8], passphrase: &str) -> Result<Vec<u8>> {
    let parts = sealed.strip_prefix(MAGIC).and_then(|rest| rest.split_first());
    let Some((cost, rest)) = parts else { bail!("the secrets of the backup are damaged, or of a newer version") };
    let Some((salt, text)) = rest.split_at_checked(SALT) else { bail!("the secrets of the backup are cut off") };
    ensure!((1..=MAX_COST).contains(cost), "the secrets of the backup are damaged");
    let mut text = text.to_vec();
    let opened = key(passphrase, salt, *cost)?.open_in_place(nonce(), Aad::empty(), &mut text);
    let length = opened.map_err(|_| anyhow!("the passphrase is not that of the backup's secrets"))?.len();
    text.truncate(length);
    Ok(text)
}

fn key(passphrase: &str, salt: &[u8], cost: u8) -> Result<LessSafeKey> {
    let mut key = [0; 32];
    let params = Params::new(cost, 8, 1, 32).map_err(|error| anyhow!("scrypt refuses its parameters: {error}"))?;
    scrypt::scrypt(passphrase.as_bytes(), salt, &params, &mut key)
        .map_err(|error| anyhow!("scrypt refuses its parameters: {error}"))?;
    let key = UnboundKey::new(&CHACHA20_POLY1305, &key).map_err(|_| anyhow!("the key has the wrong length"))?;
    Ok(LessSafeKey::new(key))
}

fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}
