//! Floats as Python prints them.

/// Prints a JSON number with a fraction or an exponent as Python's `repr(float(text))`: the fewest digits that restore
/// the float, with an exponent below `1e-04` and from `1e+16` on. Overflow becomes `Infinity`.
pub(super) fn repr(text: &str) -> String {
    let Ok(value) = text.parse::<f64>() else {
        return text.to_owned();
    };
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}Infinity");
    }
    // Rust finds as few digits as Python, but of two equally near candidates it takes the larger, Python the even one.
    // With an explicit precision, Rust takes the even one too.
    let shortest = format!("{:e}", value.abs());
    let digits = shortest.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
    let scientific = format!("{:.*e}", digits.saturating_sub(1), value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match exponent {
        0..16 => {
            let digits = mantissa.replace('.', "");
            let whole = usize::try_from(exponent).unwrap_or(0) + 1;
            match digits.split_at_checked(whole) {
                Some((whole, "")) => format!("{sign}{whole}.0"),
                Some((whole, fraction)) => format!("{sign}{whole}.{fraction}"),
                None => format!("{sign}{digits:0<whole$}.0"),
            }
        }
        -4..0 => {
            let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
            format!("{sign}0.{zeros}{}", mantissa.replace('.', ""))
        }
        _ => {
            let direction = if exponent < 0 { '-' } else { '+' };
            format!("{sign}{mantissa}e{direction}{:02}", exponent.unsigned_abs())
        }
    }
}
