//! The grants that a plugin asks for.

use super::loaded::Plugin;
use bub_permissions::Grant;
use bub_types::hook::Hook;
use std::collections::BTreeSet;

impl Plugin {
    /// The hooks that it implements and is asked only where it was granted them: all but what is called by name.
    pub fn gated(&self) -> impl Iterator<Item = Hook> {
        self.hooks.iter().copied().filter(|hook| !hook.is_called_by_name())
    }

    /// The names of the hooks that it implements.
    pub fn hook_names(&self) -> Vec<&'static str> {
        self.hooks.iter().map(|hook| hook.name()).collect()
    }

    /// All grants that it asks for, each once: what its manifest wants, or every hook that it exports where it says nothing
    /// of itself.
    pub fn wanted(&self) -> Vec<Grant> {
        let mut wanted: Vec<Grant> = Vec::new();
        let all: Vec<Grant> = match &self.wants {
            Some(_) => self.manifest.wants.iter().map(|want| want.grant.clone()).collect(),
            None => self.gated().map(Grant::hook).collect(),
        };
        for grant in all {
            if !wanted.contains(&grant) {
                wanted.push(grant);
            }
        }
        wanted
    }

    /// The reason that it gives for needing the grant.
    pub fn why(&self, grant: &Grant) -> Option<&str> {
        self.manifest.wants.iter().find(|want| want.grant == *grant).map(|want| want.why.as_str())
    }

    /// Whether it asks for the grant: one that it does not ask for cannot be given. The user may let one that asks for
    /// programs in a sandbox run them without.
    pub fn asks_for(&self, grant: &Grant) -> bool {
        let asks = |grant: &Grant| self.wants.as_ref().is_none_or(|wants| wants.allow(grant));
        asks(grant) || *grant == Grant::PROCESS && asks(&Grant::PROCESS_SANDBOXED)
    }

    /// The names of all that the component imports, granted or not.
    pub fn imports(&self) -> &BTreeSet<String> {
        &self.imported
    }
}
