//! The control message (`cmsghdr` in the kernel's layout) that gives the length of the datagrams into which the kernel cuts a message.

use libc::c_int;

const ALIGNMENT: usize = size_of::<usize>();
const LEVEL: usize = size_of::<usize>();
const KIND: usize = LEVEL + size_of::<c_int>();
const HEADER_BYTES: usize = KIND + size_of::<c_int>();

/// Size in bytes of the control message.
pub(super) const CUT_BYTES: usize = (HEADER_BYTES + size_of::<u16>()).next_multiple_of(ALIGNMENT);

/// Returns the control message that has a message cut into datagrams of this length.
pub(super) fn cut_into(segment_bytes: u16) -> [u8; CUT_BYTES] {
    let mut layout = [0; CUT_BYTES];
    layout[..LEVEL].copy_from_slice(&(HEADER_BYTES + size_of::<u16>()).to_ne_bytes());
    layout[LEVEL..KIND].copy_from_slice(&libc::SOL_UDP.to_ne_bytes());
    layout[KIND..HEADER_BYTES].copy_from_slice(&libc::UDP_SEGMENT.to_ne_bytes());
    layout[HEADER_BYTES..HEADER_BYTES + 2].copy_from_slice(&segment_bytes.to_ne_bytes());
    layout
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wish_has_the_layout_of_an_option() {
        let bytes = HEADER_BYTES + size_of::<u16>();
        let (level, kind) = (libc::SOL_UDP.to_ne_bytes(), libc::UDP_SEGMENT.to_ne_bytes());
        let mut layout = [&bytes.to_ne_bytes()[..], &level, &kind, &1400u16.to_ne_bytes()].concat();
        layout.resize(bytes.next_multiple_of(ALIGNMENT), 0);
        assert_eq!(cut_into(1400).as_slice(), layout);
    }
}
