//! The facts that the bytes of a component state before it is compiled: the names of its imports and exports, and its
//! manifest.
//!
//! `build.rs` reads the outlines of the guests that the program carries with the same code.

use wasmparser::{ComponentExternName, Parser, Payload};

/// The custom section that holds a manifest. It survives lto and strip inside the core module, and a tool can append one
/// to any component.
const SECTION: &str = "bub:manifest";

/// The outline of a component.
#[derive(Debug, Default)]
pub(super) struct Outline<'a> {
    /// The names of what it exports, with versions.
    pub(super) exports: Vec<String>,
    /// The names of what it imports, with versions.
    pub(super) imports: Vec<String>,
    /// The bytes of its manifest.
    pub(super) manifest: Option<&'a [u8]>,
    /// Whether it has a second manifest.
    pub(super) has_two_manifests: bool,
    /// Whether the bytes are a component throughout, as far as they were read.
    pub(super) is_whole: bool,
}

impl<'a> Outline<'a> {
    /// Reads the outline. Of bytes that are no component it is that of their beginning, and not whole.
    pub(super) fn read(component: &'a [u8]) -> Self {
        let mut outline = Self::default();
        outline.is_whole = outline.fill(component).is_ok();
        outline
    }

    fn fill(&mut self, component: &'a [u8]) -> wasmparser::Result<()> {
        // How deep the reader is in modules and components inside the outermost one.
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(component) {
            match payload? {
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentExportSection(exports) if depth == 0 => {
                    for export in exports {
                        self.exports.push(full_name(&export?.name));
                    }
                }
                Payload::ComponentImportSection(imports) if depth == 0 => {
                    for import in imports {
                        self.imports.push(full_name(&import?.name));
                    }
                }
                Payload::CustomSection(section) if section.name() == SECTION => {
                    self.has_two_manifests |= self.manifest.is_some();
                    self.manifest = Some(section.data());
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A name with the part of its version that may stand apart from it.
fn full_name(name: &ComponentExternName<'_>) -> String {
    match name.version_suffix {
        Some(suffix) if name.name.contains('@') => format!("{}{suffix}", name.name),
        _ => name.name.to_owned(),
    }
}
