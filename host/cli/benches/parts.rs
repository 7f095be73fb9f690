//! Selection of the measured parts.

/// Whether the part of that name is selected: `cargo bench --bench turn -- steps memory` selects two.
pub fn wants(part: &str) -> bool {
    let named: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    named.is_empty() || named.iter().any(|name| name == part)
}
