//! A manifest that inherits nothing from a workspace.

use toml_edit::{DocumentMut, Item, TableLike};

/// The same manifest with the values of the workspace in place of `workspace = true`.
pub fn manifest(text: &str, workspace: &str) -> String {
    let mut manifest: DocumentMut = text.parse().expect("a manifest is TOML");
    let workspace: DocumentMut = workspace.parse().expect("a manifest is TOML");
    let workspace = &workspace["workspace"];
    inherit(&mut manifest["package"], &workspace["package"]);
    inherit(&mut manifest["dependencies"], &workspace["dependencies"]);
    if let Some(targets) = manifest.get_mut("target").and_then(Item::as_table_like_mut) {
        for (_, target) in targets.iter_mut() {
            inherit(&mut target["dependencies"], &workspace["dependencies"]);
        }
    }
    manifest.to_string()
}

fn inherit(table: &mut Item, from: &Item) {
    let Some(table) = table.as_table_like_mut() else { return };
    let is_inherited = |item: &dyn TableLike| item.get("workspace").and_then(Item::as_bool) == Some(true);
    let names: Vec<String> = table
        .iter()
        .filter(|(_, item)| item.as_table_like().is_some_and(is_inherited))
        .map(|(name, _)| name.to_owned())
        .collect();
    for name in names {
        let value = from.get(&name).unwrap_or_else(|| panic!("the workspace has `{name}`"));
        table.insert(&name, value.clone());
    }
}
