//! All observable events, declared once; counters, traces and tests read them.
//!
//! One enumeration serves all crates on purpose: [`Counters`] is an array indexed by it, so counting an event costs one addition and no
//! allocation, and a wrapper that counts a transport's operations adds the transport's own counts (datagrams, failed peers) in the same
//! array. One enumeration per crate would make the counters of a transport generic, or give each reader a list of counters to search. It would
//! not reduce coupling, as an event does not refer to the crate in which it occurs.

macro_rules! events {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// An observable event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Event {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Event {
            /// Every event, in order of declaration.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Returns the name of the event in reports.
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
    /// A rank received a two-sided message.
    MessageTaken = "messages_taken",
    /// A network accepted a contribution to a reduction.
    ContributionPosted = "contributions_posted",
    /// A transport refused an operation, a message or a contribution for lack of room.
    PostRefused = "posts_refused",
    /// A transport completed an operation, a message or a contribution.
    Completed = "completed",
    /// A transport completed an operation, a message or a contribution with a failure.
    Failed = "failed",
    /// An operation was issued that went through a transport instead of loads and stores.
    OperationIssued = "operations",
    /// A byte of an operation that went through a transport.
    ByteIssued = "bytes",
    /// An operation was deferred until another completed.
    Deferred = "deferred",
    /// A wait gave up the core.
    Parked = "parked",
    /// A datagram was sent.
    DatagramSent = "datagrams_sent",
    /// A datagram that may have been lost was retransmitted.
    DatagramRepeated = "datagrams_repeated",
    /// A datagram was received and accepted.
    DatagramReceived = "datagrams_received",
    /// A datagram was received that had been executed already: repeated by its sender, the network or a third party.
    DatagramDuplicate = "datagrams_duplicate",
    /// A datagram was received before datagrams that must take effect first, and dropped until its retransmission.
    DatagramEarly = "datagrams_early",
    /// A datagram was received that was not sealed with the job's key for this rank, or that was altered.
    DatagramForged = "datagrams_forged",
    /// A datagram was received whose sender is no rank of the job, a failed rank, or an earlier process of a rank.
    DatagramForeign = "datagrams_foreign",
    /// A datagram of the job was received that cannot be parsed.
    DatagramMalformed = "datagrams_malformed",
    /// The active state of a peer was dropped after a time without traffic.
    PeerIdle = "peers_idle",
    /// A peer stopped answering, or was reported as failed.
    PeerLost = "peers_lost",
    /// A peer that is alive has been silent for so long that operations on it ended.
    PeerUnreachable = "peers_unreachable",
}

/// Number of occurrences of each event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters([u64; Event::ALL.len()]);

impl Default for Counters {
    fn default() -> Self {
        Self([0; Event::ALL.len()])
    }
}

impl Counters {
    /// Counts one occurrence of `event`.
    pub fn count(&mut self, event: Event) {
        self.0[event as usize] += 1;
    }

    /// Counts `times` occurrences of `event`.
    pub fn add(&mut self, event: Event, times: u64) {
        self.0[event as usize] += times;
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, times)| *sum += times);
    }

    /// Returns the name and count of every event that occurred.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Event::ALL.iter().map(|&event| (event.name(), self.of(event))).filter(|&(_, times)| times > 0)
    }

    /// Returns the number of occurrences of `event`.
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
