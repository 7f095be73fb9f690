//! Compresses the files of the page, and makes a table of them.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::fs;
use std::io::{Result, Write};
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
    println!("cargo::rerun-if-changed={}", page.display());
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let mut files = Vec::new();
    collect(&page, "", &mut files)?;
    files.sort();
    let mut table = String::from("&[\n");
    for (number, name) in files.iter().enumerate() {
        let bytes = fs::read(page.join(name))?;
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&bytes)?;
        let target = out.join(format!("page-{number}.gz"));
        fs::write(&target, packed.finish()?)?;
        let _ = writeln!(table, "    File {{ name: {name:?}, packed: include_bytes!({target:?}) }},");
    }
    table.push_str("]\n");
    fs::write(out.join("page.rs"), table)
}

/// The names of the files below a folder, with `/` between their parts. Documents are for readers of the source.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), files)?;
        } else if !name.ends_with(".md") {
            files.push(name);
        }
    }
    Ok(())
}
