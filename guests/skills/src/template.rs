//! Placeholders in a skill's text.

/// Python's command on the machine of the skill's scripts.
const PYTHON: &str = "python3";

/// Fills in `$SKILL_DIR`, `$PYTHON`, `${config.a.b}` and `$$`, each also in braces. Other dollar signs are kept.
/// Inserted text is not processed again.
pub fn render(text: &str, skill_dir: &str, config: impl Fn(&str) -> String) -> String {
    let mut rendered = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        rendered.push_str(before);
        let filled = match after.strip_prefix('$') {
            Some(behind) => Some(("$".to_owned(), behind)),
            None => variable(after).and_then(|(name, behind)| Some((value(name, skill_dir, &config)?, behind))),
        };
        rest = match filled {
            Some((value, behind)) => {
                rendered.push_str(&value);
                behind
            }
            None => {
                rendered.push('$');
                after
            }
        };
    }
    rendered.push_str(rest);
    rendered
}

/// The name after a dollar sign, and the rest.
fn variable(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('{') {
        Some(braced) => braced.split_once('}'),
        None => {
            let end = text.find(|character: char| !character.is_ascii_alphanumeric() && character != '_');
            text.split_at_checked(end.unwrap_or(text.len()))
        }
    }
}

fn value(name: &str, skill_dir: &str, config: &impl Fn(&str) -> String) -> Option<String> {
    match name {
        "SKILL_DIR" => Some(skill_dir.to_owned()),
        "PYTHON" => Some(PYTHON.to_owned()),
        _ => name.strip_prefix("config.").map(config),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn renders(text: &str, expected: &str) {
        let config = |path: &str| if path == "a.b" { "$PYTHON".to_owned() } else { String::new() };
        assert_eq!(render(text, "/skills/x", config), expected);
    }

    #[test]
    fn known_placeholders_are_filled_in() {
        renders("Dir: $SKILL_DIR/a ${SKILL_DIR}b", "Dir: /skills/x/a /skills/xb");
        renders("Py: $PYTHON", "Py: python3");
        renders("Missing: ${config.nothing}.", "Missing: .");
    }

    #[test]
    fn inserted_text_is_not_processed_again() {
        renders("${config.a.b}", "$PYTHON");
        renders("$$PYTHON $$$$", "$PYTHON $$");
    }

    #[test]
    fn unknown_placeholders_are_kept() {
        for text in ["$unknown ${other} $SKILL_DIRS $config.a.b", "costs 5$", "$", "${", "${config.a", "$ä", "$5"] {
            renders(text, text);
        }
    }
}
