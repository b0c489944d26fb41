//! Bounds of datagrams and of what the kernel takes at once, with their reasons.

use pelago_platform::limits::CAPTURED_BYTES_MAX;

/// Bytes of the payload of a UDP datagram: what IPv4, with its 16 bits for a length, leaves beside the headers.
pub const UDP_PAYLOAD_BYTES_MAX: usize = 65_507;

/// Datagrams of a batch to send: two runs of as many as the kernel cuts a message into.
pub const UDP_OUTGOING_DATAGRAMS_MAX: usize = 2 * UDP_RUN_DATAGRAMS_MAX;

/// Bytes of a batch to send: one of the largest messages, so that it is on its way, and taken in, while the next is assembled. The next datagram is
/// expected to be as long as the last; one that is longer has room behind.
pub const UDP_OUTGOING_BYTES: usize = 64 * 1024;

/// Bytes of the memory for a batch.
pub const UDP_BATCH_BYTES: usize = 2 * UDP_OUTGOING_BYTES;

/// Bytes of memory for batches that the kernel reads when they are delivered, one after another: those on their way to one peer.
pub const UDP_LENT_BYTES: usize = 2 << 20;

/// Bytes on their way beyond which nothing more is lent. The rest is for the ends of pages, for the batch that is assembled, and for what
/// is left at the end of the memory.
pub const UDP_LENT_BYTES_MAX: usize = UDP_LENT_BYTES / 4 * 3;

/// Bytes of a message whose pages cost less to lend than its bytes to copy.
pub const UDP_LENT_MESSAGE_BYTES_MIN: usize = 32 * 1024;

/// Bytes of a write over UDP, which is captured while its first datagrams are on their way: as much as a context keeps.
pub const UDP_INJECT_SIZE: usize = CAPTURED_BYTES_MAX;

/// Datagrams that one message is cut into: what every Linux that cuts messages at all accepts.
pub const UDP_RUN_DATAGRAMS_MAX: usize = 64;

/// Bytes of a message that is to be cut: less than a datagram may have with either kind of headers.
pub const UDP_RUN_BYTES_MAX: usize = 65_000;

/// Bytes of a datagram, where the way takes so many: what passes the kernel as one message, in whole words. A datagram costs some 0.3 us at either
/// end however long it is.
pub const UDP_DATAGRAM_BYTES_MAX: usize = UDP_RUN_BYTES_MAX / 8 * 8;

/// Messages taken from the kernel by one call: with the largest, half a megabyte, which stays in a core's own cache; and with
/// a peer each, the cost of the call is shared by eight.
pub const UDP_INCOMING_MESSAGES_MAX: usize = 8;

/// Bytes of a message taken from the kernel: it joins no more datagrams than 16 bits can count the bytes of.
pub const UDP_MESSAGE_BYTES_MAX: usize = 1 << 16;

/// Bytes that a UDP socket asks the kernel to keep, each way: what a network of 10 gigabits brings in three milliseconds, in which
/// a thread that sleeps, or shares its core, gets to run.
pub const UDP_SOCKET_BUFFER_BYTES: usize = 4 << 20;

/// Errors of earlier datagrams that one attempt to receive passes over before it says that nothing has arrived; the next goes on.
pub const UDP_ERRORS_SKIPPED_MAX: usize = 8;

const _: () = {
    assert!(
        UDP_PAYLOAD_BYTES_MAX + UDP_OUTGOING_BYTES <= UDP_BATCH_BYTES,
        "a batch that is not full has room for every datagram"
    );
    assert!(UDP_LENT_BYTES_MAX / 8 * 9 + 2 * UDP_BATCH_BYTES <= UDP_LENT_BYTES, "whole pages of each message are lent");
    assert!(UDP_RUN_BYTES_MAX <= UDP_PAYLOAD_BYTES_MAX && UDP_RUN_BYTES_MAX <= u16::MAX as usize, "a run is a message");
};
