//! Makes the calls of a recorded turn again.

use super::compare::{self, Difference};
use super::play::play;
use super::stage::Stages;
use bub_recordings::{Listed, Recording};
use bub_types::text::one_line;

/// What came of a turn.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) session: Option<String>,
    /// Its calls.
    pub(super) calls: usize,
    /// Those that are identical.
    pub(super) same: usize,
    pub(super) differences: Vec<Difference>,
    /// What could not be made again, and why.
    pub(super) problems: Vec<String>,
}

impl Verdict {
    pub(super) fn is_identical(&self) -> bool {
        self.differences.is_empty() && self.problems.is_empty()
    }

    pub(super) fn outcome(&self) -> &'static str {
        match (self.differences.is_empty(), self.problems.is_empty()) {
            (false, _) => "differs",
            (true, false) => "not replayable",
            (true, true) => "identical",
        }
    }
}

/// Makes the calls of the turn again, in their order.
pub(super) async fn replay(stages: &mut Stages<'_>, listed: &Listed) -> Verdict {
    let mut verdict = Verdict::default();
    let recording = match Recording::read(&listed.file) {
        Ok(recording) => recording,
        Err(problem) => {
            verdict.problems.push(problem.to_string());
            return verdict;
        }
    };
    verdict.session = Some(recording.manifest.session.clone());
    verdict.calls = recording.manifest.calls.len();
    verdict.problems.extend(recording.problem.as_ref().map(ToString::to_string));
    for index in 0..verdict.calls {
        if let Err(reason) = call(stages, &recording, index, &mut verdict).await {
            let row = &recording.manifest.calls[index];
            let (hook, plugin) = (one_line(&row.hook), one_line(&row.plugin));
            verdict.problems.push(format!("hook `{hook}` of plugin `{plugin}`: {reason}"));
        }
    }
    stages.end_turn();
    verdict
}

async fn call(
    stages: &mut Stages<'_>,
    recording: &Recording,
    index: usize,
    verdict: &mut Verdict,
) -> Result<(), String> {
    let call = recording.call(index)?;
    if let Some(reason) = compare::unfit(&call) {
        return Err(reason);
    }
    let stage = stages.of_call(&call).await?;
    let played = play(&stage, &call, false, None).await?;
    match compare::difference(&call, &played) {
        Some(difference) => verdict.differences.push(difference),
        None => verdict.same += 1,
    }
    Ok(())
}
