//! The ways to send to one rank.

use std::fmt;
use std::str::FromStr;

use pelago::Rank;
use pelago::messaging::{Counting, Placement, Waiting};

/// How messages come to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Sent whether the receiver has room or not.
    Eager,
    /// Announced eagerly, fetched by the receiver.
    Rendezvous,
    /// Eagerly, but no more at a time than there is room for.
    Limit,
    /// Into room that the sender has acquired; the counters lie at the receiver.
    Acquire,
    /// The same; the counters lie at another rank.
    AcquireProxy,
    /// The same; the counters lie in so many shares at as many ranks.
    AcquireSplit(u32),
    /// The same; who finds its share used up takes from another.
    AcquireBorrow(u32),
    /// The same; the counters lie at so many servers at most, amid hosts, switches or boxes.
    AcquireTopology(u32),
    /// As with counters at the receiver; so many ranks share a relay.
    AcquireRelay(u32),
    /// The same; where the counters lie is chosen by the library.
    AcquireAuto,
}

impl Method {
    /// Where the counters lie.
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

    /// Ranks that share a relay; 0 for none.
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

/// Reads how senders wait.
pub(super) fn waiting(text: &str) -> Result<Waiting, &'static str> {
    match text {
        "notified" => Ok(Waiting::Notified),
        "backing-off" => Ok(Waiting::BackingOff),
        "polling" => Ok(Waiting::Polling),
        _ => Err("senders wait notified, backing-off or polling"),
    }
}

/// Reads how counters lie.
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
