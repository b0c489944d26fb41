//! The flag of a slot: one word with the sender, the length and the lap of the message in the slot.
//!
//! The sender writes it after the bytes. It differs from the flag of the lap before, so that no rank has to reset it.

use pelago_base::Rank;
use pelago_base::limits::RANKS_MAX;

use crate::credit::Ticket;

const LENGTH_BITS: u32 = 24;
const RANK_BITS: u32 = 20;
const LAP_BITS: u32 = u64::BITS - LENGTH_BITS - RANK_BITS;

/// The length field of a void slot.
const VOID: u64 = (1 << LENGTH_BITS) - 1;

/// Maximum size of a message in bytes.
pub(crate) const MESSAGE_BYTES_MAX: usize = VOID as usize - 1;

const _: () = assert!(RANKS_MAX as u64 <= 1 << RANK_BITS, "every rank has a number in a flag");

/// The content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A message, with its sender and its length.
    Message { from: Rank, bytes: usize },
    /// No message: the sender has returned its ticket unused.
    Void,
}

/// The flag of the slot of `ticket`.
pub(crate) fn flag(ticket: Ticket, slots: u32, content: Content) -> u64 {
    let (from, length) = match content {
        Content::Message { from, bytes } => (u64::from(from.number()), bytes as u64),
        Content::Void => (0, VOID),
    };
    lap(ticket, slots) << (LENGTH_BITS + RANK_BITS) | from << LENGTH_BITS | length
}

/// Decodes the flag of the slot of `ticket`; `None` if the flag is of an earlier lap.
pub(crate) fn content(flag: u64, ticket: Ticket, slots: u32) -> Option<Content> {
    if flag >> (LENGTH_BITS + RANK_BITS) != lap(ticket, slots) {
        return None;
    }
    Some(match flag & VOID {
        VOID => Content::Void,
        bytes => Content::Message { from: Rank::new((flag >> LENGTH_BITS) as u32 & (RANKS_MAX - 1)), bytes: bytes as usize },
    })
}

/// The lap field of a flag. It differs from that of fresh memory and from that of the previous lap.
fn lap(ticket: Ticket, slots: u32) -> u64 {
    u64::from(ticket.lap(slots).wrapping_add(1)) & ((1 << LAP_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_tells_what_it_was_made_of_and_only_on_its_lap() {
        let contents = [(0, 0), (7, 1), (RANKS_MAX - 1, MESSAGE_BYTES_MAX)]
            .map(|(rank, bytes)| Content::Message { from: Rank::new(rank), bytes });
        for slots in [1, 8, 1 << 16] {
            for number in [0, 1, slots, u32::MAX - slots, u32::MAX] {
                let ticket = Ticket::new(number);
                for made in contents.into_iter().chain([Content::Void]) {
                    let flag = flag(ticket, slots, made);
                    assert_eq!(content(flag, ticket, slots), Some(made));
                    assert_eq!(content(flag, ticket.after(slots), slots), None, "the next lap");
                    assert_eq!(content(0, ticket, slots).is_some(), lap(ticket, slots) == 0, "fresh memory");
                }
            }
        }
    }

    /// Rings of any size start again where ticket numbers wrap: the flag of a slot then differs from its flags on the last two laps.
    #[test]
    fn a_flag_is_another_where_numbers_wrap() {
        for slots in 1..=crate::limits::SLOTS_MAX {
            let last = u32::MAX;
            let before = [last, last.saturating_sub(slots)].map(|number| lap(Ticket::new(number), slots));
            assert!(!before.contains(&lap(Ticket::new(0), slots)), "{slots} slots");
        }
    }
}
