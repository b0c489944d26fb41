//! Capabilities of a network: the features of its hardware or provider, and the costs of operations.

use core::fmt;

use pelago_base::limits::INJECT_SIZE;
use pelago_base::{AtomicOperator, Duration, Width};

/// Features that a network has natively, and costs of its operations: for the choice between networks, and for display
/// (its [`Display`](fmt::Display) is one human-readable line).
///
/// A capability never restricts programs. Every transport performs every operation and emulates what its network lacks, as the contract
/// of [`Transport`](crate::Transport) requires. Each field names the components that read it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capabilities {
    /// Name of the transport.
    pub name: &'static str,
    /// Maximum size of a [`Write`](crate::Operation::Write) in bytes. Read by rma, which posts puts up to this size as `Write`.
    pub inject_size: usize,
    /// Maximum size in bytes of any other transfer posted as one operation; `u64::MAX` if there is no limit. Read by rma, which splits
    /// longer transfers (T12).
    pub message_bytes_max: u64,
    /// Maximum number of incomplete operations of this rank's transport, to all peers: further ones are refused with
    /// [`PostError::Full`](crate::PostError::Full). `u32::MAX` where the limit depends on more than the number. Read by rma, whose contexts each issue no
    /// more operations than this.
    pub operations_max: u32,
    /// Maximum number of blocks of a list posted as one operation; shapes may then have any number of blocks. 0 if blocks are posted one by
    /// one. Read by rma, for each rail (T13).
    pub blocks_max: usize,
    /// Maximum length in bytes of blocks that are worth posting as one operation; longer ones are posted one by one. `u64::MAX` where blocks of any length
    /// travel as cheaply together. Read by rma, for each rail.
    pub block_bytes_max: u64,
    /// Minimum number of bytes that are posted together with their signal word as one operation; `usize::MAX` if the rail does not support
    /// that. Read by rma, for each rail (T14).
    pub signalled_bytes_min: usize,
    /// Maximum number of bytes of a put with signal that one message of the network carries, on networks whose cost per message equals that of
    /// many bytes; 0 where a message is cheap. Read by collectives, which size their pieces to fill messages.
    pub put_message_bytes: usize,
    /// Time from posting a small put to its completion. Read by the models of collectives and plans.
    pub latency: Duration,
    /// Bandwidth of a long put in bytes per second. Read by rma, which divides striped transfers in this proportion.
    pub bytes_per_second: f64,
    /// Atomics that the network performs without a core of the target. Read by rma: while a core of this rank performs atomics for other ranks,
    /// each iteration of a wait polls the transport.
    pub atomics: NativeAtomics,
    /// Operations that take effect in the order of posting without a fence. For display; verified by the conformance suite.
    pub ordering: Ordering,
    /// How peers name registered memory to the network. For display only: keys stay below the boundary (decision 20).
    pub keys: KeyMode,
    /// How the network accesses device memory. For display.
    pub device_memory: DeviceAccess,
    /// Whether each operation that writes to a rank's memory wakes that rank (T10). Where `false`, rma posts such operations with
    /// [`Flags::notify`](crate::Flags::notify).
    pub wakes_target: bool,
    /// Whether [`Transport::post`](crate::Transport::post) accepts any earlier time as `now`, because the transport itself reads a clock where it
    /// needs the current time. Read by rma, which then saves a clock read per post if this holds for all rails.
    pub keeps_time: bool,
    /// Protection of the network's traffic. For display.
    pub protection: Protection,
    /// Maximum size of a transfer whose bytes are moved. Longer transfers may be posted as [`Sized`](crate::Operation::Sized), which saves the
    /// poster and the transport from handling the bytes. `u64::MAX`, the value everywhere except in a simulation of sizes: all bytes are moved.
    pub data_bytes_max: u64,
}

impl Capabilities {
    /// Defaults for a transport of this name without measurements: a slow network on which the target's cores perform everything. Override
    /// single fields, so that fields added later need no change.
    pub const fn of(name: &'static str) -> Self {
        Self {
            name,
            inject_size: INJECT_SIZE,
            message_bytes_max: u64::MAX,
            operations_max: u32::MAX,
            blocks_max: 0,
            block_bytes_max: u64::MAX,
            signalled_bytes_min: usize::MAX,
            put_message_bytes: 0,
            latency: Duration::from_microseconds(50),
            bytes_per_second: 1e9,
            atomics: NativeAtomics::NONE,
            ordering: Ordering::Unordered,
            keys: KeyMode::None,
            device_memory: DeviceAccess::Staged,
            wakes_target: true,
            keeps_time: false,
            protection: Protection::None,
            data_bytes_max: u64::MAX,
        }
    }
}

impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {:.1} GB/s, inject to {} B, ", self.latency, self.bytes_per_second / 1e9, self.inject_size)?;
        match self.message_bytes_max {
            u64::MAX => f.write_str("messages of any size")?,
            bytes => write!(f, "messages to {bytes} B")?,
        }
        match self.operations_max {
            u32::MAX => {}
            operations => write!(f, ", {operations} operations at once")?,
        }
        match self.blocks_max {
            0 => {}
            blocks => write!(f, ", lists to {blocks} blocks")?,
        }
        write!(f, "; atomics: {}; ordering: {}; keys: {}; ", self.atomics, self.ordering, self.keys)?;
        write!(f, "device memory: {}; ", self.device_memory)?;
        f.write_str(if self.wakes_target { "writes wake their target" } else { "only notifications wake their target" })?;
        write!(f, "; protection: {}", self.protection)
    }
}

/// The atomics that a network performs without a core of the target: by width and operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativeAtomics {
    /// One bit per operator, at its [code](AtomicOperator::code): for words of 4 bytes, and of 8 bytes.
    operators: [u16; 2],
    /// Whether network atomics and CPU atomics on the same word are mutually atomic. If not, the transport still leaves atomics to a core of
    /// the owner (T11), and the native ones are only displayed.
    pub coherent: bool,
}

impl NativeAtomics {
    /// All operator bits.
    const EVERY: u16 = (1 << AtomicOperator::COUNT) - 1;

    /// No native atomics: a core of the target performs all.
    pub const NONE: Self = Self { operators: [0; 2], coherent: true };

    /// All atomics, coherent with those of cores.
    pub const ALL: Self = Self { operators: [Self::EVERY; 2], coherent: true };

    /// Returns these atomics plus `operator` on words of `width`. The expected value of a compare-swap is ignored.
    #[must_use]
    pub const fn with(mut self, width: Width, operator: AtomicOperator) -> Self {
        self.operators[Self::index(width)] |= 1 << operator.code().0;
        self
    }

    /// Returns these atomics, marked as not coherent with those of cores.
    #[must_use]
    pub const fn incoherent(self) -> Self {
        Self { coherent: false, ..self }
    }

    /// Returns the atomics that both networks have, for operations that may take either.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        let [four, eight] = self.operators;
        Self { operators: [four & other.operators[0], eight & other.operators[1]], coherent: self.coherent && other.coherent }
    }

    /// Whether the network performs `operator` on words of `width`.
    pub const fn has(self, width: Width, operator: AtomicOperator) -> bool {
        self.operators[Self::index(width)] & 1 << operator.code().0 != 0
    }

    /// Whether no atomic needs a core of its target.
    pub const fn spare_cores(self) -> bool {
        self.coherent && matches!(self.operators, [Self::EVERY, Self::EVERY])
    }

    const fn index(width: Width) -> usize {
        match width {
            Width::Four => 0,
            Width::Eight => 1,
        }
    }
}

impl fmt::Display for NativeAtomics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operators {
            [0, 0] => return f.write_str("by cores"),
            [Self::EVERY, Self::EVERY] => f.write_str("native")?,
            operators => {
                f.write_str("native")?;
                for (bytes, bits) in [4, 8].into_iter().zip(operators) {
                    for code in (0..AtomicOperator::COUNT as u8).filter(|code| bits >> code & 1 == 1) {
                        let name = AtomicOperator::from_code(code, 0).map_or("?", AtomicOperator::name);
                        write!(f, " {name}{}", 8 * bytes)?;
                    }
                }
                f.write_str(", others by cores")?;
            }
        }
        f.write_str(if self.coherent { "" } else { " (unused: not coherent with cores)" })
    }
}

/// Operations to one endpoint that take effect in the order of posting without a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ordering {
    /// Nothing.
    Unordered,
    /// Writes and puts among each other.
    Writes,
    /// Everything.
    All,
}

impl fmt::Display for Ordering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unordered => "by fences",
            Self::Writes => "writes stay in order",
            Self::All => "all operations stay in order",
        })
    }
}

/// How peers name registered memory to a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyMode {
    /// By the global address alone.
    None,
    /// By a key that the registering rank chooses and that follows from the global address, and an offset.
    Offset,
    /// By a key that the registering rank chooses, and the virtual address in its process: peers fetch the address.
    VirtualAddress,
    /// By a key that the provider chooses: peers fetch it.
    Provided,
}

