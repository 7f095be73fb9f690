//! The table of hooks.

use super::spec::{Deadline, DispatchMode, HookSpec, Replay};
use serde::{Serialize, Serializer};
use std::fmt;

macro_rules! hooks {
    ($($hook:ident = $name:literal, $way:ident, $stage:literal, $power:literal $(, $(.$set:ident($($value:expr)?))+)?;)*) => {
        /// A contract that a plugin can implement, in the order in which a turn meets them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Hook {
            $(#[doc = concat!("`", $name, "`: ", $power, ".")] $hook,)*
        }

        const ALL: &[HookSpec] = &[$(
            HookSpec::new(Hook::$hook, ($name, concat!("hook:", $name)), DispatchMode::$way, $stage, $power)
                $($(.$set($($value)?))+)?,
        )*];
    };
}

hooks! {
    AdmitMessage = "admit-message", FirstResult, "admit_message",
        "sees each message as it arrives; decides whether it is answered now, later, in the turn that runs, or never", .replay(Replay::Outside);
    ResolveSession = "resolve-session", FirstResult, "resolve_session",
        "sees each message before its turn; decides which conversation it goes on with", .replay(Replay::Outside);
    LoadState = "load-state", Broadcast, "load_state",
        "sees the message; adds to what the plugins of the turn know";
    BuildPrompt = "build-prompt", FirstResult, "build_prompt",
        "sees the message; decides what the model is asked in its place", .steering();
    RunModel = "run-model", FirstResult, "run_model",
        "sees the prompt; gives the answer itself, instead of the model", .deadline(Deadline::Turn);
    RunModelStream = "run-model-stream", FirstResult, "run_model",
        "sees the prompt; gives the answer itself, piece by piece, instead of the model", .deadline(Deadline::Turn);
    SystemPrompt = "system-prompt", Broadcast, "system_prompt",
        "sees the prompt; adds instructions that the model follows", .steering();
    Selector = "selector", FirstResult, "build_tape_context",
        "sees the conversation so far; decides which part of it the model gets, and how it is worded", .steering();
    Embedder = "embedder", FirstResult, "build_tape_context",
        "sees the questions, and what memory and conversations are looked through for; decides what is near to what", .replay(Replay::Never("an embedder is asked again by the next question"));
    BeforeLlmCall = "before-llm-call", Chain, "before_llm_call",
        "sees every request to a model, with its whole context; can rewrite it, take tools out of it, or answer it", .steering().replay(Replay::Isolated);
    Provider = "provider", FirstResult, "run_model",
        "is a model: sees every request that is sent to it, and what it answers is the agent's answer", .replay(Replay::Unknown);
    AfterLlmCall = "after-llm-call", Observer, "after_llm_call",
        "sees every answer of a model; changes nothing", .replay(Replay::Isolated);
    BeforeToolCall = "before-tool-call", Chain, "before_tool_call",
        "sees every tool call with its arguments; can change, answer or refuse it", .replay(Replay::Isolated);
    Tools = "tools", FirstResult, "run_model",
        "adds tools that the model can call; sees the arguments of those calls alone", .without_conversation().called_by_name().replay(Replay::Unknown);
    AfterToolCall = "after-tool-call", Chain, "after_tool_call",
        "sees every tool call with its result; can put another result in its place", .steering().replay(Replay::Isolated);
    ContinuePrompt = "continue-prompt", FirstResult, "continue_prompt",
        "sees the prompt; decides what the model is asked in the next step", .steering();
    SaveState = "save-state", Broadcast, "save_state",
        "sees the model's answer; can end the turn with an error";
    RenderOutbound = "render-outbound", Broadcast, "render_outbound",
        "sees the model's answer; decides what is sent to whom";
    DispatchOutbound = "dispatch-outbound", Broadcast, "dispatch_outbound",
        "sees everything that is sent; can claim it for delivery, so that no other plugin delivers it", .replay(Replay::Outside);
    OnError = "on-error", Observer, "on_error",
        "sees what failed, with the message; what it answers is sent to people", .replay(Replay::Anywhere);
    AfterTurn = "after-turn", Observer, "after_turn",
        "sees the model's answer once it was delivered; changes nothing of it", .deadline(Deadline::AfterTurn).replay(Replay::Isolated);
    BeforeReset = "before-reset", Broadcast, "before_reset",
        "sees that a conversation is about to be emptied; adds files to its archive", .without_conversation().replay(Replay::Isolated);
    ProvideModelOptions = "provide-model-options", Broadcast, "provide_model_options",
        "sees the session's name; adds models that people can choose", .without_conversation().replay(Replay::Isolated);
    Commands = "commands", Broadcast, "register_cli_commands",
        "adds commands that people run by name", .without_conversation().called_by_name().replay(Replay::Unknown);
    Store = "store", FirstResult, "provide_tape_store",
        "keeps all tapes: sees every word of all conversations, and what it answers is what was said", .grant("hook:tape-store").replay(Replay::Never("what is kept of a `store` does not say which of its functions was called"));
    Channel = "channel", Broadcast, "provide_channels",
        "brings messages in and takes answers out: whatever it says that a person said is a turn", .replay(Replay::Channel);
    Manifest = "manifest", Broadcast, "turn",
        "says what the plugin is; sees nothing", .without_conversation().called_by_name().replay(Replay::Unknown);
}

/// All hooks, in the order in which a turn meets them. `manifest`, which a plugin is described by, is not called in turns.
pub const HOOKS: &[HookSpec] = ALL.split_at(ALL.len() - 1).0;

impl Hook {
    /// The row of the table.
    pub const fn spec(self) -> &'static HookSpec {
        &ALL[self as usize]
    }

    /// The name in messages: that of the WIT interface.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// The grant that a plugin needs to be called, as in `hook:build-prompt`.
    pub const fn grant(self) -> &'static str {
        self.spec().grant
    }

    /// Whether it is called by name only, and needs no grant.
    pub fn is_called_by_name(self) -> bool {
        self.spec().is_called_by_name
    }

    /// The hook of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        ALL.iter().find(|spec| spec.name == name).map(|spec| spec.hook)
    }

    /// The hook that needs that grant.
    pub fn from_grant(grant: &str) -> Option<Self> {
        ALL.iter().find(|spec| spec.grant == grant).map(|spec| spec.hook)
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Hook {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
