//! The messages of the ranks of a host while they gather: short texts, one in each packet.

use std::fmt;

use crate::rank::shared_settings::SharedSettings;
use crate::system::{job_key, shortened};

/// Maximum size of a message in bytes.
pub(crate) const MESSAGE_BYTES_MAX: usize = 1024;

/// Maximum size in bytes of a reason inside a message.
const REASON_BYTES_MAX: usize = 900;

/// Identifies a rank of this version.
const GREETING: &str = "pelago-adoption-2";

/// The secret of a job's adoption, which its ranks get from the launcher's store: a process that proves to know it is a rank.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) [u8; 16]);

/// A message of a rank to its leader.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ToLeader {
    /// The identity of the rank.
    Hello(Hello),
    /// The proof that the rank knows the secret of the job.
    Proof(Secret),
}

/// The identity of a rank, and the values on which all ranks have to agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) rank: u32,
    pub(crate) size: u32,
    /// Its own process number.
    pub(crate) process: u32,
    pub(crate) settings: SharedSettings,
}

/// A message of a leader to the ranks of its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToRank {
    /// All ranks of the host have arrived.
    Gathered,
    /// The descriptors of this message are the job's memory, and the rank's socket if ranks have one.
    Supplies,
    /// The job cannot be set up, with the reason.
    Refused(String),
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The secret is in no message except those that need it.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        job_key::parse(text).map(Self)
    }
}

impl fmt::Display for ToLeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hello(Hello { rank, size, process, settings }) => {
                write!(f, "{GREETING} {rank} {size} {process} {settings}")
            }
            Self::Proof(secret) => write!(f, "proof {secret}"),
        }
    }
}

impl ToLeader {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let number = |text: &str| text.parse().ok();
        Some(match words[..] {
            [GREETING, rank, size, process, settings] => Self::Hello(Hello {
                rank: number(rank)?,
                size: number(size)?,
                process: number(process)?,
                settings: SharedSettings::parse(settings)?,
            }),
            ["proof", secret] => Self::Proof(Secret::parse(secret)?),
            _ => return None,
        })
    }
}

impl fmt::Display for ToRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gathered => f.write_str("gathered"),
            Self::Supplies => f.write_str("supplies"),
            Self::Refused(why) => write!(f, "refused {}", shortened(why, REASON_BYTES_MAX)),
        }
    }
}

impl ToRank {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "gathered" => Some(Self::Gathered),
            "supplies" => Some(Self::Supplies),
            text => text.strip_prefix("refused ").map(|why| Self::Refused(why.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_as_they_were_sent() {
        let hello = Hello { rank: 3, size: 7, process: 4711, settings: SharedSettings::new("shm:2,udp".parse().unwrap(), true) };
        for message in [ToLeader::Hello(hello), ToLeader::Proof(Secret([0xA7; 16])), ToLeader::Proof(Secret([0; 16]))] {
            assert_eq!(ToLeader::parse(&message.to_string()), Some(message));
        }
        for message in [ToRank::Gathered, ToRank::Supplies, ToRank::Refused("rank 2 ended".into())] {
            assert_eq!(ToRank::parse(&message.to_string()), Some(message));
        }
        let long = ToRank::Refused("é".repeat(MESSAGE_BYTES_MAX)).to_string();
        assert!(long.len() <= MESSAGE_BYTES_MAX && ToRank::parse(&long).is_some());
    }

    #[test]
    fn what_no_rank_says_is_none() {
        for text in [
            "",
            "hello",
            "pelago-adoption-1 0 2 1 shm+0",
            "pelago-adoption-2 0 2 1",
            "pelago-adoption-2 0 -2 1 shm+0",
            "pelago-adoption-2 0 2 1 shm",
            "proof ab",
        ] {
            assert_eq!(ToLeader::parse(text), None, "{text}");
        }
        assert_eq!(ToLeader::parse(&format!("proof +{}", "0".repeat(31))), None);
        assert_eq!(ToRank::parse("welcome"), None);
    }
}
