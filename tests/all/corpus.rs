//! The table of the adversarial corpus names tests that exist.

use std::fs;
use std::path::Path;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/README.md");
const HOST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[test]
fn every_test_that_the_table_names_exists() {
    let table = fs::read_to_string(TABLE).expect("the table is there");
    let named: Vec<&str> = table.split('`').filter(|text| text.contains("::") && !text.contains(' ')).collect();
    assert!(named.len() >= 80, "{} tests are named", named.len());
    for name in named {
        let (module, test) = name.rsplit_once("::").expect("it has a module");
        // A test of a library crate begins with the crate's name.
        let (tests, module) = match module.strip_prefix("bub_").and_then(|module| module.split_once("::")) {
            Some((library, module)) => (format!("{HOST}/{library}/tests/all"), module),
            None => (format!("{HOST}/../tests/all"), module),
        };
        let file = Path::new(&tests).join(module.replace("::", "/")).with_extension("rs");
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("`{name}`: {error}"));
        let is_there = text.contains(&format!("#[test]\nfn {test}("))
            || text.contains(&format!("#[test]\npub(crate) fn {test}("))
            || text.contains(&format!("\nasync fn {test}("));
        assert!(is_there, "there is no test `{name}`");
    }
}