impl fmt::Display for KeyMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Offset => "segment and offset",
            Self::VirtualAddress => "virtual addresses",
            Self::Provided => "chosen by the provider",
        })
    }
}

/// How a network accesses device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceAccess {
    /// Through host memory, by the device's owner.
    Staged,
    /// Directly.
    Direct,
    /// Directly if the memory is registered with the network, else through host memory, by the device's owner.
    Registered {
        /// Number of this rank's segments that are registered.
        registered: u32,
        /// Number of this rank's segments that are staged.
        staged: u32,
        /// Reason for staging; empty if nothing has been staged so far.
        why: &'static str,
    },
}

impl fmt::Display for DeviceAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let segments = |count: u32| if count == 1 { "1 segment".into() } else { format!("{count} segments") };
        match *self {
            Self::Staged => f.write_str("staged by its owner"),
            Self::Direct => f.write_str("direct"),
            Self::Registered { registered: 0, staged: 0, why: "" } => f.write_str("registered with the network"),
            Self::Registered { registered: 0, why, .. } => write!(f, "staged by its owner: {why}"),
            Self::Registered { registered, staged, why } => {
                write!(f, "registered with the network ({})", segments(registered))?;
                if staged > 0 {
                    write!(f, " or staged by its owner ({})", segments(staged))?;
                }
                if why.is_empty() { Ok(()) } else { write!(f, ": {why}") }
            }
        }
    }
}

/// Protection of a network's traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protection {
    /// None: any process with access to the network can write to registered memory.
    None,
    /// By the kernel: only processes of the same user on the same host can access the memory.
    SameUser,
    /// Each message carries a tag made with the job's key.
    Authenticated,
    /// As `Authenticated`, and the bytes are encrypted.
    Encrypted,
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::SameUser => "processes of the same user",
            Self::Authenticated => "authenticated by the job's key",
            Self::Encrypted => "authenticated and encrypted",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCHANGE: AtomicOperator = AtomicOperator::CompareSwap { expected: 3 };

    #[test]
    fn atomics_are_told_apart_by_width_and_operator() {
        let verbs = NativeAtomics::NONE.with(Width::Eight, AtomicOperator::Add).with(Width::Eight, EXCHANGE);
        assert!(
            verbs.has(Width::Eight, AtomicOperator::CompareSwap { expected: 9 }) && verbs.has(Width::Eight, AtomicOperator::Add)
        );
        assert!(!verbs.has(Width::Four, AtomicOperator::Add) && !verbs.has(Width::Eight, AtomicOperator::Xor));
        assert!(!verbs.spare_cores() && !NativeAtomics::NONE.spare_cores() && !NativeAtomics::ALL.incoherent().spare_cores());
        assert!(NativeAtomics::ALL.spare_cores());
        let all = |atomics: NativeAtomics, width| {
            (0..u8::MAX)
                .map_while(|code| AtomicOperator::from_code(code, 0))
                .fold(atomics, |atomics, operator| atomics.with(width, operator))
        };
        assert_eq!(all(all(NativeAtomics::NONE, Width::Four), Width::Eight), NativeAtomics::ALL);
    }

    #[test]
    fn access_to_devices_says_what_is_registered_and_why_something_is_not() {
        let shown = |registered, staged, why| DeviceAccess::Registered { registered, staged, why }.to_string();
        assert_eq!(shown(0, 0, ""), "registered with the network");
        assert_eq!(shown(0, 0, "no card"), "staged by its owner: no card");
        assert_eq!(shown(0, 3, "no card"), "staged by its owner: no card");
        assert_eq!(shown(1, 0, ""), "registered with the network (1 segment)");
        assert_eq!(shown(2, 0, "puts are staged"), "registered with the network (2 segments): puts are staged");
        assert_eq!(shown(2, 1, "full"), "registered with the network (2 segments) or staged by its owner (1 segment): full");
    }

    #[test]
    fn capabilities_are_a_line() {
        let atomics = NativeAtomics::NONE.with(Width::Eight, AtomicOperator::Add).incoherent();
        let fabric = Capabilities { message_bytes_max: 1 << 20, wakes_target: false, atomics, ..Capabilities::of("fabric") };
        assert_eq!(
            fabric.to_string(),
            format!(
                "50µs, 1.0 GB/s, inject to {INJECT_SIZE} B, messages to 1048576 B; atomics: native add64, others by cores \
                 (unused: not coherent with cores); ordering: by fences; keys: none; device memory: staged by its owner; \
                 only notifications wake their target; protection: none"
            )
        );
    }
}
