//! JSON Schemas that plugins bring along, and values that are held against them.
//!
//! Checking is the host's own work, which no fuel bounds: forty definitions, each of which names the next one twice, would
//! keep it at work for years. So a schema is looked at before it is believed, and the work that a value would make is
//! counted before it is done.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

/// Parts of a schema when whatever it refers to is written out, and parts that are held against one value.
const MAX_PARTS: usize = 20_000;
const MAX_STEPS: usize = 200_000;

/// References and parts inside one another, counted along the way from the whole schema to the innermost part.
const MAX_DEPTH: usize = 400;

/// Expressions in a schema, and the memory that one may take, in bytes.
const MAX_PATTERNS: usize = 64;
const MAX_PATTERN: usize = 1 << 20;

/// Uses of the keywords that look at everything around them once more.
const MAX_UNEVALUATED: usize = 8;

/// Faults of a value that are told at once.
const TOLD: usize = 5;

/// A schema that can be afforded.
pub(super) struct Schema {
    whole: Value,
    validator: Validator,
}

impl Schema {
    /// # Errors
    ///
    /// It is no schema, or too much of one.
    pub(super) fn new(whole: Value) -> Result<Self, String> {
        look(&whole)?;
        // Linear time, whatever expression a stranger wrote; and nothing is fetched, because no retriever is built in.
        let patterns = PatternOptions::regex().size_limit(MAX_PATTERN).dfa_size_limit(MAX_PATTERN);
        let options = jsonschema::options().with_pattern_options(patterns);
        let validator = options.build(&whole).map_err(|error| error.to_string())?;
        Ok(Self { whole, validator })
    }

    /// Whether a value matches the schema. The error is worded so that a model can act on it.
    pub(super) fn check(&self, value: &Value) -> Result<(), String> {
        Steps { whole: &self.whole, left: MAX_STEPS }.take(&self.whole, value, 0)?;
        let told: Vec<String> = self.validator.iter_errors(value).take(TOLD).map(|error| told(&error)).collect();
        if told.is_empty() { Ok(()) } else { Err(told.join("; ")) }
    }
}

fn told(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let place = place.trim_start_matches('/');
    let what = match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            match alternatives(error, context) {
                Alternatives::Types(types) => format!("{} is not {types}", error.instance()),
                Alternatives::Errors(errors) => return errors,
                Alternatives::Unknown => error.to_string(),
            }
        }
        _ => error.to_string(),
    };
    if place.is_empty() { what } else { format!("`{place}`: {what}") }
}

/// Why a value is none of several things that it may be.
enum Alternatives {
    /// It is of none of these types.
    Types(String),
    /// It is of the type of one of them, and this is wrong with it.
    Errors(String),
    /// They do not differ by type.
    Unknown,
}

fn alternatives(error: &ValidationError<'_>, branches: &[Vec<ValidationError<'_>>]) -> Alternatives {
    let mut types = Vec::new();
    let mut nearer = Vec::new();
    for branch in branches {
        let of_type = branch.iter().find_map(|inner| match inner.kind() {
            ValidationErrorKind::Type { kind } if inner.instance_path() == error.instance_path() => Some(kind),
            _ => None,
        });
        match of_type {
            Some(TypeKind::Single(kind)) => types.push(kind.to_string()),
            Some(TypeKind::Multiple(kinds)) => types.extend(kinds.iter().map(|kind| kind.to_string())),
            None => nearer.push(branch),
        }
    }
    types.dedup();
    match (nearer.as_slice(), types.split_last()) {
        ([], Some((last, []))) => Alternatives::Types(format!("of the type {last}")),
        ([], Some((last, first))) => Alternatives::Types(format!("of the type {} or {last}", first.join(", "))),
        ([branch], _) => Alternatives::Errors(branch.iter().take(TOLD).map(told).collect::<Vec<_>>().join("; ")),
        _ => Alternatives::Unknown,
    }
}

/// Whether a schema can be afforded, whatever is held against it.
///
/// # Errors
///
/// The schema is too expensive. The error describes why.
pub(super) fn look(whole: &Value) -> Result<(), String> {
    Look { whole, left: MAX_PARTS, patterns: 0, unevaluated: 0, within: Vec::new() }.part(whole, 0)
}

/// Goes through a schema with all that it refers to, each reference as often as it is used.
struct Look<'a> {
    whole: &'a Value,
    left: usize,
    patterns: usize,
    unevaluated: usize,
    /// The schemas that are being referred to: a reference back to one is followed by the value that is checked, and
    /// not here.
    within: Vec<&'a Value>,
}

impl<'a> Look<'a> {
    fn part(&mut self, part: &'a Value, depth: usize) -> Result<(), String> {
        self.left = self.left.checked_sub(1).ok_or("a schema that is too large with all that it refers to")?;
        if depth > MAX_DEPTH {
            return Err("a schema whose references go too deep".to_owned());
        }
        match part {
            Value::Array(parts) => parts.iter().try_for_each(|part| self.part(part, depth + 1)),
            Value::Object(keywords) => {
                keywords.iter().try_for_each(|(keyword, value)| self.keyword(keyword, value, depth + 1))
            }
            _ => Ok(()),
        }
    }

