//! Settings of a mailbox or a limit.

use pelago_base::Rank;
use pelago_rma::{Error, Result};

use crate::limits::{RELAY_RANKS_MAX, SHARES_MAX, SLOTS_MAX, WAITERS_MAX};
use crate::slot_flag::MESSAGE_BYTES_MAX;

/// The place of the counters that admit messages to a receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// Chosen by the number of ranks, the slots and the [topology](pelago_base::Topology) of the job: at the receiver, or at servers by topology.
    /// [`Mailbox::explain`](crate::Mailbox::explain) returns the choice and the reasons.
    #[default]
    Automatic,
    /// At the receiver.
    Receiver,
    /// At another rank, so that the receiver's network interface handles messages only (paper A, figure 5).
    Proxy(Rank),
    /// In equal shares at several ranks (paper A, figure 6). A sender uses the share of the proxy whose rank number is closest to its own. Ranks are
    /// numbered along switches and boxes of a network, so that this proxy is few hops away.
    Split {
        /// The holder of each share; up to 256 ranks, in ascending order.
        proxies: Vec<Rank>,
        /// Whether a sender whose share has no free slot takes a slot of another share. Otherwise credits stay unused where some
        /// shares have more senders than others.
        borrow: bool,
    },
    /// In shares at servers, one per group of ranks: a host, a switch of one level, or one of several equal boxes or runs of routers of a grid (paper A,
    /// section 4.4), according to the [topology](pelago_base::Topology) of the job. A sender uses the server of its group; the slots of a server are in
    /// proportion to its senders.
    Topology {
        /// Maximum number of servers; there are no more than slots, no more than groups, and no more than 256.
        servers: u32,
        /// As in `Split`.
        borrow: bool,
    },
}

impl Placement {
    /// Shares at `count` ranks that are spread evenly over a job of `size` ranks: each in the middle of the ranks that use it.
    pub fn evenly(count: u32, size: u32, borrow: bool) -> Self {
        let middle = |share: u32| (u64::from(2 * share + 1) * u64::from(size) / u64::from(2 * count.max(1))) as u32;
        Self::Split { proxies: (0..count).map(|share| Rank::new(middle(share))).collect(), borrow }
    }

    /// Whether a sender whose share has no free slot takes a slot of another share.
    pub(crate) fn borrows(&self) -> bool {
        matches!(self, Self::Split { borrow: true, .. } | Self::Topology { borrow: true, .. })
    }
}

/// The way in which a sender learns whether its ticket is granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// Both counters in one word: the atomic that takes a ticket also returns the granted tickets. One round trip.
    #[default]
    OneWord,
    /// `SendCNT` and `RecvCNT` in separate words, as in the paper: a sender reads `RecvCNT`, then takes a ticket. Two round trips.
    TwoWords,
}

/// The way in which a sender waits until its ticket is granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// When the receiver frees a slot, it notifies the sender that waits for that slot. Senders further back poll the counters at intervals.
    #[default]
    Notified,
    /// The sender polls the counters, at longer intervals the further back it is.
    BackingOff,
    /// The sender polls the counters continually, as in the paper.
    Polling,
}

/// Settings of a [`Mailbox`](crate::Mailbox) or a [`Limit`](crate::Limit).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The number of slots; a power of two, and at least one for each share of the counters.
    pub slots: u32,
    /// Maximum length of a message in bytes; 0 for a limit, which holds no messages.
    pub message_bytes: usize,
    /// The place of the counters.
    pub placement: Placement,
    /// The way in which a sender learns whether its ticket is granted.
    pub counting: Counting,
    /// The way in which a sender waits.
    pub waiting: Waiting,
    /// Number of entries in the receiver's memory, 8 bytes each, for senders that wait to be notified; a power of two. There is at least one entry per
    /// slot, so that 0 means `slots`. Senders further back than the entries poll the counters at intervals; with an entry for each sender, no sender
    /// polls.
    pub waiters: u32,
    /// Number of consecutive ranks that share a relay, up to 256; 0 and 1 for no relays (paper A, section 4.4). A relay is one of these ranks: its memory
    /// collects their requests, and one requesting rank takes tickets for all by one atomic. The counters answer fewer atomics, but a ticket takes some
    /// more round trips, to the relay. If the relay is lost and the job goes on, its ranks take their tickets at the counters. Only the first sender of a
    /// rank uses the relay. Needs one receiver, counters in one word, and no borrowing.
    pub relay_ranks: u32,
}

