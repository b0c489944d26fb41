//! Everything observable, declared once; counters, traces and tests read it.
//!
//! One enumeration for all crates, on purpose: [`Counters`] is an array indexed by it, so counting an event costs one addition and no
//! allocation, and a wrapper that counts a transport's operations adds what the transport counted itself (datagrams, lost peers) in the same
//! array. An enumeration for each crate would make the counters of a transport generic, or give each reader a list of counters to look
//! through; no crate would know less, as an event names what happened and nothing of the crate in which it happened.

macro_rules! events {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// Something that happened.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Event {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Event {
            /// Every event, in order of declaration.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The name under which reports list it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

events! {
    /// A transport accepted an operation that moves bytes towards another rank.
    PutPosted = "puts_posted",
    /// A transport accepted an operation that fetches bytes.
    GetPosted = "gets_posted",
    /// A transport accepted a copy between two ranks.
    CopyPosted = "copies_posted",
    /// A transport accepted an atomic.
    AtomicPosted = "atomics_posted",
    /// A network accepted a two-sided message.
    MessagePosted = "messages_posted",
    /// A rank took a two-sided message in.
    MessageTaken = "messages_taken",
    /// A transport refused an operation or a message for lack of room.
    PostRefused = "posts_refused",
    /// A transport completed an operation or a message.
    Completed = "completed",
    /// A transport completed an operation or a message with a failure.
    Failed = "failed",
    /// An operation was issued that loads and stores did not do.
    OperationIssued = "operations",
    /// A byte of such an operation.
    ByteIssued = "bytes",
    /// An operation was put back until another completed.
    Deferred = "deferred",
    /// A wait gave up the core.
    Parked = "parked",
    /// A datagram left.
    DatagramSent = "datagrams_sent",
    /// A datagram that may have been lost left again.
    DatagramRepeated = "datagrams_repeated",
    /// A datagram came and was in order.
    DatagramReceived = "datagrams_received",
    /// A datagram came that had been executed already: repeated by its sender, the network or a stranger.
    DatagramDuplicate = "datagrams_duplicate",
    /// A datagram came before what it waits for, and was left to be sent again.
    DatagramEarly = "datagrams_early",
    /// A datagram came that nobody with the job's key made for this rank, or that was altered.
    DatagramForged = "datagrams_forged",
    /// A datagram came that names no rank of the job, a rank that is lost, or an earlier process of a rank.
    DatagramForeign = "datagrams_foreign",
    /// A datagram of the job came that makes no sense.
    DatagramMalformed = "datagrams_malformed",
    /// What was kept for a peer was dropped because nothing had passed for a while.
    PeerIdle = "peers_idle",
    /// A peer stopped answering, or was said to be gone.
    PeerLost = "peers_lost",
    /// A peer that is alive has been silent for so long that operations on it ended.
    PeerUnreachable = "peers_unreachable",
}

/// How often each event happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters([u64; Event::ALL.len()]);

impl Default for Counters {
    fn default() -> Self {
        Self([0; Event::ALL.len()])
    }
}

impl Counters {
    /// Counts one more `event`.
    pub fn count(&mut self, event: Event) {
        self.0[event as usize] += 1;
    }

    /// Counts `times` more of `event`.
    pub fn add(&mut self, event: Event, times: u64) {
        self.0[event as usize] += times;
    }

    /// Adds all that `other` counts.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, times)| *sum += times);
    }

    /// Every event that happened, by name, and how often it did.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Event::ALL.iter().map(|&event| (event.name(), self.of(event))).filter(|&(_, times)| times > 0)
    }

    /// How often `event` happened.
    pub fn of(&self, event: Event) -> u64 {
        self.0[event as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_has_its_own_counter_and_name() {
        let mut counters = Counters::default();
        for (times, &event) in Event::ALL.iter().enumerate() {
            (0..times).for_each(|_| counters.count(event));
        }
        for (times, &event) in Event::ALL.iter().enumerate() {
            assert_eq!(counters.of(event), times as u64);
            assert_eq!(Event::ALL.iter().filter(|other| other.name() == event.name()).count(), 1);
        }
    }
}
