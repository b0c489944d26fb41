//! Methods for many ranks to send to one.

use std::fmt;
use std::str::FromStr;

use pelago::Rank;
use pelago::messaging::{Counting, Placement, Waiting};

/// Method by which messages reach the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Sent eagerly, whether the receiver has room or not.
    Eager,
    /// Announced eagerly, then fetched by the receiver.
    Rendezvous,
    /// Sent eagerly, but no more messages at a time than the receiver has room for.
    Limit,
    /// Put into slots that the sender has acquired; the counters are at the receiver.
    Acquire,
    /// Acquired slots; the counters are at another rank.
    AcquireProxy,
    /// Acquired slots; the counters are split into shares at this number of ranks.
    AcquireSplit(u32),
    /// Like `AcquireSplit`, but a sender whose share is used up takes a slot from another share.
    AcquireBorrow(u32),
    /// Acquired slots; the counters are at this number of servers at most, placed by hosts, switches or boxes.
    AcquireTopology(u32),
    /// Counters at the receiver, and this number of ranks share a relay.
    AcquireRelay(u32),
    /// Acquired slots; the library chooses the placement of the counters.
    AcquireAuto,
}

impl Method {
    /// Whether senders acquire a slot of the receiver before they send, so that no message is lost.
    pub(super) fn acquires(self) -> bool {
        !matches!(self, Self::Eager | Self::Rendezvous | Self::Limit)
    }

    /// Returns the placement of the counters.
    pub(super) fn placement(self, size: u32) -> Placement {
        match self {
            Self::AcquireProxy => Placement::Proxy(Rank::new(size / 2)),
            Self::AcquireSplit(shares) => Placement::evenly(shares, size, false),
            Self::AcquireBorrow(shares) => Placement::evenly(shares, size, true),
            Self::AcquireTopology(servers) => Placement::Topology { servers, borrow: false },
            Self::AcquireAuto => Placement::Automatic,
            _ => Placement::Receiver,
        }
    }

    /// Returns the number of ranks that share a relay; 0 without relays.
    pub(super) fn relay_ranks(self) -> u32 {
        if let Self::AcquireRelay(ranks) = self { ranks } else { 0 }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Eager => f.write_str("eager"),
            Self::Rendezvous => f.write_str("rendezvous"),
            Self::Limit => f.write_str("limit"),
            Self::Acquire => f.write_str("acquire"),
            Self::AcquireProxy => f.write_str("acquire-proxy"),
            Self::AcquireSplit(shares) => write!(f, "acquire-split:{shares}"),
            Self::AcquireBorrow(shares) => write!(f, "acquire-borrow:{shares}"),
            Self::AcquireTopology(servers) => write!(f, "acquire-topology:{servers}"),
            Self::AcquireRelay(ranks) => write!(f, "acquire-relay:{ranks}"),
            Self::AcquireAuto => f.write_str("acquire-auto"),
        }
    }
}

impl FromStr for Method {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shares = |number: &str| number.parse().map_err(|_| "give the number of shares, as in acquire-split:4");
        match text.split_once(':') {
            None if text == "eager" => Ok(Self::Eager),
            None if text == "rendezvous" => Ok(Self::Rendezvous),
            None if text == "limit" => Ok(Self::Limit),
            None if text == "acquire" => Ok(Self::Acquire),
            None if text == "acquire-proxy" => Ok(Self::AcquireProxy),
            None if text == "acquire-auto" => Ok(Self::AcquireAuto),
            Some(("acquire-topology", number)) => shares(number).map(Self::AcquireTopology),
            Some(("acquire-relay", number)) => shares(number).map(Self::AcquireRelay),
            Some(("acquire-split", number)) => shares(number).map(Self::AcquireSplit),
            Some(("acquire-borrow", number)) => shares(number).map(Self::AcquireBorrow),
            _ => Err(
                "methods are eager, rendezvous, limit, acquire, acquire-auto, acquire-proxy, acquire-split:K, acquire-borrow:K, acquire-topology:K and acquire-relay:K",
            ),
        }
    }
}

/// Parses how senders wait.
pub(super) fn waiting(text: &str) -> Result<Waiting, &'static str> {
    match text {
        "notified" => Ok(Waiting::Notified),
        "backing-off" => Ok(Waiting::BackingOff),
        "polling" => Ok(Waiting::Polling),
        _ => Err("senders wait notified, backing-off or polling"),
    }
}

/// Parses the layout of the counters.
pub(super) fn counting(text: &str) -> Result<Counting, &'static str> {
    match text {
        "one-word" => Ok(Counting::OneWord),
        "two-words" => Ok(Counting::TwoWords),
        _ => Err("counters lie in one-word or in two-words"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_read_as_they_are_written() {
        use Method::*;
        for method in [
            Eager,
            Rendezvous,
            Limit,
            Acquire,
            AcquireProxy,
            AcquireSplit(4),
            AcquireBorrow(16),
            AcquireTopology(3),
            AcquireRelay(32),
            AcquireAuto,
        ] {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        for wrong in ["", "acquire-split", "acquire-split:", "acquire-split:x", "eager:2", "Eager"] {
            assert!(wrong.parse::<Method>().is_err(), "{wrong}");
        }
    }
}