impl Settings {
    /// `slots` messages of up to `message_bytes` bytes; the counters are placed automatically.
    pub fn new(slots: u32, message_bytes: usize) -> Self {
        let (placement, counting, waiting) = (Placement::default(), Counting::default(), Waiting::default());
        Self { slots, message_bytes, placement, counting, waiting, waiters: 0, relay_ranks: 0 }
    }

    /// `count` permits of a limit; the counters are placed automatically.
    pub fn permits(count: u32) -> Self {
        Self::new(count, 0)
    }

    /// The method of the paper: two counters at the receiver, and senders that poll.
    pub fn plain(slots: u32, message_bytes: usize) -> Self {
        Self { counting: Counting::TwoWords, waiting: Waiting::Polling, ..Self::new(slots, message_bytes) }
    }

    /// The same with entries for `waiters` waiting senders.
    #[must_use]
    pub fn with_waiters(self, waiters: u32) -> Self {
        Self { waiters, ..self }
    }

    /// The same with a relay for each `relay_ranks` ranks.
    #[must_use]
    pub fn relayed(self, relay_ranks: u32) -> Self {
        Self { relay_ranks, ..self }
    }

    /// The same with another place of the counters.
    #[must_use]
    pub fn placed(self, placement: Placement) -> Self {
        Self { placement, ..self }
    }

    pub(crate) fn check(&self, size: u32) -> Result<()> {
        let shares = match &self.placement {
            Placement::Receiver | Placement::Automatic => 1,
            Placement::Proxy(rank) => {
                check(rank.number() < size, "the proxy must be a rank of the job")?;
                1
            }
            Placement::Split { proxies, .. } => {
                check(proxies.iter().all(|rank| rank.number() < size), "all proxies must be ranks of the job")?;
                check(proxies.is_sorted_by(|one, next| one < next), "proxies are to be different and in ascending order")?;
                check((1..=SHARES_MAX).contains(&proxies.len()), "proxies are from 1 to 256 ranks")?;
                let shares = proxies.len() as u32;
                check(
                    self.counting == Counting::OneWord || shares.is_power_of_two(),
                    "counters in two words need shares of a power of two of slots",
                )?;
                shares
            }
            Placement::Topology { .. } => {
                check(self.counting == Counting::OneWord, "counters in two words need shares of a power of two of slots")?;
                1
            }
        };
        check(self.slots.is_power_of_two() && self.slots <= SLOTS_MAX, "slots are a power of two up to 65,536")?;
        check(
            self.waiters == 0 || self.waiters.is_power_of_two() && self.waiters <= WAITERS_MAX,
            "the number of places for waiting senders is a power of two up to 1,048,576",
        )?;
        check(self.relay_ranks <= RELAY_RANKS_MAX, "a relay has up to 256 ranks")?;
        check(
            !self.has_relays() || self.counting == Counting::OneWord && !self.placement.borrows(),
            "relays need counters in one word, and no borrowing",
        )?;
        check(self.slots >= shares, "each share of the counters needs a slot")
    }

    /// Whether ranks share relays.
    pub(crate) fn has_relays(&self) -> bool {
        self.relay_ranks > 1
    }

    pub(crate) fn check_message_bytes(&self) -> Result<()> {
        check((1..=MESSAGE_BYTES_MAX).contains(&self.message_bytes), "messages have from 1 to 16,777,214 bytes")
    }
}

