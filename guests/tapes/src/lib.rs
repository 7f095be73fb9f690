//! The tools `tape.info`, `tape.search`, `tape.handoff`, `tape.anchors` and `tape.reset`.

mod read;
mod write;

bub_guest::plugin! {
    about: "Tools that look at the session's tape, mark a new phase on it, and empty it.",
    grants: {
        /// to count and to search what was said
        TAPE: TapeRead,
        /// to write the anchor of a handoff
        APPEND: TapeAppend,
        /// to empty the tape when it is asked to
        RESET: TapeReset,
    },
    tools: [read::info, read::search, write::reset, write::handoff, read::anchors],
}
