//! The settings of the library's own protocol and of injected faults, as text that users write.

use std::fmt;
use std::str::FromStr;

use pelago_base::{Duration, Instant, Rank};

use crate::protocol::faults::{FaultInjection, Partition};

/// Maximum probability that a description of faults may state.
const CHANCE_MAX: f64 = 1.0;

/// Maximum distance of a probability in thousandths from a whole number, which rounding of the text causes.
const ROUNDING: f64 = 1e-9;

/// The settings of the library's own protocol, which carries operations by datagrams.
///
/// The text form is a list; each part occurs at most once, except those that name ranks:
/// `loss=0.1,duplicate=0.01,delay=0.1:50us,partition=4@1ms-2ms,kill=3@2ms,told=10ms,slow=2:10us,limit=1s,encrypt`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// The faults that are injected.
    pub faults: FaultInjection,
    /// Whether datagrams are encrypted.
    pub encrypt: bool,
    /// The time without an answer after which a peer counts as failed.
    pub failure_limit: Duration,
}

/// A text does not describe a [`Protocol`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part:?} is not a fault: {expected}")]
pub struct ProtocolError {
    part: String,
    expected: &'static str,
}

impl Default for Protocol {
    fn default() -> Self {
        Self { faults: FaultInjection::default(), encrypt: false, failure_limit: Duration::from_milliseconds(5_000) }
    }
}

impl FromStr for Protocol {
    type Err = ProtocolError;

    fn from_str(text: &str) -> Result<Self, ProtocolError> {
        let mut protocol = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let expected = protocol.take(name, value).err();
            if let Some(expected) = expected {
                return Err(ProtocolError { part: part.into(), expected });
            }
        }
        Ok(protocol)
    }
}

impl Protocol {
    /// Applies one part of a text; as an error, returns the expected form.
    fn take(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        const CHANCE: &str = "write a chance from 0 to 1, in steps of 0.001";
        let faults = &mut self.faults;
        match name {
            "loss" => faults.loss = chance(value).ok_or(CHANCE)?,
            "duplicate" => faults.duplication = chance(value).ok_or(CHANCE)?,
            "delay" => {
                let parts = value.split_once(':').and_then(|(often, late)| Some((chance(often)?, Duration::parse(late)?)));
                (faults.delay, faults.delay_max) =
                    parts.ok_or("write delay=CHANCE:TIME, as in delay=0.1:50us; a chance has steps of 0.001")?;
            }
            "partition" => {
                let parts = value.split_once('@').and_then(|(first, times)| {
                    let (from, until) = times.split_once('-')?;
                    Some(Partition { first: rank(first)?, from: instant(from)?, until: instant(until)? })
                });
                faults.partitions.push(parts.ok_or("write partition=RANK@TIME-TIME, as in partition=4@1ms-2ms")?);
            }
            "kill" => {
                let parts = value.split_once('@').and_then(|(who, when)| Some((rank(who)?, instant(when)?)));
                faults.deaths.push(parts.ok_or("write kill=RANK@TIME, as in kill=3@2ms")?);
            }
            "told" => faults.announced_after = Some(Duration::parse(value).ok_or("write told=TIME, as in told=10ms")?),
            "slow" => {
                let parts = value.split_once(':').and_then(|(who, late)| Some((rank(who)?, Duration::parse(late)?)));
                faults.slow.push(parts.ok_or("write slow=RANK:TIME, as in slow=2:10us")?);
            }
            "limit" => {
                let limit = Duration::parse(value).filter(|limit| *limit > Duration::ZERO);
                self.failure_limit = limit.ok_or("write limit=TIME, as in limit=1s")?;
            }
            "encrypt" if value.is_empty() => self.encrypt = true,
            _ => return Err("there are loss, duplicate, delay, partition, kill, told, slow, limit and encrypt"),
        }
        Ok(())
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FaultInjection { loss, duplication, delay, delay_max, partitions, deaths, announced_after, slow } = &self.faults;
        let chance = |per_mille: u32| f64::from(per_mille) / 1000.0;
        let time = |picoseconds: u64| format!("{picoseconds}ps");
        write!(f, "limit={}", time(self.failure_limit.as_picoseconds()))?;
        write!(f, ",loss={},duplicate={}", chance(*loss), chance(*duplication))?;
        write!(f, ",delay={}:{}", chance(*delay), time(delay_max.as_picoseconds()))?;
        for Partition { first, from, until } in partitions {
            let [from, until] = [from, until].map(|at| time(at.as_picoseconds()));
            write!(f, ",partition={}@{from}-{until}", first.number())?;
        }
        for (rank, at) in deaths {
            write!(f, ",kill={}@{}", rank.number(), time(at.as_picoseconds()))?;
        }
        if let Some(announced_after) = announced_after {
            write!(f, ",told={}", time(announced_after.as_picoseconds()))?;
        }
        for (rank, late) in slow {
            write!(f, ",slow={}:{}", rank.number(), time(late.as_picoseconds()))?;
        }
        if self.encrypt { f.write_str(",encrypt") } else { Ok(()) }
    }
}

/// Parses a probability; returns it in thousandths, `None` if it is no whole number of them.
fn chance(text: &str) -> Option<u32> {
    let chance: f64 = text.parse().ok()?;
    let per_mille = chance * 1000.0;
    let is_whole = (per_mille - per_mille.round()).abs() <= ROUNDING;
    ((0.0..=CHANCE_MAX).contains(&chance) && is_whole).then(|| per_mille.round() as u32)
}

fn rank(text: &str) -> Option<Rank> {
    text.parse().ok().map(Rank::new)
}

fn instant(text: &str) -> Option<Instant> {
    Some(Instant::ZERO + Duration::parse(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_back() {
        for text in [
            "",
            "loss=0.1,duplicate=0.05,delay=0.1:50us",
            "partition=4@1ms-2.5ms,partition=1@3ms-4ms,kill=3@2ms,kill=0@9s,told=10ms,slow=2:10us,limit=1s,encrypt",
        ] {
            let protocol: Protocol = text.parse().unwrap();
            assert_eq!(protocol.to_string().parse(), Ok(protocol));
        }
        for per_mille in 0..=1000 {
            let text = format!("loss={}", f64::from(per_mille) / 1000.0);
            assert_eq!(text.parse::<Protocol>().unwrap().faults.loss, per_mille, "{text}");
        }
        let protocol: Protocol = "loss=0.25, kill=3@1500ns".parse().unwrap();
        assert_eq!(
            (protocol.faults.loss, protocol.faults.deaths),
            (250, vec![(Rank::new(3), Instant::from_picoseconds(1_500_000))])
        );
    }

    #[test]
    fn what_is_no_fault_is_told() {
        for wrong in [
            "loss",
            "loss=2",
            "loss=-0.1",
            "loss=x",
            "loss=0.0004",
            "duplicate=0.0125",
            "delay=0.9999:5us",
            "delay=0.1",
            "delay=0.1:5",
            "kill=3",
            "kill=x@1ms",
            "gremlins=1",
            "partition=1@2ms",
            "slow=1",
            "limit=0s",
            "limit=",
            "encrypt=1",
            "limit=1e9s",
            "limit=99999999999999999999s",
        ] {
            let error = wrong.parse::<Protocol>().unwrap_err();
            assert!(error.to_string().contains(wrong), "{error}");
        }
    }
}
