//! The values that leaders of hosts store in the launcher's store: fields of characters that every store accepts, separated by bars.

use std::fmt::Write as _;

use crate::adoption::launcher_store::VALUE_BYTES;
use crate::rank::shared_settings::SharedSettings;
use crate::system::network::HostAddresses;

/// Maximum size in bytes of an escaped host name inside a value of the store.
const NAME_BYTES_MAX: usize = 96;
/// Maximum size in bytes of an escaped reason inside a value of the store.
const REASON_BYTES_MAX: usize = 400;

/// The offer of a host's leader to the others, before addresses are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostOffer {
    /// The name of the host, for messages.
    pub(crate) name: String,
    /// The settings of its ranks.
    pub(crate) settings: SharedSettings,
    /// The network that the settings of its ranks name, or nothing.
    pub(crate) network: String,
    /// Maximum size of a heap on the host.
    pub(crate) heap_bytes: u64,
    pub(crate) reachable: HostAddresses,
}

/// Encodes an offer for the store. Addresses that do not fit are omitted.
pub(crate) fn offer_text(offer: &HostOffer) -> String {
    let HostOffer { name, settings, network, heap_bytes, reachable } = offer;
    let mut text =
        format!("offer|{}|{settings}|{network}|{heap_bytes}|{:016x}|", escaped(name, NAME_BYTES_MAX), digest(&reachable.machine));
    for (index, address) in reachable.addresses.iter().enumerate() {
        let address = format!("{}{address}", if index == 0 { "" } else { "," });
        if text.len() + address.len() > VALUE_BYTES {
            break;
        }
        text += &address;
    }
    text
}

/// Encodes the port of a host's first rank for the store.
pub(crate) fn port_text(port: u16) -> String {
    format!("port|{port}")
}

/// Encodes the reason why a host cannot take part for the store.
pub(crate) fn refusal_text(name: &str, why: &str) -> String {
    format!("refused|{}|{}", escaped(name, NAME_BYTES_MAX), escaped(why, REASON_BYTES_MAX))
}

/// A value that a leader has stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostValue {
    Offer(HostOffer),
    Port(u16),
    Refused { name: String, why: String },
}

impl HostValue {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.split('|').collect();
        Some(match fields[..] {
            ["offer", name, settings, network, heap_bytes, machine, addresses] => {
                let addresses = addresses.split(',').filter(|text| !text.is_empty()).map(str::parse);
                let addresses = addresses.collect::<Result<_, _>>().ok()?;
                Self::Offer(HostOffer {
                    name: unescaped(name)?,
                    settings: SharedSettings::parse(settings)?,
                    network: network.into(),
                    heap_bytes: heap_bytes.parse().ok()?,
                    reachable: HostAddresses { machine: machine.into(), addresses },
                })
            }
            ["port", port] => Self::Port(port.parse().ok().filter(|&port| port > 0)?),
            ["refused", name, why] => Self::Refused { name: unescaped(name)?, why: unescaped(why)? },
            _ => return None,
        })
    }
}

/// Escapes a text to characters that every store accepts, truncated to `bytes_max` bytes.
fn escaped(text: &str, bytes_max: usize) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        let start = escaped.len();
        if character.is_ascii_alphanumeric() || "-._:/,()".contains(character) {
            escaped.push(character);
        } else {
            let mut bytes = [0; 4];
            character.encode_utf8(&mut bytes).bytes().for_each(|byte| _ = write!(escaped, "%{byte:02x}"));
        }
        if escaped.len() > bytes_max {
            escaped.truncate(start);
            break;
        }
    }
    escaped
}

fn unescaped(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            bytes.push((digit()? << 4 | digit()?) as u8);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// FNV-1a.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(addresses: usize) -> HostOffer {
        let addresses = (0..addresses).map(|number| format!("fd00:1111:2222:3333:4444:5555:6666:{number}/64").parse().unwrap());
        let settings = SharedSettings::new("shm:2,udp".parse().unwrap(), true);
        let reachable = HostAddresses { machine: format!("{:016x}", digest("here")), addresses: addresses.collect() };
        HostOffer { name: "node 7|é".into(), settings, network: "10.0.0.0/8".into(), heap_bytes: 1 << 40, reachable }
    }

    #[test]
    fn values_are_read_as_they_were_written() {
        let written = HostOffer { reachable: HostAddresses { machine: "here".into(), ..offer(2).reachable }, ..offer(2) };
        assert_eq!(HostValue::parse(&offer_text(&written)), Some(HostValue::Offer(offer(2))));
        assert_eq!(HostValue::parse(&port_text(7000)), Some(HostValue::Port(7000)));
        let (name, why) = ("node 7".to_owned(), "cannot bind 4 UDP sockets: \"no\" 100 %".to_owned());
        assert_eq!(HostValue::parse(&refusal_text(&name, &why)), Some(HostValue::Refused { name, why }));
    }

    #[test]
    fn values_fit_every_store() {
        let fits = |text: &str| text.len() <= VALUE_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic());
        assert!(fits(&offer_text(&HostOffer { name: "é".repeat(1000), ..offer(100) })));
        assert!(fits(&refusal_text(&"x".repeat(1000), &"é ".repeat(1000))));
        let Some(HostValue::Offer(cut)) = HostValue::parse(&offer_text(&offer(100))) else { panic!("an offer") };
        assert!((3..100).contains(&cut.reachable.addresses.len()));
    }

    #[test]
    fn what_no_leader_leaves_is_none() {
        for text in [
            "",
            "offer",
            "offer|a|udp+0||x|0|",
            "offer|a|udp||1|0|",
            "offer|a|udp+0||1|0|10.0.0.1",
            "port|0",
            "port|70000",
            "refused|a",
            "port|%",
        ] {
            assert_eq!(HostValue::parse(text), None, "{text}");
        }
        for text in ["refused|%g0|x", "refused|%f|x", "refused|%ff|x"] {
            assert_eq!(HostValue::parse(text), None, "{text}");
        }
    }
}
