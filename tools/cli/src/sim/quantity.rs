//! Parses values of a machine description as users write them: numbers with or without a unit, and words.

use pelago_netsim::Quantity;
use toml::Value;

/// Units of time, in nanoseconds.
const TIMES: [(&str, f64); 6] = [("ps", 1e-3), ("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// Units of rates, in 10⁹ bytes per second.
const RATES: [(&str, f64); 13] = [
    ("b/s", 1e-9 / 8.0),
    ("kb/s", 1e-6 / 8.0),
    ("Mb/s", 1e-3 / 8.0),
    ("Gb/s", 1.0 / 8.0),
    ("Tb/s", 1e3 / 8.0),
    ("B/s", 1e-9),
    ("kB/s", 1e-6),
    ("MB/s", 1e-3),
    ("GB/s", 1.0),
    ("TB/s", 1e3),
    ("KiB/s", 1024e-9),
    ("MiB/s", 1048576e-9),
    ("GiB/s", 1073741824e-9),
];

/// Units of sizes, in bytes; the short ones are those of `--heap`.
const SIZES: [(&str, f64); 10] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1048576.0),
    ("GiB", 1073741824.0),
    ("K", 1024.0),
    ("M", 1048576.0),
    ("G", 1073741824.0),
];

/// Parses a value and converts it to the unit of the description.
///
/// # Errors
/// The text is not such a value; the message describes valid ones.
pub(crate) fn value(quantity: Quantity, text: &str) -> Result<Value, String> {
    match quantity {
        Quantity::Nanoseconds => measure(text, &TIMES, "a time, in nanoseconds").map(Value::Float),
        Quantity::GigabytesPerSecond => {
            measure(text, &RATES, "a rate, in 10⁹ bytes per second, inf for no limit").map(Value::Float)
        }
        Quantity::Bytes(max) => {
            let bytes = measure(text, &SIZES, "a size, in bytes")?;
            whole(bytes, max).ok_or_else(|| format!("it is a whole number of bytes, from 0 to {max}"))
        }
        Quantity::Count(max) => {
            let count = text.parse().ok().and_then(|count| whole(count, max));
            count.ok_or_else(|| format!("it is a whole number, from 0 to {max}"))
        }
        Quantity::Number => {
            let number = text.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0);
            number.map(Value::Float).ok_or_else(|| "it is a number that is not negative".into())
        }
        Quantity::Probability => {
            let probability = text.parse().ok().filter(|value| (0.0..1.0).contains(value));
            probability.map(Value::Float).ok_or_else(|| "it is a probability, from 0 to less than 1".into())
        }
        Quantity::Word(words) => {
            let word = unquoted(text);
            let known = words.contains(&word).then(|| Value::String(word.into()));
            known.ok_or_else(|| format!("it is one of {}", words.join(", ")))
        }
        Quantity::Text => Ok(Value::String(unquoted(text).into())),
        Quantity::List(of) => match as_toml(text) {
            Some(list @ Value::Array(_)) => Ok(list),
            _ => Err(format!("it is a list in TOML, in brackets, of {of}")),
        },
    }
}

/// Parses a text as a TOML value.
pub(crate) fn as_toml(text: &str) -> Option<Value> {
    format!("value = {text}").parse::<toml::Table>().ok()?.remove("value")
}

/// Parses a number with or without one of these units.
fn measure(text: &str, units: &[(&str, f64)], what: &str) -> Result<f64, String> {
    let names = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let wrong = || format!("it is {what}, or with one of {}", names());
    // Parsed before a unit is split off: `inf` consists of letters only.
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let number = text.trim_end_matches(|letter: char| letter.is_alphabetic() || letter == '/');
    let unit = &text[number.len()..];
    let Ok(number) = number.trim_end().parse::<f64>() else { return Err(wrong()) };
    match units.iter().find(|(name, _)| *name == unit) {
        Some((_, factor)) => Ok(decimal(number * factor)),
        None => Err(match dimension(unit) {
            Some(other) => format!("{unit} is a unit of {other}; {}", wrong()),
            None => format!("there is no unit {unit}; {}", wrong()),
        }),
    }
}

/// Returns the nearest number of 15 decimal digits, as many as each double represents: 16.1 × 1000 has a fraction, 16.1 kB has none.
fn decimal(number: f64) -> f64 {
    format!("{number:.14e}").parse().unwrap_or(number)
}

