//! What is known of a tool, and of the files that tools change.

use bub_runtime::host::Host;
use bub_runtime::plugin::Source;
use bub_system::files::read_inside;
use bub_types::Effect;
use std::path::Path;

/// The largest file that is shown as a difference, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// A tool by its dotted name: whether it came with the program, and its effect. A tool that is not there is neither.
pub(crate) fn tool(host: &Host, name: &str) -> (bool, Option<Effect>) {
    let plugins = host.plugins();
    let found = plugins.iter().find_map(|plugin| {
        let tool = plugin.tools.iter().find(|tool| tool.name == name)?;
        Some((plugin.source == Source::Embedded, Some(tool.effect)))
    });
    found.unwrap_or((false, None))
}

/// The dotted name of a tool that a tape has as models write it.
pub(crate) fn dotted(host: &Host, written: &str) -> String {
    let plugins = host.plugins();
    let mut tools = plugins.iter().flat_map(|plugin| &plugin.tools);
    let found = tools.find(|tool| bub_runtime::plugin::model_name(&tool.name) == written);
    found.map_or_else(|| written.to_owned(), |tool| tool.name.clone())
}

/// The text of a file of the workspace, for a difference; none: there is none, or it is long, or no text.
pub(crate) fn text(workspace: &Path, file: &Path) -> Option<String> {
    read_inside(workspace, file, MAX_FILE)
}
