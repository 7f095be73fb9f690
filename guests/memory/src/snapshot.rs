//! A version of a section: the long-term memory and the daily notes.

use crate::day;

/// Maximum number of days with notes.
const MAX_NOTES: usize = 366;

/// A text of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub content: String,
    /// UTC.
    pub updated_at: String,
    /// Whether the writing turn was tainted.
    pub tainted: bool,
}

/// One day's notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// `2026-02-10`, the user's own day.
    pub date: String,
    pub part: Part,
}

/// The content of one version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// 0: before the first version.
    pub version: u64,
    pub long_term: Option<Part>,
    /// The day on which expired notes were last removed.
    pub pruned: Option<String>,
    /// One per day, newest first.
    notes: Vec<Note>,
}

impl Snapshot {
    /// An empty section with that version.
    pub fn empty(version: u64) -> Self {
        Self { version, ..Self::default() }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.long_term.is_none() && self.notes.is_empty()
    }

    /// Newest first.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The notes of that day.
    pub fn note(&self, date: &str) -> Option<&Part> {
        self.notes.iter().find(|note| note.date == date).map(|note| &note.part)
    }

    /// The notes from that day on, newest first.
    pub fn since<'a>(&'a self, first: &'a str) -> impl Iterator<Item = &'a Note> {
        self.notes.iter().filter(move |note| note.date.as_str() >= first)
    }

    /// All texts.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.long_term.iter().chain(self.notes.iter().map(|note| &note.part))
    }

    /// Total bytes of all texts.
    pub fn bytes(&self) -> usize {
        self.parts().map(|part| part.content.len()).sum()
    }

    /// Replaces the long-term memory; an empty text removes it.
    pub fn save(&mut self, part: Part) {
        self.long_term = Some(part).filter(|part| !part.content.is_empty());
    }

    /// Appends a text to the long-term memory. `false`: its lines are there already.
    pub fn add(&mut self, part: Part) -> bool {
        let Some(old) = self.long_term.take() else {
            self.save(part);
            return true;
        };
        let stands =
            |line: &str| line.trim().is_empty() || old.content.lines().any(|known| known.trim() == line.trim());
        if part.content.lines().all(stands) {
            self.long_term = Some(old);
            return false;
        }
        let content = format!("{}\n{}", old.content, part.content);
        self.long_term = Some(Part { content, tainted: old.tainted || part.tainted, ..part });
        true
    }

    /// The lines of the long-term memory that `content` lacks; `None` if there are none.
    pub fn lost_by(&self, content: &str) -> Option<Part> {
        let old = self.long_term.as_ref()?;
        let stands = |line: &str| content.contains(line.trim());
        let lost: Vec<&str> = old.content.lines().filter(|line| !stands(line)).collect();
        (!lost.is_empty()).then(|| Part { content: lost.join("\n"), ..old.clone() })
    }

    /// Replaces the notes of a day.
    pub fn set_note(&mut self, date: &str, part: Part) {
        self.notes.retain(|note| note.date != date);
        let at = self.notes.partition_point(|note| note.date.as_str() > date);
        self.notes.insert(at, Note { date: date.to_owned(), part });
    }

    /// Appends a text to the notes of a day. The first one gets a heading.
    pub fn add_note(&mut self, date: &str, part: Part) {
        let merged = match self.note(date) {
            Some(old) => Part {
                content: format!("{}\n{}", old.content, part.content),
                tainted: old.tainted || part.tainted,
                ..part
            },
            None => Part { content: format!("# {date}\n\n{}", part.content), ..part },
        };
        self.set_note(date, merged);
    }

    /// Whether that day may have notes, within the maximum.
    pub fn takes_day(&self, date: &str) -> bool {
        self.notes.len() < MAX_NOTES || self.note(date).is_some()
    }

    /// Drops notes older than that many days. Returns the number of days dropped.
    pub fn prune(&mut self, today: &str, retention_days: i64) -> usize {
        let before = self.notes.len();
        let cutoff = day::before(today, retention_days);
        self.notes.retain(|note| note.date >= cutoff);
        before - self.notes.len()
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.long_term = None;
        self.notes.clear();
    }

    /// Removes lines that contain the query, ignoring case; if it is a date, that day. Returns one line per removal.
    pub fn forget(&mut self, query: &str, now: &str) -> Vec<String> {
        let wanted = query.to_lowercase();
        let mut dropped = Vec::new();
        if let Some(part) = self.long_term.take() {
            let (part, lines) = part.without(&wanted, None, now);
            dropped.extend(lines.iter().map(|line| format!("long-term: {line}")));
            self.long_term = part;
        }
        for note in std::mem::take(&mut self.notes) {
            let heading = format!("# {}", note.date);
            let (part, lines) = match note.date == wanted {
                true => (None, note.part.content.lines().map(str::trim).map(str::to_owned).collect()),
                false => note.part.without(&wanted, Some(&heading), now),
            };
            let lines = lines.iter().filter(|line| !line.is_empty() && **line != heading);
            dropped.extend(lines.map(|line| format!("{}: {line}", note.date)));
            self.notes.extend(part.map(|part| Note { part, ..note }));
        }
        dropped
    }
}