/// Returns the dimension that a unit measures.
fn dimension(unit: &str) -> Option<&'static str> {
    let has = |units: &[(&str, f64)]| units.iter().any(|(name, _)| *name == unit);
    [("times", &TIMES[..]), ("rates", &RATES[..]), ("sizes", &SIZES[..])]
        .into_iter()
        .find(|(_, units)| has(units))
        .map(|(of, _)| of)
}

/// Returns an integer from 0 to `max`.
fn whole(number: f64, max: u64) -> Option<Value> {
    let is_whole = number.fract() == 0.0 && number >= 0.0 && number <= max as f64;
    is_whole.then_some(Value::Integer(number as i64))
}

fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(quantity: Quantity, text: &str) -> Result<f64, String> {
        value(quantity, text).map(|value| value.as_float().or(value.as_integer().map(|value| value as f64)).unwrap())
    }

    #[test]
    fn units_are_converted_into_that_of_the_description() {
        use Quantity::{Bytes, Count, GigabytesPerSecond, Nanoseconds, Probability};
        for (quantity, text, expected) in [
            (Nanoseconds, "5", 5.0),
            (Nanoseconds, "1e3", 1000.0),
            (Nanoseconds, "250ps", 0.25),
            (Nanoseconds, "1.2us", 1200.0),
            (Nanoseconds, "1.2 µs", 1200.0),
            (Nanoseconds, "1e-3ms", 1000.0),
            (Nanoseconds, "2s", 2e9),
            (GigabytesPerSecond, "100Gb/s", 12.5),
            (GigabytesPerSecond, "12.5GB/s", 12.5),
            (GigabytesPerSecond, "800Mb/s", 0.1),
            (GigabytesPerSecond, "1GiB/s", 1.073741824),
            (GigabytesPerSecond, "inf", f64::INFINITY),
            (Bytes(1 << 20), "64KiB", 65536.0),
            (Bytes(1 << 20), "64K", 65536.0),
            (Bytes(1 << 20), "64kB", 64000.0),
            (Bytes(1 << 20), "0.5MiB", 524288.0),
            (Bytes(1 << 20), "12", 12.0),
            (Bytes(1 << 20), "16.1kB", 16100.0),
            (Bytes(1 << 20), "2.01 kB", 2010.0),
            (Bytes(1 << 40), "1023.75GiB", 1023.75 * 1073741824.0),
            (Count(255), "255", 255.0),
            (Probability, "0.25", 0.25),
        ] {
            let found = number(quantity, text).unwrap();
            assert!(found == expected || (found / expected - 1.0).abs() < 1e-12, "{text}: {found}, {expected}");
        }
    }

    /// As tables show them, and compare them with values without a unit.
    #[test]
    fn decimal_units_add_no_digits() {
        for (text, expected) in [("2.01us", 2010.0), ("1.001ms", 1_001_000.0), ("4.03us", 4030.0), ("0.1ps", 1e-4)] {
            assert_eq!(number(Quantity::Nanoseconds, text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_says_what_would_be_right() {
        use Quantity::{Bytes, Count, GigabytesPerSecond, List, Nanoseconds, Probability, Text, Word};
        for (quantity, text, says) in [
            (Nanoseconds, "fast", "a time, in nanoseconds, or with one of ps, ns, us, µs, ms, s"),
            (Nanoseconds, "5GB/s", "GB/s is a unit of rates; it is a time"),
            (Nanoseconds, "5 parsecs", "there is no unit parsecs"),
            (Nanoseconds, "", "a time"),
            (GigabytesPerSecond, "5us", "us is a unit of times; it is a rate"),
            (GigabytesPerSecond, "5GB", "GB is a unit of sizes; it is a rate"),
            (Bytes(100), "1.5", "a whole number of bytes, from 0 to 100"),
            (Bytes(100), "1K", "from 0 to 100"),
            (Bytes(100), "-1", "from 0 to 100"),
            (Bytes(100), "nan", "from 0 to 100"),
            (Count(255), "256", "a whole number, from 0 to 255"),
            (Count(255), "4K", "a whole number"),
            (Probability, "1", "a probability"),
            (Word(&["one", "many"]), "few", "one of one, many"),
            (List("numbers"), "3", "a list in TOML, in brackets, of numbers"),
            (List("numbers"), "[3", "a list in TOML"),
        ] {
            let said = value(quantity, text).unwrap_err();
            assert!(said.contains(says), "{text}: {said}");
        }
        assert_eq!(value(Text, "my own").unwrap(), Value::String("my own".into()));
        assert_eq!(value(Word(&["one"]), "\"one\"").unwrap(), Value::String("one".into()));
    }
}
