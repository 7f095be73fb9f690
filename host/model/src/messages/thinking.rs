//! Translation of `reasoning_effort`.

use serde_json::{Map, Value, json};

/// The minimum thinking budget, in tokens.
const LEAST_BUDGET: u64 = 1_024;

/// Sets the thinking effort for `model`, unless `options` already do.
///
/// Claude 4.6 and later accept an effort; 3.7 and later accept a token budget. `none`, unknown efforts and unknown
/// models are left to the server. `is_bound`: a tool must be called or was called, and a model with a budget would
/// require its earlier thinking blocks, which were not kept.
pub(super) fn ask_for(effort: &str, model: &str, max_tokens: u64, is_bound: bool, options: &mut Map<String, Value>) {
    let Some(version) = version(model).filter(|version| *version >= (3, 7)) else {
        return;
    };
    if options.contains_key("thinking") {
        return;
    }
    if version >= (4, 6) {
        let Some(effort) = level(effort, version) else {
            return;
        };
        options.insert("thinking".to_owned(), json!({ "type": "adaptive", "display": "summarized" }));
        let config = options.entry("output_config").or_insert_with(|| json!({}));
        if let Some(config) = config.as_object_mut() {
            config.entry("effort").or_insert(effort.into());
        }
    } else {
        let budget = budget(effort).map(|budget| budget.min(max_tokens / 4 * 3));
        let Some(budget) = budget.filter(|budget| *budget >= LEAST_BUDGET && !is_bound) else {
            return;
        };
        options.insert("thinking".to_owned(), json!({ "type": "enabled", "budget_tokens": budget }));
    }
    // Thinking models reject sampling parameters.
    for key in ["temperature", "top_k", "top_p"] {
        options.shift_remove(key);
    }
}

fn level(effort: &str, version: (u32, u32)) -> Option<&'static str> {
    match effort {
        "minimal" | "low" => Some("low"),
        "medium" => Some("medium"),
        "high" => Some("high"),
        "xhigh" if version < (4, 7) => Some("high"),
        "xhigh" => Some("xhigh"),
        "max" => Some("max"),
        _ => None,
    }
}

fn budget(effort: &str) -> Option<u64> {
    match effort {
        "minimal" => Some(LEAST_BUDGET),
        "low" => Some(2_048),
        "medium" => Some(8_192),
        "high" => Some(24_576),
        "xhigh" | "max" => Some(32_768),
        _ => None,
    }
}

/// Major and minor version of `claude-sonnet-4-5-20250929`, `claude-3-7-sonnet-latest` or `vendor/claude-opus-4.6`.
/// Longer numbers are dates.
fn version(model: &str) -> Option<(u32, u32)> {
    let name = model.rsplit('/').next()?.to_ascii_lowercase();
    let rest = name.strip_prefix("claude-")?;
    let mut numbers =
        rest.split(['-', '.', '@', ':']).filter(|word| word.len() <= 2).filter_map(|word| word.parse().ok());
    Some((numbers.next()?, numbers.next().unwrap_or(0)))
}
