//! The estimate: characters of each script, divided by characters per token.

/// Characters per token, in hundredths. `HAN` and `REST` have the values of the original, although o200k_base makes
/// more tokens of Chinese and fewer of English; calibration with the provider's reports corrects that. The others were
/// measured with o200k_base, see `tests/all/main.rs`.
const HAN: u64 = 180;
/// Punctuation of full width.
const MARK: u64 = 100;
const KANA: u64 = 95;
const HANGUL: u64 = 105;
const CYRILLIC: u64 = 400;
const ARABIC: u64 = 330;
const INDIC: u64 = 300;
const PICTURE: u64 = 60;
const REST: u64 = 400;

/// Estimates the tokens of a text, rounded up; 0 for an empty text. Characters are Unicode scalar values, and each
/// script counts by its share.
pub fn estimate(text: &str) -> u64 {
    let (mut count, mut weight) = (0_u64, 0_u64);
    let mut rest = text;
    loop {
        let plain = plain(rest.as_bytes());
        count += plain as u64;
        weight += plain as u64 * REST;
        rest = &rest[plain..];
        let mut others = 0;
        for character in rest.chars().take_while(|character| !character.is_ascii()) {
            count += 1;
            weight += rate(character);
            others += character.len_utf8();
        }
        if others == 0 {
            break;
        }
        rest = &rest[others..];
    }
    if count == 0 {
        return 0;
    }
    // `weight / count / 100` characters make a token.
    (count * count * 100).div_ceil(weight)
}

/// The number of ASCII bytes at the beginning, eight at a time: most texts are ASCII, and need no decoding.
fn plain(bytes: &[u8]) -> usize {
    const EIGHT: u64 = 0x8080_8080_8080_8080;
    let (eights, _) = bytes.as_chunks::<8>();
    let plain = eights.iter().take_while(|eight| u64::from_le_bytes(**eight) & EIGHT == 0).count() * 8;
    plain + bytes[plain..].iter().take(8).take_while(|byte| byte.is_ascii()).count()
}

fn rate(character: char) -> u64 {
    match u32::from(character) {
        0..0x400 => REST,
        0x400..0x530 => CYRILLIC,
        0x590..0x780 => ARABIC,
        0x900..0x1100 => INDIC,
        0x1100..0x1200 | 0x3130..0x3190 | 0xac00..0xd7b0 => HANGUL,
        0x3040..0x3100 | 0x31f0..0x3200 | 0xff66..0xffa0 => KANA,
        0x3000..0x3040 | 0xff00..0xff10 | 0xff1a..0xff21 => MARK,
        0x2e80..0x3000
        | 0x3100..0x3130
        | 0x3190..0xac00
        | 0xf900..0xfb00
        | 0xfe30..0xfe50
        | 0xff10..0xff1a
        | 0xff21..0xff66
        | 0x20000..0x40000 => HAN,
        0x2190..0x2c00 | 0x1f000..0x20000 => PICTURE,
        _ => REST,
    }
}

/// Calibration: the ratio of reported to estimated tokens, where recent reports weigh most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio(f64);

/// The weight of a new report.
const PACE: f64 = 0.5;

/// No tokenizer differs more than this; a report beyond belongs to another request.
const BOUNDS: (f64, f64) = (0.25, 4.0);

impl Default for Ratio {
    fn default() -> Self {
        Self::ONE
    }
}

impl Ratio {
    /// No correction.
    pub const ONE: Self = Self(1.0);

    /// A stored value; 1 if it is not a valid ratio.
    pub fn kept(value: f64) -> Self {
        if (BOUNDS.0..=BOUNDS.1).contains(&value) { Self(value) } else { Self::default() }
    }

    /// The ratio itself.
    pub fn value(self) -> f64 {
        self.0
    }

    /// Corrects an estimate, rounded up.
    pub fn correct(self, estimated: u64) -> u64 {
        (estimated as f64 * self.0).ceil() as u64
    }

    /// Adds a report: the uncorrected estimate, and the reported tokens. The first report is taken as it is.
    pub fn report(before: Option<Self>, estimated: u64, reported: u64) -> Option<Self> {
        if estimated == 0 || reported == 0 {
            return before;
        }
        let new = reported as f64 / estimated as f64;
        if !(BOUNDS.0..=BOUNDS.1).contains(&new) {
            return before;
        }
        Some(Self(before.map_or(new, |Self(old)| old + (new - old) * PACE)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_and_english_are_the_originals() {
        for (text, tokens) in [
            ("", 0),
            ("a", 1),
            ("abcd", 1),
            ("abcde", 2),
            ("你好", 2),
            ("你好世界你好世界你", 5),
            // Half of each script: 2.9 characters per token.
            ("你好ab", 2),
            ("你好世界abcd", 3),
        ] {
            assert_eq!(estimate(text), tokens, "{text}");
        }
        let original = |han: f64, rest: f64| {
            let share = han / (han + rest);
            ((han + rest) / (share * 1.8 + (1.0 - share) * 4.0)).ceil() as u64
        };
        for (han, rest) in [(10, 90), (50, 50), (99, 1), (1, 999), (333, 667)] {
            let text = "字".repeat(han) + &"x".repeat(rest);
            let (ours, theirs) = (estimate(&text), original(han as f64, rest as f64));
            assert!(ours.abs_diff(theirs) <= 1, "{han} {rest}: {ours} {theirs}");
        }
    }

    #[test]
    fn characters_are_counted_wherever_they_stand() {
        let one_by_one = |text: &str| {
            let (count, weight) = text.chars().fold((0, 0), |(count, weight), c| (count + 1, weight + rate(c)));
            if count == 0 { 0 } else { (count * count * 100_u64).div_ceil(weight) }
        };
        for length in 0..40 {
            for at in 0..=length {
                let text = format!("{}字{}é", "x".repeat(at), "y".repeat(length - at));
                assert_eq!(estimate(&text), one_by_one(&text), "{text}");
                assert_eq!(estimate(&text[..at]), one_by_one(&text[..at]));
            }
        }
    }

    #[test]
    fn a_character_is_a_scalar_value_and_not_a_byte_or_a_unit() {
        assert_eq!(estimate("é".repeat(8).as_str()), 2);
        assert_eq!(estimate("𠀀𠀀"), 2, "one Han character, four bytes");
        assert!(estimate("🎉🎉🎉") >= 3);
    }

    #[test]
    fn reports_move_the_ratio_and_nonsense_does_not() {
        let first = Ratio::report(None, 100, 120);
        assert_eq!(first.map(Ratio::value), Some(1.2));
        let second = Ratio::report(first, 100, 100).unwrap();
        assert!((second.value() - 1.1).abs() < 1e-9);
        assert_eq!(second.correct(1000), 1100);
        for (estimated, reported) in [(0, 10), (10, 0), (10, 100), (1000, 1)] {
            assert_eq!(Ratio::report(Some(second), estimated, reported), Some(second));
        }
        assert_eq!(Ratio::kept(f64::NAN), Ratio::default());
        assert_eq!(Ratio::kept(1e9), Ratio::default());
    }
}
