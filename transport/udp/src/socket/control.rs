//! The options that travel beside a message, in the layout of the kernel's `cmsghdr`: into datagrams of which length to cut what
//! is sent, and of which length those were that it joined.

use libc::c_int;

const ALIGNMENT: usize = size_of::<usize>();
const LEVEL: usize = size_of::<usize>();
const KIND: usize = LEVEL + size_of::<c_int>();
const HEADER_BYTES: usize = KIND + size_of::<c_int>();

/// Bytes of the wish to cut a message.
pub(super) const CUT_BYTES: usize = (HEADER_BYTES + size_of::<u16>()).next_multiple_of(ALIGNMENT);

/// Bytes for what comes beside a received message: the length of its datagrams, and a time stamp if an adopted socket asks for
/// it.
pub(super) const BESIDE_BYTES: usize = 64;

/// The wish to have a message cut into datagrams of this length.
pub(super) fn cut_into(segment_bytes: u16) -> [u8; CUT_BYTES] {
    let mut layout = [0; CUT_BYTES];
    layout[..LEVEL].copy_from_slice(&(HEADER_BYTES + size_of::<u16>()).to_ne_bytes());
    layout[LEVEL..KIND].copy_from_slice(&libc::SOL_UDP.to_ne_bytes());
    layout[KIND..HEADER_BYTES].copy_from_slice(&libc::UDP_SEGMENT.to_ne_bytes());
    layout[HEADER_BYTES..HEADER_BYTES + 2].copy_from_slice(&segment_bytes.to_ne_bytes());
    layout
}

/// The length of the datagrams of which a message was joined, if what came beside it says that it was.
pub(super) fn joined_from(mut beside: &[u8]) -> Option<usize> {
    loop {
        let (&bytes, _) = beside.split_first_chunk()?;
        let bytes = usize::from_ne_bytes(bytes);
        let option = beside.get(..bytes)?;
        let value = option.get(HEADER_BYTES..)?;
        if number(&option[LEVEL..])? == libc::SOL_UDP && number(&option[KIND..])? == libc::UDP_GRO {
            return number(value).and_then(|bytes| usize::try_from(bytes).ok()).filter(|&bytes| bytes > 0);
        }
        beside = beside.get(bytes.next_multiple_of(ALIGNMENT)..)?;
    }
}

fn number(bytes: &[u8]) -> Option<c_int> {
    bytes.first_chunk().map(|&bytes| c_int::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(level: c_int, kind: c_int, value: &[u8]) -> Vec<u8> {
        let bytes = HEADER_BYTES + value.len();
        let mut layout = [&bytes.to_ne_bytes()[..], &level.to_ne_bytes(), &kind.to_ne_bytes(), value].concat();
        layout.resize(bytes.next_multiple_of(ALIGNMENT), 0);
        layout
    }

    #[test]
    fn the_wish_has_the_layout_of_an_option() {
        assert_eq!(cut_into(1400).as_slice(), option(libc::SOL_UDP, libc::UDP_SEGMENT, &1400u16.to_ne_bytes()));
    }

    #[test]
    fn the_length_is_found_behind_other_options() {
        let length = option(libc::SOL_UDP, libc::UDP_GRO, &1400i32.to_ne_bytes());
        let other = option(libc::SOL_SOCKET, libc::UDP_GRO, &[7; 13]);
        assert_eq!(joined_from(&length), Some(1400));
        assert_eq!(joined_from(&[other.clone(), length].concat()), Some(1400));
        assert_eq!(joined_from(&other), None);
    }

    #[test]
    fn nonsense_is_no_length() {
        let length = option(libc::SOL_UDP, libc::UDP_GRO, &1400i32.to_ne_bytes());
        for bytes in 0..HEADER_BYTES + 4 {
            assert_eq!(joined_from(&length[..bytes]), None, "{bytes} bytes of an option");
        }
        for length in [0i32, -1] {
            assert_eq!(joined_from(&option(libc::SOL_UDP, libc::UDP_GRO, &length.to_ne_bytes())), None);
        }
        for bytes in [0, 1, HEADER_BYTES - 1, usize::MAX] {
            assert_eq!(joined_from(&[&bytes.to_ne_bytes()[..], &[0; 40]].concat()), None);
        }
    }
}
