//! Advice to the author of a component that does not load.

/// The remedy, in one line; none where the reason names it, or where only the author can know it.
pub(super) fn mend(why: &str) -> Option<&'static str> {
    let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if says(&["its manifest", "two sections `bub:manifest`"]) {
        // The SDKs make it from the code: `plugin!` in Rust.
        Some("correct the manifest, then build and try again: bub-wasm plugin test")
    } else if says(&["which this host does not know", "no contract of this host", "none of this host's contracts"])
        || says(&["its export `bub:"])
    {
        Some("build it with the contracts of this program; a project with them: bub-wasm plugin new")
    } else if says(&["config.toml", ".config]"]) {
        Some("correct that configuration, or `config_schema` of the manifest, then try again: bub-wasm plugin test")
    } else {
        None
    }
}

/// Why it does not load, with what mends it.
pub(super) fn with_mend(error: &anyhow::Error) -> String {
    let why = format!("{error:#}");
    match mend(&why) {
        Some(mend) => format!("{why}; {mend}"),
        None => why,
    }
}
