//! What a mailbox or a limit is to be like.

use pelago_base::Rank;
use pelago_rma::{Error, Result};

use crate::flag::MESSAGE_BYTES_MAX;

/// The most messages that a mailbox or a limit lets through at once.
pub const SLOTS_MAX: u32 = 1 << 16;

/// The most places for senders that wait: as many as a job can have ranks.
pub const WAITERS_MAX: u32 = 1 << 20;

/// The most shares that counters are split into.
pub const SHARES_MAX: usize = 256;

/// Where the counters lie that admit messages to a receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// At the receiver.
    #[default]
    Receiver,
    /// At another rank, so that the receiver's network interface is spared everything but the messages (paper A, figure 5).
    Proxy(Rank),
    /// In equal shares at several ranks (paper A, figure 6). A sender uses the share of the proxy whose number is nearest to its own; ranks
    /// are numbered along switches and boxes of a network, so that this one is near.
    Split {
        /// Who holds a share; in ascending order, as many as a power of two.
        proxies: Vec<Rank>,
        /// Whether a sender whose share is used up takes a slot of another that is not. Otherwise credits stay unused where some
        /// shares have more senders than others.
        borrow: bool,
    },
}

impl Placement {
    /// Shares at `count` ranks spread evenly over a job of `size`: each amid the ranks that use it.
    pub fn evenly(count: u32, size: u32, borrow: bool) -> Self {
        let middle = |share: u32| (u64::from(2 * share + 1) * u64::from(size) / u64::from(2 * count.max(1))) as u32;
        Self::Split { proxies: (0..count).map(|share| Rank::new(middle(share))).collect(), borrow }
    }

    /// Who holds the counters of each share.
    pub(crate) fn holders(&self, receiver: Rank) -> Vec<Rank> {
        match self {
            Self::Receiver => vec![receiver],
            Self::Proxy(rank) => vec![*rank],
            Self::Split { proxies, .. } => proxies.clone(),
        }
    }
}

/// How a sender learns whether its ticket is granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// Both counters in one word: the atomic that takes a ticket tells at the same time what is granted. One round trip.
    #[default]
    OneWord,
    /// `SendCNT` and `RecvCNT` apart, as in the paper: `RecvCNT` is read first, then a ticket is taken. Two round trips.
    TwoWords,
}

/// How a sender waits until its ticket is granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// The receiver tells who waits for a slot, when it frees that slot. Who is further back looks now and then.
    #[default]
    Notified,
    /// Looks at the counters, the more seldom the further back it is.
    BackingOff,
    /// Looks at the counters again and again, as in the paper.
    Polling,
}

/// What a [`Mailbox`](crate::Mailbox) or a [`Limit`](crate::Limit) is to be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many messages have room; a power of two, and at least one for each share of the counters.
    pub slots: u32,
    /// The longest message in bytes; 0 for a limit, whose messages go another way.
    pub message_bytes: usize,
    /// Where the counters lie.
    pub placement: Placement,
    /// How a sender learns whether its ticket is granted.
    pub counting: Counting,
    /// How a sender waits.
    pub waiting: Waiting,
    /// Places in the receiver's memory, 8 bytes each, for senders that wait to be notified; a power of two. Slots have one each in any case,
    /// so that 0 is as good as `slots`. Who waits further back than there are places looks at the counters now and then; with a place for each sender
    /// nobody does.
    pub waiters: u32,
}

impl Settings {
    /// `slots` messages of up to `message_bytes` bytes; the counters at the receiver.
    pub fn new(slots: u32, message_bytes: usize) -> Self {
        let (placement, counting, waiting) = (Placement::default(), Counting::default(), Waiting::default());
        Self { slots, message_bytes, placement, counting, waiting, waiters: 0 }
    }

    /// `count` permits of a limit; the counters at the receiver.
    pub fn permits(count: u32) -> Self {
        Self::new(count, 0)
    }

    /// As the paper has it: two counters, and senders that look again and again.
    pub fn plain(slots: u32, message_bytes: usize) -> Self {
        Self { counting: Counting::TwoWords, waiting: Waiting::Polling, ..Self::new(slots, message_bytes) }
    }

    /// The same with places for so many senders that wait.
    #[must_use]
    pub fn with_waiters(self, waiters: u32) -> Self {
        Self { waiters, ..self }
    }

    /// The same with the counters elsewhere.
    #[must_use]
    pub fn placed(self, placement: Placement) -> Self {
        Self { placement, ..self }
    }

    pub(crate) fn check(&self, size: u32) -> Result<()> {
        let shares = match &self.placement {
            Placement::Receiver => 1,
            Placement::Proxy(rank) => {
                check(rank.number() < size, "the proxy is no rank of the job")?;
                1
            }
            Placement::Split { proxies, .. } => {
                check(proxies.iter().all(|rank| rank.number() < size), "a proxy is no rank of the job")?;
                check(proxies.is_sorted_by(|one, next| one < next), "proxies are to be different and in ascending order")?;
                check(
                    proxies.len().is_power_of_two() && proxies.len() <= SHARES_MAX,
                    "proxies are as many as a power of two up to 256",
                )?;
                proxies.len() as u32
            }
        };
        check(self.slots.is_power_of_two() && self.slots <= SLOTS_MAX, "slots are a power of two up to 65,536")?;
        check(
            self.waiters == 0 || self.waiters.is_power_of_two() && self.waiters <= WAITERS_MAX,
            "places of those who wait are a power of two up to 1,048,576",
        )?;
        check(self.slots >= shares, "each share of the counters needs a slot")
    }

    pub(crate) fn check_message_bytes(&self) -> Result<()> {
        check((1..=MESSAGE_BYTES_MAX).contains(&self.message_bytes), "messages have from 1 to 16,777,214 bytes")
    }
}

pub(crate) fn check(good: bool, why: &'static str) -> Result<()> {
    if good { Ok(()) } else { Err(Error::Invalid(why)) }
}
