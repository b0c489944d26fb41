//! The settings that all ranks of a job share: a rank with another transport, or that encrypts alone, waits for messages that never arrive. Ranks compare
//! them at the start, in messages that they exchange in any case.

#[cfg(feature = "launcher")]
use std::ffi::OsString;
use std::fmt;

use crate::{LaunchSettings, TransportChoice, names};

/// The values of the settings that all ranks of a job share, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedSettings {
    transport: String,
    encrypt: String,
}

/// A setting that differs between a rank and others of its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingDifference {
    /// The variable.
    pub name: &'static str,
    /// The value of the rank.
    pub value: String,
    /// The value of the others.
    pub expected: String,
}

impl SharedSettings {
    /// Separates the values in the text form. The text of no transport contains a plus sign.
    const SEPARATOR: char = '+';

    pub(crate) fn new(transport: TransportChoice, encrypt: bool) -> Self {
        Self { transport: transport.to_string(), encrypt: u32::from(encrypt).to_string() }
    }

    /// The settings of a rank.
    pub(crate) fn of(settings: &LaunchSettings) -> Self {
        Self::new(settings.transport, settings.encrypt)
    }

    /// The settings of the ranks to which a launcher gives `transport`, and the variables that `variable` looks up. Ranks refuse wrong values.
    #[cfg(feature = "launcher")]
    pub(crate) fn of_launcher(transport: TransportChoice, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        Self::new(transport, variable(names::ENCRYPT).is_some_and(|value| value == "1"))
    }

    /// Parses the text form. The values are those of another process, and only compared and printed.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (transport, encrypt) = text.split_once(Self::SEPARATOR)?;
        Some(Self { transport: transport.into(), encrypt: encrypt.into() })
    }

    /// Returns the first setting of a rank that differs from `job`.
    pub(crate) fn difference(&self, job: &Self) -> Option<SettingDifference> {
        let pairs = [(names::TRANSPORT, &self.transport, &job.transport), (names::ENCRYPT, &self.encrypt, &job.encrypt)];
        let (name, value, expected) = pairs.into_iter().find(|(_, value, expected)| value != expected)?;
        Some(SettingDifference { name, value: value.clone(), expected: expected.clone() })
    }
}

impl fmt::Display for SharedSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.transport, Self::SEPARATOR, self.encrypt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_they_were_written_and_their_difference_is_named() {
        let job = SharedSettings::new("shm:2,udp".parse().unwrap(), true);
        assert_eq!(SharedSettings::parse(&job.to_string()), Some(job.clone()));
        assert_eq!((job.difference(&job), SharedSettings::parse("udp")), (None, None));
        let difference = |transport, encrypt| SharedSettings::new(transport, encrypt).difference(&job);
        let of =
            |name, value: &str, expected: &str| Some(SettingDifference { name, value: value.into(), expected: expected.into() });
        assert_eq!(difference(TransportChoice::Udp, true), of(names::TRANSPORT, "udp", "shm:2,udp"));
        assert_eq!(difference("shm:2,udp".parse().unwrap(), false), of(names::ENCRYPT, "0", "1"));
    }
}
