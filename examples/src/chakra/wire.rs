//! A reader of the protobuf encoding: the consecutive fields of a message, each with its position.

use std::fmt;

/// An error, and its byte position in the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) at: u64,
    pub(crate) what: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at, self.what)
    }
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'m> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    /// Text, a message, or packed numbers.
    Bytes(&'m [u8]),
}

/// The fields of a message.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'m> {
    bytes: &'m [u8],
    /// Position of `bytes` in the file.
    at: u64,
}

impl<'m> Fields<'m> {
    /// Creates a reader of a message that begins at position `at` of its file.
    pub(crate) fn new(bytes: &'m [u8], at: u64) -> Self {
        Self { bytes, at }
    }

    /// Returns the position of the next field.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Returns the number and value of the next field; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, Value<'m>)>, Wrong> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.array()?)),
            other => return Err(self.wrong(format!("field {} has the wire type {other}, which is none", key >> 3))),
        };
        Ok(Some((key >> 3, value)))
    }

    /// Reads a number encoded with seven bits per byte.
    pub(crate) fn varint(&mut self) -> Result<u64, Wrong> {
        let mut number = 0;
        for (place, &byte) in self.bytes.iter().take(10).enumerate() {
            // The tenth byte holds only the most significant bit.
            if place == 9 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7F) << (7 * place);
            if byte & 0x80 == 0 {
                self.take(place as u64 + 1)?;
                return Ok(number);
            }
        }
        Err(self.wrong(if self.bytes.len() < 10 { "it ends within a number" } else { "a number has more than 64 bits" }.into()))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.bytes.is_empty()
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Wrong> {
        Ok(self.take(N as u64)?.try_into().expect("as many"))
    }

    fn take(&mut self, count: u64) -> Result<&'m [u8], Wrong> {
        let left = self.bytes.len() as u64;
        if count > left {
            return Err(self.wrong(format!("a field of {count} bytes is longer than its message, of which {left} are left")));
        }
        let (taken, rest) = self.bytes.split_at(count as usize);
        (self.bytes, self.at) = (rest, self.at + count);
        Ok(taken)
    }

    pub(crate) fn wrong(&self, what: String) -> Wrong {
        Wrong { at: self.at, what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_type_are_read() {
        let bytes = [0x08, 0xAC, 0x02, 0x12, 2, b'h', b'i', 0x1D, 1, 0, 0, 0, 0x21, 2, 0, 0, 0, 0, 0, 0, 0];
        let mut fields = Fields::new(&bytes, 100);
        assert_eq!(fields.next(), Ok(Some((1, Value::Varint(300)))));
        assert_eq!(fields.next(), Ok(Some((2, Value::Bytes(b"hi")))));
        assert_eq!(fields.at(), 107);
        assert_eq!(fields.next(), Ok(Some((3, Value::Fixed32(1)))));
        assert_eq!(fields.next(), Ok(Some((4, Value::Fixed64(2)))));
        assert_eq!(fields.next(), Ok(None));
        let mut most = [0xFF; 10];
        most[9] = 1;
        assert_eq!(Fields::new(&most, 0).varint(), Ok(u64::MAX));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (bytes, what) in [
            (&[0x08][..], "byte 101: it ends within a number"),
            (&[0x08, 0x80, 0x80], "byte 101: it ends within a number"),
            (&[0xFF; 12], "byte 100: a number has more than 64 bits"),
            (&[0x12, 5, 1, 2], "byte 102: a field of 5 bytes is longer than its message, of which 2 are left"),
            (&[0x21, 1, 2, 3, 4], "byte 101: a field of 8 bytes is longer than its message, of which 4 are left"),
            (&[0x0B], "byte 101: field 1 has the wire type 3, which is none"),
        ] {
            assert_eq!(Fields::new(bytes, 100).next().unwrap_err().to_string(), what, "{bytes:?}");
        }
    }
}