impl Part {
    /// Splits the text into the rest and the removed lines, which contain `wanted` (in lower case). A heading without
    /// lines is removed.
    fn without(self, wanted: &str, heading: Option<&str>, now: &str) -> (Option<Self>, Vec<String>) {
        let is_heading = |line: &str| Some(line) == heading;
        let goes = |line: &str| !is_heading(line) && line.to_lowercase().contains(wanted);
        let (gone, left): (Vec<&str>, Vec<&str>) = self.content.lines().partition(|line| goes(line));
        if gone.is_empty() {
            return (Some(self), Vec::new());
        }
        let gone = gone.into_iter().map(|line| line.trim().to_owned()).collect();
        if left.iter().all(|line| line.trim().is_empty() || is_heading(line)) {
            return (None, gone);
        }
        let part = Self { content: left.join("\n").trim().to_owned(), updated_at: now.to_owned(), ..self };
        (Some(part), gone)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn part(content: &str) -> Part {
        Part { content: content.to_owned(), updated_at: "then".to_owned(), tainted: false }
    }

    fn dates(zone: &Snapshot) -> Vec<&str> {
        zone.notes().iter().map(|note| note.date.as_str()).collect()
    }

    #[test]
    fn an_empty_snapshot_holds_nothing() {
        let zone = Snapshot::default();
        assert!(zone.is_empty() && zone.notes().is_empty() && zone.note("2025-07-17").is_none());
        assert_eq!(zone.version, 0);
    }

    #[test]
    fn notes_are_set_and_replaced() {
        let mut zone = Snapshot::default();
        zone.set_note("2025-07-17", part("worked on memory"));
        assert_eq!(zone.note("2025-07-17").map(|part| part.content.as_str()), Some("worked on memory"));
        zone.set_note("2025-07-17", part("new content"));
        assert_eq!(zone.notes().len(), 1);
        assert_eq!(zone.note("2025-07-17").map(|part| part.content.as_str()), Some("new content"));
    }

    #[test]
    fn notes_are_sorted_newest_first() {
        let mut zone = Snapshot::default();
        for date in ["2025-07-15", "2025-07-17", "2025-07-16"] {
            zone.set_note(date, part(date));
        }
        assert_eq!(dates(&zone), ["2025-07-17", "2025-07-16", "2025-07-15"]);
    }

    #[test]
    fn recent_notes_are_those_from_a_day_on() {
        let mut zone = Snapshot::default();
        for date in ["2026-02-10", "2026-02-07", "2026-01-31"] {
            zone.set_note(date, part(date));
        }
        assert_eq!(zone.since("2026-02-03").count(), 2);
        assert_eq!(zone.since("2026-02-07").count(), 2);
        assert_eq!(zone.since("2026-02-08").count(), 1);
    }

    #[test]
    fn pruning_drops_expired_notes() {
        let mut zone = Snapshot::default();
        for date in ["2026-03-12", "2026-02-10", "2026-02-09"] {
            zone.set_note(date, part(date));
        }
        assert_eq!(zone.prune("2026-03-12", 30), 1);
        assert_eq!(dates(&zone), ["2026-03-12", "2026-02-10"]);
        assert_eq!(zone.prune("2026-03-12", 30), 0);
    }

    #[test]
    fn text_added_to_a_day_follows_its_earlier_text() {
        let mut zone = Snapshot::default();
        zone.add_note("2026-02-10", part("- morning"));
        assert_eq!(zone.note("2026-02-10").map(|part| part.content.as_str()), Some("# 2026-02-10\n\n- morning"));
        zone.add_note("2026-02-10", part("- evening"));
        let merged = "# 2026-02-10\n\n- morning\n- evening";
        assert_eq!(zone.note("2026-02-10").map(|part| part.content.as_str()), Some(merged));
    }

    #[test]
    fn a_day_to_which_a_tainted_turn_added_is_tainted() {
        let mut zone = Snapshot::default();
        zone.add_note("2026-02-10", Part { tainted: true, ..part("a") });
        zone.add_note("2026-02-10", part("b"));
        assert!(zone.note("2026-02-10").is_some_and(|part| part.tainted));
    }

    #[test]
    fn forgetting_drops_lines_and_days_that_are_empty_then() {
        let mut zone = Snapshot::default();
        zone.save(part("Likes tea.\nPhone: 555-0100\nLikes Rust."));
        zone.add_note("2026-02-10", part("- told the phone number\n- wrote tests"));
        zone.add_note("2026-02-09", part("- phone again"));
        let dropped = zone.forget("PHONE", "now");
        let expected =
            ["long-term: Phone: 555-0100", "2026-02-10: - told the phone number", "2026-02-09: - phone again"];
        assert_eq!(dropped, expected);
        assert_eq!(zone.long_term.as_ref().map(|part| part.content.as_str()), Some("Likes tea.\nLikes Rust."));
        assert_eq!(dates(&zone), ["2026-02-10"]);
        let note = zone.note("2026-02-10").map(|part| part.content.as_str());
        assert_eq!(note, Some("# 2026-02-10\n\n- wrote tests"));
    }

    #[test]
    fn forgetting_a_date_drops_that_day() {
        let mut zone = Snapshot::default();
        zone.add_note("2026-02-10", part("- one\n- two"));
        zone.add_note("2026-02-09", part("- three"));
        assert_eq!(zone.forget("2026-02-10", "now"), ["2026-02-10: - one", "2026-02-10: - two"]);
        assert_eq!(dates(&zone), ["2026-02-09"]);
    }

    #[test]
    fn text_that_does_not_match_is_unchanged() {
        let mut zone = Snapshot::default();
        zone.save(part("  Likes tea.\n\n"));
        zone.add_note("2026-02-10", part("- x "));
        let before = zone.clone();
        assert!(zone.forget("coffee", "now").is_empty());
        assert_eq!(zone, before);
    }

    #[test]
    fn clearing_forgets_all_of_it() {
        let mut zone = Snapshot::empty(4);
        zone.save(part("important"));
        zone.add_note("2025-07-17", part("note"));
        zone.clear();
        assert!(zone.is_empty());
        assert_eq!(zone.version, 4);
    }
}