    fn keyword(&mut self, keyword: &str, value: &'a Value, depth: usize) -> Result<(), String> {
        match (keyword, value) {
            ("$ref", Value::String(reference)) => {
                let target = target(self.whole, reference)?;
                if self.within.iter().any(|within| std::ptr::eq(*within, target)) {
                    return Ok(());
                }
                self.within.push(target);
                let looked = self.part(target, depth);
                self.within.pop();
                return looked;
            }
            // Their meaning depends on who asks; no generator of schemas for tools writes them.
            ("$dynamicRef" | "$recursiveRef", Value::String(_)) => {
                return Err(format!("a schema with `{keyword}`, which is not taken"));
            }
            ("$id" | "id", Value::String(_)) if depth > 1 => {
                return Err(format!("a schema with another one inside, by `{keyword}`, which is not taken"));
            }
            ("unevaluatedProperties" | "unevaluatedItems", _) => self.unevaluated += 1,
            ("pattern", Value::String(_)) => self.patterns += 1,
            ("patternProperties", Value::Object(patterns)) => self.patterns += patterns.len(),
            ("const" | "enum" | "default" | "examples", _) => return Ok(()),
            _ => {}
        }
        if self.patterns > MAX_PATTERNS {
            return Err(format!("a schema with more than {MAX_PATTERNS} expressions"));
        }
        if self.unevaluated > MAX_UNEVALUATED {
            return Err(format!("a schema with `{keyword}` more than {MAX_UNEVALUATED} times"));
        }
        self.part(value, depth)
    }
}

/// Counts what is held against a value: nothing is decided here, so every branch is taken.
struct Steps<'a> {
    whole: &'a Value,
    left: usize,
}

impl Steps<'_> {
    fn take(&mut self, part: &Value, value: &Value, depth: usize) -> Result<(), String> {
        let too_much = || "they would take too long to be checked".to_owned();
        self.left = self.left.checked_sub(1).ok_or_else(too_much)?;
        if depth > MAX_DEPTH {
            return Err(too_much());
        }
        let Value::Object(keywords) = part else { return Ok(()) };
        for (keyword, sub) in keywords {
            match (keyword.as_str(), sub) {
                ("$ref", Value::String(reference)) => {
                    let target = target(self.whole, reference)?;
                    self.take(target, value, depth + 1)?;
                }
                ("allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else", _) => {
                    parts(sub).try_for_each(|sub| self.take(sub, value, depth + 1))?;
                }
                ("dependentSchemas" | "dependencies", Value::Object(subs)) => {
                    subs.values().try_for_each(|sub| self.take(sub, value, depth + 1))?;
                }
                ("properties", Value::Object(subs)) => {
                    for (name, sub) in subs {
                        value.get(name).map_or(Ok(()), |value| self.take(sub, value, depth + 1))?;
                    }
                }
                ("patternProperties", Value::Object(subs)) => {
                    subs.values().try_for_each(|sub| self.inside(sub, value, depth))?;
                }
                (
                    "additionalProperties"
                    | "unevaluatedProperties"
                    | "propertyNames"
                    | "items"
                    | "prefixItems"
                    | "additionalItems"
                    | "unevaluatedItems"
                    | "contains",
                    _,
                ) => parts(sub).try_for_each(|sub| self.inside(sub, value, depth))?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Everything that is directly in the value.
    fn inside(&mut self, part: &Value, value: &Value, depth: usize) -> Result<(), String> {
        match value {
            Value::Array(values) => values.iter().try_for_each(|value| self.take(part, value, depth + 1)),
            Value::Object(values) => values.values().try_for_each(|value| self.take(part, value, depth + 1)),
            _ => Ok(()),
        }
    }
}

/// The parts of a keyword that has one or a list of them.
fn parts(value: &Value) -> impl Iterator<Item = &Value> {
    let (list, one) = match value {
        Value::Array(list) => (list.as_slice(), None),
        one => (&[][..], Some(one)),
    };
    list.iter().chain(one)
}

/// The target of a reference: a part of the schema itself, by its place.
fn target<'a>(whole: &'a Value, reference: &str) -> Result<&'a Value, String> {
    let shown = || bub_types::text::one_line(reference).chars().take(64).collect::<String>();
    let place = reference.strip_prefix('#').filter(|place| place.is_empty() || place.starts_with('/'));
    let place = place.ok_or_else(|| format!("a schema that refers to `{}`, which is no place in it", shown()))?;
    let place = percent_encoding::percent_decode_str(place).decode_utf8_lossy();
    whole.pointer(&place).ok_or_else(|| format!("a schema that refers to `{}`, which is not there", shown()))
}
