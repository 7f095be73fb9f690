//! Files for the loader, one a seed.

use arbitrary::Unstructured;
use bub_test_support::Chance;
use bub_tests::component::{sections, with_idle_module, with_section, with_started_module};
use bub_tests::programs;
use std::fs;
use std::sync::LazyLock;
use wasm_smith::{Component, Config, Module};

/// Ways of making one; seeds that follow each other take turns.
pub const KINDS: u64 = 12;

/// The components that are mutated: each exports other contracts and has its own kind of manifest.
static WHOLE: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let paths = [
        programs::FAULT_TRAP,
        programs::FAULT_TRAP,
        programs::FAULT_UNKNOWN_VERSION,
        programs::FAULT_SPIN,
        programs::PROMPT_UPPER,
        programs::COMMANDER,
        programs::HOSTILE,
        programs::CHOOSY,
    ];
    paths.iter().map(|path| fs::read(path).expect("it was built")).collect()
});

/// The file of that seed.
pub fn make(seed: u64) -> Vec<u8> {
    let mut chance = Chance::new(seed);
    let whole = chance.one_of(&WHOLE).clone();
    match seed % KINDS {
        0 | 1 => component(&mut chance),
        2 => module(&mut chance, false),
        3 => with_idle_module(&whole, &module(&mut chance, false)),
        4 | 5 => with_started_module(&whole, &module(&mut chance, true)),
        6 => flipped(whole, &mut chance),
        7 => overwritten(whole, &mut chance),
        8 => cut(whole, &mut chance),
        9 => spliced(&whole, &mut chance),
        10 => shuffled(&whole, &mut chance),
        _ => with_section(&whole, "bub:manifest", &manifest(&mut chance)),
    }
}

/// A component of `wasm-smith`. Small ones do not run out of chance, so there are many of them.
fn component(chance: &mut Chance) -> Vec<u8> {
    let count = 200 + chance.below(8_000);
    let bytes = chance.bytes(count);
    let made = Component::new(Config::default(), &mut Unstructured::new(&bytes));
    made.map(|made| made.to_bytes()).unwrap_or_default()
}

/// A core module of `wasm-smith`: with all proposals that there are, or one that instantiates by itself.
fn module(chance: &mut Chance, is_alone: bool) -> Vec<u8> {
    let count = 200 + chance.below(8_000);
    let bytes = chance.bytes(count);
    let mut config = Config { allow_start_export: true, ..Config::default() };
    if is_alone {
        config.max_imports = 0;
        config.gc_enabled = false;
        config.exceptions_enabled = false;
        config.threads_enabled = false;
        config.memory64_enabled = false;
        config.max_memory32_bytes = 80 << 20;
    }
    Module::new(config, &mut Unstructured::new(&bytes)).map(|made| made.to_bytes()).unwrap_or_default()
}

/// One to eight bits are others.
fn flipped(mut whole: Vec<u8>, chance: &mut Chance) -> Vec<u8> {
    for _ in 0..=chance.below(8) {
        let at = chance.below(whole.len());
        whole[at] ^= 1 << chance.below(8);
    }
    whole
}

/// One to four bytes are those at which readers stumble.
fn overwritten(mut whole: Vec<u8>, chance: &mut Chance) -> Vec<u8> {
    for _ in 0..=chance.below(4) {
        let at = chance.below(whole.len());
        whole[at] = *chance.one_of(&[0, 1, 0x0b, 0x40, 0x7f, 0x80, 0xff]);
    }
    whole
}

fn cut(mut whole: Vec<u8>, chance: &mut Chance) -> Vec<u8> {
    let length = chance.below(whole.len());
    match chance.below(2) {
        0 => whole.truncate(length),
        _ => drop(whole.drain(length..(length + 1 + chance.below(64)).min(whole.len()))),
    }
    whole
}

/// The beginning of one and the end of another.
fn spliced(whole: &[u8], chance: &mut Chance) -> Vec<u8> {
    let other = chance.one_of(&WHOLE);
    [&whole[..chance.below(whole.len())], &other[chance.below(other.len())..]].concat()
}

/// Sections twice, left out, in another order, or another's.
fn shuffled(whole: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut all = sections(whole);
    let others = sections(&WHOLE[chance.below(WHOLE.len())]);
    for _ in 0..=chance.below(3) {
        let (at, other) = (chance.below(all.len()), chance.below(all.len()));
        match chance.below(4) {
            0 => all.insert(at, all[other]),
            1 => drop(all.remove(at)),
            2 => all.swap(at, other),
            _ => all.insert(at, *chance.one_of(&others)),
        }
    }
    let mut bytes = whole[..8].to_vec();
    all.iter().for_each(|(_, section)| bytes.extend_from_slice(section));
    bytes
}

/// A manifest in which something is not as it should be.
fn manifest(chance: &mut Chance) -> Vec<u8> {
    const WORDS: [&str; 14] = [
        "\"name\"",
        "\"wants\"",
        "\"grant\"",
        "\"why\"",
        "\"version\"",
        "\"config_schema\"",
        "\"hook:*\"",
        "\"\\ud800\"",
        "\"\\u001b[2J\"",
        "null",
        "1e999",
        "[",
        "{\"$ref\": \"#\"}",
        "\"..\"",
    ];
    let good =
        br##"{"name": "notes", "wants": [{"grant": "fs:/tmp:rw", "why": "x"}], "config_schema": {"$ref": "#"}}"##;
    let mut text = good.to_vec();
    for _ in 0..chance.below(4) {
        let word = chance.one_of(&WORDS).as_bytes();
        let at = chance.below(text.len());
        let end = (at + chance.below(word.len() + 4)).min(text.len());
        text.splice(at..end, word.iter().copied());
    }
    match chance.below(8) {
        0 => flipped(text, chance),
        1 => vec![b'['; 100_000],
        _ => text,
    }
}
