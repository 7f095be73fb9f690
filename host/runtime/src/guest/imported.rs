//! The way of all calls of the contracts' imports: served by the implementations for [`State`], recorded if the call of the
//! guest is, or answered from a recording.
//!
//! An import that is missing here does not compile. WASI is recorded where its parts are made: requests in
//! `wasi::recorded_http`, clocks and random numbers in `determinism`.

mod crosses;
mod lists;
mod live;
mod of_plugin;
mod of_tape;
mod of_turn;

use super::bindings::exchange;
use super::state::State;
use bub_recordings::Packed;
use crosses::Crosses;
use serde_json::Value;
use wasmtime::component::HasData;
use wasmtime::{Error, Result};

/// The type that the linker is given.
pub(super) struct Imports;

impl HasData for Imports {
    type Data<'a> = Imported<'a>;
}

/// The state during one call of an import.
pub(super) struct Imported<'a>(pub(super) &'a mut State);

impl Imported<'_> {
    /// The recorded answer, in a playback.
    async fn play<T: Crosses>(&mut self, function: &str, arguments: &[Value]) -> Result<Option<T>> {
        if !self.0.recording.is_playback() {
            return Ok(None);
        }
        let recording = self.0.recording.clone();
        if let Some(live) = recording.live(function, arguments) {
            // Boxed, because few calls are such ones.
            Box::pin(live::ask(&live, &recording, arguments)).await;
        }
        // A function without a result, or without one there, needs no recorded answer.
        let answer = recording.answer(function, arguments).unwrap_or_default();
        recording.imported(function, arguments.to_vec(), answer.clone());
        if recording.has_question() {
            return Err(Error::msg(format!("it asks `{function}` what was not asked when it was recorded")));
        }
        let played = T::from_shown(answer);
        played
            .map(Some)
            .ok_or_else(|| Error::msg(format!("it calls `{function}`, and the recording has no answer for it")))
    }
}

/// A request as the recording of a call holds it.
pub(crate) fn packed_request(request: &exchange::Request) -> Packed {
    let mut packed = Packed::default();
    request.pack(&mut packed);
    packed
}

/// Implements the trait of an interface by that of [`State`].
///
/// `NAME in TRAIT` names the interface and the trait; for each function the arguments are listed with their types. `drops`
/// ends a handle: `played` are handles that a playback makes, which stand for nothing.
macro_rules! imported {
    ($name:literal in $path:path $(, drops $kind:ident $handle:ty)? {
        $($function:ident($($argument:ident: $ty:ty),* $(,)?) -> $answer:ty;)*
    }) => {
        impl $path for $crate::guest::imported::Imported<'_> {
            $(async fn $function(&mut self, $($argument: $ty),*) -> wasmtime::Result<$answer> {
                const FUNCTION: &str = concat!($name, ".", stringify!($function));
                if !self.0.recording.is_on() {
                    return <$crate::guest::State as $path>::$function(self.0, $($argument),*).await;
                }
                use $crate::guest::imported::crosses::Crosses;
                const ARGUMENTS: &[&str] = &[$(stringify!($argument)),*];
                self.0.recording.import_begins(|packed| {
                    packed.list(ARGUMENTS.len());
                    $(<$ty as Crosses>::pack(&$argument, packed);)*
                });
                if self.0.recording.is_playback() {
                    let arguments = self.0.recording.import_arguments();
                    if let Some(answer) = self.play::<$answer>(FUNCTION, &arguments).await? {
                        return Ok(answer);
                    }
                }
                let answer = <$crate::guest::State as $path>::$function(self.0, $($argument),*).await?;
                self.0.recording.import_ends(FUNCTION, |packed| <$answer as Crosses>::pack(&answer, packed));
                Ok(answer)
            })*
            $(async fn drop(&mut self, handle: wasmtime::component::Resource<$handle>) -> wasmtime::Result<()> {
                if $crate::guest::imported::is_made_by_playback!($kind) && self.0.recording.is_playback() {
                    return Ok(());
                }
                <$crate::guest::State as $path>::drop(self.0, handle).await
            })?
        }
    };
}

/// Whether handles of that kind come from imports, and so from the recording.
macro_rules! is_made_by_playback {
    (played) => {
        true
    };
    (given) => {
        false
    };
}

use {imported, is_made_by_playback};
