//! Context windows of well-known models.

/// Prefixes of model names with tokens of context. The longest matching prefix counts.
const WINDOWS: &[(&str, u32)] = &[
    ("gpt-5", 400_000),
    ("gpt-5.1", 400_000),
    ("gpt-5.2", 400_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5-turbo", 16_385),
    ("gpt-oss", 131_072),
    ("o1", 200_000),
    ("o1-mini", 128_000),
    ("o1-preview", 128_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("claude", 200_000),
    ("claude-opus-4-6", 1_000_000),
    ("claude-opus-4.6", 1_000_000),
    ("claude-opus-4-7", 1_000_000),
    ("claude-opus-4.7", 1_000_000),
    ("claude-opus-4-8", 1_000_000),
    ("claude-opus-4.8", 1_000_000),
    ("claude-sonnet-4-6", 1_000_000),
    ("claude-sonnet-4.6", 1_000_000),
    ("claude-opus-5", 1_000_000),
    ("claude-opus-5.5", 1_000_000),
    ("claude-sonnet-5", 1_000_000),
    ("claude-sonnet-5.5", 1_000_000),
    ("claude-haiku-5.5", 1_000_000),
    ("claude-haiku-5-5", 1_000_000),
    ("claude-fable-5", 1_000_000),
    ("claude-fable-5.1", 1_000_000),
    ("gemini-1.5-flash", 1_048_576),
    ("gemini-1.5-pro", 2_097_152),
    ("gemini-2.0-flash", 1_048_576),
    ("gemini-2.5", 1_048_576),
    ("gemini-3", 1_048_576),
    ("deepseek-chat", 131_072),
    ("deepseek-reasoner", 131_072),
    ("mistral-large", 131_072),
    ("mistral-medium", 131_072),
    ("codestral", 262_144),
    ("devstral", 131_072),
    ("llama-3.1", 131_072),
    ("llama-3.2", 131_072),
    ("llama-3.3", 131_072),
    ("qwen3-coder", 262_144),
    ("kimi-k2", 131_072),
    ("grok-3", 131_072),
    ("grok-4", 256_000),
    ("command-r", 128_000),
];

/// The context window of a model in tokens, if known.
///
/// `model` may be `provider:model`, `provider:vendor/model` or the model's name alone. Unknown for `ollama`, whose user
/// configures the window.
pub fn window(model: &str) -> Option<u32> {
    let (provider, name) = model.split_once(':').unwrap_or(("", model));
    if provider.eq_ignore_ascii_case("ollama") {
        return None;
    }
    let name = name.rsplit('/').next()?.to_ascii_lowercase();
    WINDOWS
        .iter()
        .filter(|(prefix, _)| fits(&name, prefix))
        .max_by_key(|(prefix, _)| prefix.len())
        .map(|(_, tokens)| *tokens)
}

/// `gpt-4` matches `gpt-4` and `gpt-4-0613`, but not `gpt-4.5`.
fn fits(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', ':', '@']))
}