pub(crate) fn check(good: bool, why: &'static str) -> Result<()> {
    if good { Ok(()) } else { Err(Error::Invalid(why)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANKS: u32 = 1 << 10;

    fn holders(placement: Placement, slots: u32, receiver: Rank) -> Vec<Rank> {
        let topology = pelago_base::Topology::flat(RANKS);
        let servers = crate::servers::Servers::of(receiver, &Settings::permits(slots).placed(placement), &topology);
        (0..servers.count()).map(|number| servers.share(number).holder).collect()
    }

    fn split(proxies: impl IntoIterator<Item = u32>) -> Placement {
        Placement::Split { proxies: proxies.into_iter().map(Rank::new).collect(), borrow: false }
    }

    #[test]
    fn what_is_possible_has_bounds() {
        let good = |settings: Settings| settings.check(RANKS).is_ok();
        let slots = |slots| good(Settings::new(slots, 8));
        assert_eq!([0, 1, 2, 3, SLOTS_MAX, 2 * SLOTS_MAX].map(slots), [false, true, true, false, true, false]);
        let waiters = |waiters| good(Settings::new(1, 8).with_waiters(waiters));
        assert_eq!([0, 1, 2, 3, WAITERS_MAX, 2 * WAITERS_MAX].map(waiters), [true, true, true, false, true, false]);
        let bytes = |bytes| Settings::new(1, bytes).check_message_bytes().is_ok();
        assert_eq!([0, 1, MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX + 1].map(bytes), [false, true, true, false]);
    }

    #[test]
    fn what_is_not_said_is_as_it_is_first() {
        let first = Settings::new(4, 8);
        assert_eq!(Settings::permits(4), Settings { message_bytes: 0, ..first.clone() });
        let plain = Settings { counting: Counting::TwoWords, waiting: Waiting::Polling, ..first.clone() };
        assert_eq!(Settings::plain(4, 8), plain);
        let placed = plain.clone().placed(Placement::Proxy(Rank::new(1))).with_waiters(2);
        assert_eq!(placed, Settings { placement: Placement::Proxy(Rank::new(1)), waiters: 2, ..plain });
    }

    #[test]
    fn counters_lie_at_ranks_of_the_job() {
        let placed = |placement| Settings::new(SLOTS_MAX, 8).placed(placement).check(RANKS).is_ok();
        assert!(placed(Placement::Proxy(Rank::new(RANKS - 1))) && !placed(Placement::Proxy(Rank::new(RANKS))));
        assert!(placed(split([0, RANKS - 1])) && !placed(split([0, RANKS])));
        assert!(!placed(split([1, 0])) && !placed(split([1, 1])), "in ascending order, each once");
        assert!(placed(split([5])) && placed(split(0..SHARES_MAX as u32)));
        assert!(!placed(split([])) && placed(split(0..3)) && !placed(split(0..2 * SHARES_MAX as u32)));
        let two_words = |placement| {
            let settings = Settings { counting: Counting::TwoWords, ..Settings::new(SLOTS_MAX, 8).placed(placement) };
            settings.check(RANKS).is_ok()
        };
        assert!(
            two_words(split(0..4)) && !two_words(split(0..3)) && !two_words(Placement::Topology { servers: 4, borrow: false })
        );
        assert!(placed(Placement::Topology { servers: 3, borrow: true }) && placed(Placement::Automatic));
        let shared = |slots| Settings::new(slots, 8).placed(split(0..4)).check(RANKS).is_ok();
        assert!(shared(4) && !shared(2), "each share has a slot");
    }

    #[test]
    fn shares_lie_amid_the_ranks_that_use_them() {
        for (count, size, ranks) in [(1, 5, &[2][..]), (2, 5, &[1, 3]), (4, 5, &[0, 1, 3, 4]), (4, 64, &[8, 24, 40, 56])] {
            let evenly = Placement::evenly(count, size, false);
            assert_eq!(evenly, split(ranks.iter().copied()));
            assert_eq!(holders(evenly, 8, Rank::new(0)), ranks.iter().copied().map(Rank::new).collect::<Vec<_>>());
        }
        let (receiver, proxy) = (Rank::new(3), Rank::new(1));
        assert_eq!(holders(Placement::Receiver, 1, receiver), [receiver]);
        assert_eq!(holders(Placement::Proxy(proxy), 1, receiver), [proxy]);
    }
}
