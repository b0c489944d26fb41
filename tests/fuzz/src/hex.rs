//! Datagrams as text, for messages and for the command line.

use std::fmt::Write;

/// Formats bytes as two digits each, with commas between datagrams.
pub fn hex(datagrams: &[Vec<u8>]) -> String {
    let mut text = String::new();
    for (index, datagram) in datagrams.iter().enumerate() {
        text += if index == 0 { "" } else { "," };
        datagram.iter().for_each(|byte| write!(text, "{byte:02x}").expect("a string takes any text"));
    }
    text
}

/// Parses datagrams from such a text.
///
/// # Errors
/// The text is not valid.
pub fn parse_hex(text: &str) -> Result<Vec<Vec<u8>>, String> {
    let byte = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() == 2 && !digits.starts_with('+'));
        digits.and_then(|digits| u8::from_str_radix(digits, 16).ok())
    };
    let datagram = |digits: &str| digits.as_bytes().chunks(2).map(byte).collect();
    let datagrams: Option<Vec<Vec<u8>>> = text.split(',').map(datagram).collect();
    datagrams.ok_or_else(|| "bytes are two hexadecimal digits each, datagrams have commas between them".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_as_text() {
        let datagrams = vec![vec![0, 1, 255], vec![], vec![16]];
        assert_eq!(parse_hex(&hex(&datagrams)), Ok(datagrams));
        for wrong in ["0", "0g", "+1", "00,1", "é"] {
            assert!(parse_hex(wrong).is_err(), "{wrong}");
        }
    }
}
