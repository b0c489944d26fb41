//! The part of the command line that is passed to each rank.

mod steps;

use clap::{Args, ValueEnum};

pub(crate) use self::steps::conditions;
pub use self::steps::{Atomics, Descriptors, Serving, Steps, Submission, Threads};

/// Default sizes of put and get.
pub(crate) const BYTES_DEFAULT: [u64; 11] = [8, 64, 256, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24];

/// Largest measured transfer in bytes: both ends and the program's copy must fit the memory of a small machine.
const BYTES_MAX: u64 = 1 << 30;

/// Default edge of the cube.
pub(crate) const EDGE_DEFAULT: u64 = 128;

/// Maximum edge of the cube whose faces are transferred: 8 GiB of values.
const EDGE_MAX: u64 = 1024;

/// How ranks measure: the part of the command line that each is told.
#[derive(Args, Clone, Debug)]
pub struct Settings {
    /// Transport between the ranks; the raw limit is shared memory, or plain UDP sockets for udp and ofi
    #[arg(long, value_enum, default_value_t)]
    pub transport: Transport,
    /// Fabric of --transport ofi: a provider of libfabric, and perhaps a domain of it, such as 'tcp;ofi_rxm:eth0'; several, separated by commas, are rails [default: chosen]
    #[arg(long, value_name = "PROVIDER[:DOMAIN]")]
    pub fabric: Option<String>,
    /// Sizes of put and get: multiples of 8, also with K, M or G [default: 8 to 16M]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = bytes)]
    pub bytes: Vec<u64>,
    /// Edge of the cube of f64 values whose faces are transferred
    #[arg(long, value_name = "N", default_value_t = EDGE_DEFAULT, value_parser = clap::value_parser!(u64).range(3..=EDGE_MAX))]
    pub edge: u64,
    /// Tuning steps: submission=direct|progress-thread|bypass, descriptors=prepared|built, threads=one|many, atomics=nic|progress-thread,
    /// serving=together|apart [default: all conditions of paper E]
    #[arg(long, value_name = "KEY=VALUE,…")]
    pub steps: Option<Steps>,
}

/// How ranks reach each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// The best one for ranks of one host: shared memory.
    #[default]
    Auto,
    /// Shared memory.
    Shm,
    /// UDP datagrams, also on this host.
    Udp,
    /// A fabric of libfabric, also on this host.
    Ofi,
}

impl Settings {
    /// Returns the sizes of put and get.
    pub(crate) fn sizes(&self) -> &[u64] {
        if self.bytes.is_empty() { &BYTES_DEFAULT } else { &self.bytes }
    }

    /// Returns the settings as arguments for a rank.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![format!("--transport={}", self.transport.name()), format!("--edge={}", self.edge)];
        arguments.extend(self.steps.map(|steps| format!("--steps={steps}")));
        if !self.bytes.is_empty() {
            let sizes: Vec<_> = self.bytes.iter().map(ToString::to_string).collect();
            arguments.push(format!("--bytes={}", sizes.join(",")));
        }
        arguments
    }
}

impl Transport {
    /// Returns whether ranks of one host communicate over a network and map no memory of each other.
    pub const fn is_network(self) -> bool {
        matches!(self, Self::Udp | Self::Ofi)
    }

    /// Returns the name in rows and for launchers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto | Self::Shm => "shm",
            Self::Udp => "udp",
            Self::Ofi => "ofi",
        }
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((end, 'K' | 'k')) => (&text[..end], 10),
        Some((end, 'M' | 'm')) => (&text[..end], 20),
        Some((end, 'G' | 'g')) => (&text[..end], 30),
        _ => (text, 0),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(1 << shift));
    let bytes = bytes.filter(|bytes| (8..=BYTES_MAX).contains(bytes) && bytes.is_multiple_of(8));
    bytes.ok_or_else(|| "a size is a multiple of 8 bytes up to 1G, such as 8,64K,1M".into())
}
