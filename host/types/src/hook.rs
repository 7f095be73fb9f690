//! The table of hooks: dispatch mode, Bub's stage name and privileges of each.

/// How the plugins that implement a hook are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DispatchMode {
    /// One after the other until one returns a result.
    FirstResult,
    /// All of them.
    Broadcast,
    /// All of them; each gets the changes of the one before.
    Chain,
    /// All of them; their faults are ignored.
    Observer,
}

impl DispatchMode {
    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::FirstResult => "first result",
            Self::Broadcast => "broadcast",
            Self::Chain => "chain",
            Self::Observer => "observer",
        }
    }
}

/// A hook: its WIT interface, dispatch mode, stage and privileges.
pub struct HookSpec {
    /// The name in messages: that of the WIT interface.
    pub name: &'static str,
    /// How plugins are called.
    pub way: DispatchMode,
    /// The name in events and in `on-error`.
    pub stage: &'static str,
    /// What an implementation sees and can change; shown when the user grants the hook.
    pub power: &'static str,
    /// Whether it sees messages of people or of the model.
    pub listens: bool,
}

const fn hook(name: &'static str, way: DispatchMode, stage: &'static str, power: &'static str) -> HookSpec {
    HookSpec { name, way, stage, power, listens: true }
}

const fn without_conversation(
    name: &'static str,
    way: DispatchMode,
    stage: &'static str,
    power: &'static str,
) -> HookSpec {
    HookSpec { name, way, stage, power, listens: false }
}

/// All hooks, in the order of a turn.
pub const HOOKS: &[HookSpec] = &[
    hook(
        "admit-message",
        DispatchMode::FirstResult,
        "admit_message",
        "sees each message as it arrives; decides whether it is answered now, later, in the turn that runs, or never",
    ),
    hook(
        "resolve-session",
        DispatchMode::FirstResult,
        "resolve_session",
        "sees each message before its turn; decides which conversation it goes on with",
    ),
    hook(
        "load-state",
        DispatchMode::Broadcast,
        "load_state",
        "sees the message; adds to what the plugins of the turn know",
    ),
    hook(
        "build-prompt",
        DispatchMode::FirstResult,
        "build_prompt",
        "sees the message; decides what the model is asked in its place",
    ),
    hook(
        "run-model",
        DispatchMode::FirstResult,
        "run_model",
        "sees the prompt; gives the answer itself, instead of the model",
    ),
    hook(
        "run-model-stream",
        DispatchMode::FirstResult,
        "run_model",
        "sees the prompt; gives the answer itself, piece by piece, instead of the model",
    ),
    hook(
        "system-prompt",
        DispatchMode::Broadcast,
        "system_prompt",
        "sees the prompt; adds instructions that the model follows",
    ),
    hook(
        "selector",
        DispatchMode::FirstResult,
        "build_tape_context",
        "sees the conversation so far; decides which part of it the model gets, and how it is worded",
    ),
    hook(
        "embedder",
        DispatchMode::FirstResult,
        "build_tape_context",
        "sees the questions, and what memory and conversations are looked through for; decides what is near to what",
    ),
    hook(
        "before-llm-call",
        DispatchMode::Chain,
        "before_llm_call",
        "sees every request to a model, with its whole context; can rewrite it, take tools out of it, or answer it",
    ),
    hook(
        "provider",
        DispatchMode::FirstResult,
        "run_model",
        "is a model: sees every request that is sent to it, and what it answers is the agent's answer",
    ),
    hook("after-llm-call", DispatchMode::Observer, "after_llm_call", "sees every answer of a model; changes nothing"),
    hook(
        "before-tool-call",
        DispatchMode::Chain,
        "before_tool_call",
        "sees every tool call with its arguments; can change, answer or refuse it",
    ),
    without_conversation(
        "tools",
        DispatchMode::FirstResult,
        "run_model",
        "adds tools that the model can call; sees the arguments of those calls alone",
    ),
    hook(
        "after-tool-call",
        DispatchMode::Chain,
        "after_tool_call",
        "sees every tool call with its result; can put another result in its place",
    ),
    hook(
        "continue-prompt",
        DispatchMode::FirstResult,
        "continue_prompt",
        "sees the prompt; decides what the model is asked in the next step",
    ),
    hook(
        "save-state",
        DispatchMode::Broadcast,
        "save_state",
        "sees the model's answer; can end the turn with an error",
    ),
    hook(
        "render-outbound",
        DispatchMode::Broadcast,
        "render_outbound",
        "sees the model's answer; decides what is sent to whom",
    ),
    hook(
        "dispatch-outbound",
        DispatchMode::Broadcast,
        "dispatch_outbound",
        "sees everything that is sent; can claim it for delivery, so that no other plugin delivers it",
    ),
    hook(
        "on-error",
        DispatchMode::Observer,
        "on_error",
        "sees what failed, with the message; what it answers is sent to people",
    ),
    hook(
        "after-turn",
        DispatchMode::Observer,
        "after_turn",
        "sees the model's answer once it was delivered; changes nothing of it",
    ),
    without_conversation(
        "before-reset",
        DispatchMode::Broadcast,
        "before_reset",
        "sees that a conversation is about to be emptied; adds files to its archive",
    ),
    without_conversation(
        "provide-model-options",
        DispatchMode::Broadcast,
        "provide_model_options",
        "sees the session's name; adds models that people can choose",
    ),
    without_conversation(
        "commands",
        DispatchMode::Broadcast,
        "register_cli_commands",
        "adds commands that people run by name",
    ),
    hook(
        "store",
        DispatchMode::FirstResult,
        "provide_tape_store",
        "keeps all tapes: sees every word of all conversations, and what it answers is what was said",
    ),
    hook(
        "channel",
        DispatchMode::Broadcast,
        "provide_channels",
        "brings messages in and takes answers out: whatever it says that a person said is a turn",
    ),
];

/// The name of a hook's stage in events and in `on-error`.
pub fn stage(name: &str) -> &'static str {
    HOOKS.iter().find(|hook| hook.name == name).map_or("turn", |hook| hook.stage)
}
