//! Bounds of datagrams and of what the kernel takes at once, with their reasons.

use pelago_platform::limits::CAPTURED_BYTES_MAX;
use pelago_protocol::{INJECT_SIZE, PUT_OVERHEAD_BYTES};

/// Maximum payload of a UDP datagram in bytes: the 16-bit length of IPv4 less the headers.
pub const UDP_PAYLOAD_BYTES_MAX: usize = 65_507;

/// Maximum number of datagrams of a send batch: two segmented messages with the maximum number of segments.
pub const UDP_OUTGOING_DATAGRAMS_MAX: usize = 2 * UDP_RUN_DATAGRAMS_MAX;

/// Target size in bytes of a send batch: one message of maximum size, so that the network and the receiver work on it while the sender assembles
/// the next. The sender expects the next datagram to be as long as the last; a longer one uses the space behind.
pub const UDP_OUTGOING_BYTES: usize = 64 * 1024;

/// Size in bytes of the buffer of a send batch.
pub const UDP_BATCH_BYTES: usize = 2 * UDP_OUTGOING_BYTES;

/// Maximum size in bytes of a captured put over UDP: the limit of a context. The first datagrams leave while the rest is captured.
pub const UDP_INJECT_SIZE: usize = CAPTURED_BYTES_MAX;

/// Minimum size in bytes of a put that leaves together with its signal: a shorter put shares a datagram with the signal and with other operations
/// that are held back for batching.
pub const UDP_SIGNALLED_BYTES_MIN: usize = INJECT_SIZE + 1;

/// Maximum number of segments of a segmented message (UDP GSO): the lowest limit of all Linux kernels with GSO.
pub const UDP_RUN_DATAGRAMS_MAX: usize = 64;

/// Maximum size in bytes of a segmented message: below the limits for IPv4 and IPv6.
pub const UDP_RUN_BYTES_MAX: usize = 65_000;

/// Maximum size in bytes of a datagram if the path allows it: a message of maximum size, in whole words. Each datagram costs about 0.3 µs at
/// either end, independently of its size.
pub const UDP_DATAGRAM_BYTES_MAX: usize = UDP_RUN_BYTES_MAX / 8 * 8;

/// Maximum number of bytes of a put and its signal in one datagram: the maximum size of a datagram less the overhead of a put.
pub const UDP_PUT_DATAGRAM_BYTES_MAX: usize = UDP_DATAGRAM_BYTES_MAX - PUT_OVERHEAD_BYTES;

/// Number of messages that one receive call takes: at most 512 KiB, which fits the L2 cache of a core; eight peers share the cost of a
/// system call.
pub const UDP_INCOMING_MESSAGES_MAX: usize = 8;

/// Maximum size in bytes of a received message. The kernel (GRO) joins datagrams up to a 16-bit length.
pub const UDP_MESSAGE_BYTES_MAX: usize = 1 << 16;

/// Socket buffer size in bytes that the transport requests for each direction: 3 ms of a 10 Gbit/s network, the time in which a sleeping or
/// preempted thread gets to run.
pub const UDP_SOCKET_BUFFER_BYTES: usize = 4 << 20;

/// Number of pending socket errors that one receive attempt skips before it reports that nothing has arrived.
pub const UDP_ERRORS_SKIPPED_MAX: usize = 8;

const _: () = {
    assert!(
        UDP_PAYLOAD_BYTES_MAX + UDP_OUTGOING_BYTES <= UDP_BATCH_BYTES,
        "a batch that is not full has room for every datagram"
    );
    assert!(UDP_RUN_BYTES_MAX <= UDP_PAYLOAD_BYTES_MAX && UDP_RUN_BYTES_MAX <= u16::MAX as usize, "a run is a message");
};
