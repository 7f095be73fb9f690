//! Makes one recorded call again.

use crate::cli::plugin::check::sandbox::Sandbox;
use bub_recordings::CallRecord;
use bub_runtime::hooks::{Replay, replay_call};
use bub_runtime::plugin::recording::{ImportCall, LiveModel, Playback, Played, RecordedCall, RecordedFiles};
use bub_runtime::turn::{CallScope, TurnSnapshot};
use bub_types::text::one_line;
use serde_json::Value;
use std::sync::Arc;

/// Makes the call. A strict one ends at the first import that was not called with these arguments when it was recorded, unless
/// it is a model call and `live` answers it.
///
/// # Errors
///
/// Why it cannot be made again.
pub(super) async fn play(
    stage: &Sandbox,
    call: &CallRecord,
    is_strict: bool,
    live: Option<Arc<LiveModel>>,
) -> Result<Played, String> {
    let imports = call.imports.iter().map(|import| ImportCall {
        function: import.function.clone(),
        arguments: import.arguments.clone(),
        answer: import.answer.clone(),
    });
    let recorded = RecordedCall {
        plugin: call.plugin.clone(),
        call: call.hook.clone(),
        imports: imports.collect(),
        clock: call.clock.clone(),
        random: call.random.clone(),
        ..RecordedCall::default()
    };
    let wrong = |what: &str| format!("its {what} in the recording cannot be understood");
    let files: RecordedFiles = match &call.files {
        Value::Null => RecordedFiles::default(),
        files => serde_json::from_value(files.clone()).map_err(|_| wrong("files"))?,
    };
    let turn = match &*call.turn {
        Value::Null => None,
        turn => {
            let turn: TurnSnapshot = serde_json::from_value(turn.clone()).map_err(|_| wrong("turn"))?;
            Some(turn.unkept())
        }
    };
    let playback =
        Playback::of_turn(&recorded, call.instance, call.monotonic.clone(), &files, is_strict)?.with_live(live);
    stage.host.recordings.play(playback.clone());
    let again = Replay { plugin: &stage.plugin, hook: &call.hook, arguments: call.arguments.clone(), turn };
    replay_call(&CallScope::new(&stage.host), again).await.map_err(|reason| one_line(&reason))?;
    playback.outcome().ok_or_else(|| "this version of the plugin does not implement the hook".to_owned())
}
