//! Export of memory for people.

use crate::block::TAINTED;
use crate::scope::Scope;
use crate::snapshot::{Part, Snapshot};

/// One section as Markdown.
pub fn one(scope: Scope, zone: &Snapshot) -> String {
    let mut text = format!("# Memory of this {}\n\nVersion {}.\n", scope.name(), zone.version);
    let mut add = |heading: &str, part: &Part| {
        let tainted = if part.tainted { format!("{TAINTED}\n\n") } else { String::new() };
        text.push_str(&format!("\n## {heading}\n\n{tainted}{}\n", part.content));
    };
    if let Some(part) = &zone.long_term {
        add("Long-term Memory", part);
    }
    zone.notes().iter().for_each(|note| add(&note.date, &note.part));
    text
}

/// Several sections, without empty ones.
pub fn all(zones: &[(Scope, Snapshot)]) -> String {
    let zones: Vec<String> =
        zones.iter().filter(|(_, zone)| !zone.is_empty()).map(|(scope, zone)| one(*scope, zone)).collect();
    if zones.is_empty() { "(nothing is remembered)".to_owned() } else { zones.join("\n") }
}

/// A summary of the sections without their texts.
pub fn summary(zones: &[(Scope, Snapshot)]) -> String {
    zones.iter().map(|(scope, zone)| of_one(*scope, zone)).collect::<Vec<_>>().join("\n\n")
}

fn of_one(scope: Scope, zone: &Snapshot) -> String {
    let tainted = |part: &Part| if part.tainted { ", written in a tainted turn" } else { "" };
    let mut lines = vec![format!("{}: version {}", scope.name(), zone.version)];
    lines.push(match &zone.long_term {
        Some(part) => {
            format!("- long-term: {} bytes, of {}{}", part.content.len(), part.updated_at, tainted(part))
        }
        None => "- long-term: (empty)".to_owned(),
    });
    let note = |note: &crate::snapshot::Note| {
        format!("- {}: {} bytes{}", note.date, note.part.content.len(), tainted(&note.part))
    };
    lines.extend(zone.notes().iter().map(note));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::tests::part;

    #[test]
    fn an_export_holds_all_of_it() {
        let mut zone = Snapshot::empty(3);
        zone.save(Part { tainted: true, ..part("Likes tea.") });
        zone.add_note("2026-02-10", part("- wrote"));
        let expected = format!(
            "# Memory of this workspace\n\nVersion 3.\n\n## Long-term Memory\n\n{TAINTED}\n\nLikes tea.\n\n## 2026-02-10\n\n# 2026-02-10\n\n- wrote\n"
        );
        assert_eq!(all(&[(Scope::Workspace, zone), (Scope::Session, Snapshot::default())]), expected);
    }

    #[test]
    fn a_summary_lists_sizes_and_days() {
        let mut zone = Snapshot::empty(3);
        zone.add_note("2026-02-10", Part { tainted: true, ..part("x") });
        let expected = "session: version 3\n- long-term: (empty)\n- 2026-02-10: 15 bytes, written in a tainted turn";
        assert_eq!(summary(&[(Scope::Session, zone)]), expected);
    }
}
