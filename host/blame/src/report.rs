//! What one sees of a blame: the texts of a request, each with its sources.

use crate::blame::{Blame, BlamedPart};
use crate::leaves::{LeafKind, leaves};
use serde::Serialize;
use std::ops::Range;

/// A part of a request with its texts.
#[derive(Debug, Clone, Serialize)]
pub struct PartReport<'a> {
    /// The part; none: what the host wrote around the parts.
    pub part: Option<&'a BlamedPart>,
    /// Its passages, in their order.
    pub passages: Vec<Passage>,
}

/// A passage of one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Passage {
    /// The names that lead to its value.
    pub path: String,
    /// What it says.
    pub text: String,
    /// The place of its source in the list.
    pub source: usize,
}

impl Blame {
    /// The values of the request, part by part, each with its sources. Names of members and punctuation are left out.
    pub fn report(&self) -> Vec<PartReport<'_>> {
        let mut reports: Vec<PartReport<'_>> = Vec::new();
        let mut latest = None;
        for leaf in leaves(&self.body).into_iter().filter(|leaf| leaf.kind != LeafKind::Name && !leaf.range.is_empty())
        {
            for (range, source, part) in self.inside(&leaf.range) {
                if latest != Some(part) {
                    let part = part.and_then(|part| self.parts.get(part));
                    reports.push(PartReport { part, passages: Vec::new() });
                }
                latest = Some(part);
                let raw = &self.body[range];
                let text = serde_json::from_str(&format!("\"{raw}\"")).unwrap_or_else(|_| raw.to_owned());
                if let Some(report) = reports.last_mut() {
                    report.passages.push(Passage { path: leaf.path.clone(), text, source });
                }
            }
        }
        reports
    }

    /// The spans inside of a range of the body.
    fn inside(&self, range: &Range<usize>) -> impl Iterator<Item = (Range<usize>, usize, Option<usize>)> {
        let first = self.spans.partition_point(|span| span.end <= range.start);
        let end = range.end;
        let spans = self.spans[first..].iter().take_while(move |span| span.start < end);
        let start = range.start;
        spans.map(move |span| (span.start.max(start)..span.end.min(end), span.source, span.part))
    }
}
