//! Every bound, with its unit and its reason; relations between them are asserted below.

/// Ranks in a job: what 20 bits of an address number, and more than any machine of today has cores in one job.
pub const RANKS_MAX: u32 = 1 << 20;

/// Bytes in a segment: one tebibyte, ten times the 100 GB that the largest jobs of the papers share per rank.
pub const SEGMENT_BYTES_MAX: u64 = 1 << 40;

/// Bits of an address for the segment, at least: the two heaps and, at the very largest job, eight tebibytes of addresses for the
/// memory that a rank registers.
pub const SEGMENT_BITS_MIN: u32 = 4;

/// Bits of an address for the segment, at most: a segment number, and the next, fit a `u32`.
pub const SEGMENT_BITS_MAX: u32 = 31;

/// Bits of an address for the offset, at least: a heap of one page.
pub const OFFSET_BITS_MIN: u32 = 12;

/// Ranks on one host: what the launcher can watch with one `poll`, with three descriptors per rank.
pub const RANKS_PER_HOST_MAX: u32 = 4096;

/// Hosts of a job whose ranks reach each other over a network: one for every sixteen ranks of the largest job. At 32 bytes each, their
/// table takes two megabytes of each host.
pub const HOSTS_MAX: usize = 1 << 16;

/// Failed ranks after which a fault-tolerant job still continues: sixteen cache lines of rank numbers. A job with more failures than that
/// ends.
pub const FAILED_RANKS_MAX: usize = 256;

/// Bytes of addresses after each registered region that lead nowhere, so that an access past its end does not reach the next region.
/// The longest element that a program is likely to be off by, times some.
pub const REGION_GAP_BYTES: u64 = 64 * 1024;

/// Address ranges of dropped regions that are kept out of use; the oldest is used again first. Sixteen bytes each.
pub const REGIONS_RETIRED_MAX: usize = 1 << 16;

/// Entries in a rank's table of registered regions, in the memory of its host, at least: twice as many as any known program registers.
pub const HOST_REGIONS_MIN: u32 = 1 << 17;

/// Entries in that table, at most: one gibibyte of address space. Of 64 bytes each, they take memory when they are used.
pub const HOST_REGIONS_MAX: u32 = 1 << 24;

/// Operations of one context that wait for another or are on their way; past it, issuing waits for progress.
pub const OPERATIONS_IN_FLIGHT_MAX: usize = 1024;

/// Places in which a context keeps operations in flight, each found by its number modulo their count, which grows from few to this.
/// Twice as many as operations, so that the next number with a free place is near.
pub const OPERATION_PLACES: usize = 2 * OPERATIONS_IN_FLIGHT_MAX;

/// Places that a context begins with: enough for a collective operation.
pub const OPERATION_PLACES_FIRST: usize = 4;

/// Groups of failed operations that a context remembers: those of 64 consecutive numbers that failed alike. Twice as many as operations in
/// flight, so that whatever fails together is known together, though each fails in its own way; about 150 KB. The oldest are forgotten first.
pub const FAILURE_GROUPS_MAX: usize = 2 * OPERATIONS_IN_FLIGHT_MAX;

/// Bytes that the operations of a context keep while they wait or are on their way; past it, issuing waits for progress, unless
/// nothing else is in flight. Sixteen megabytes keep any network of today busy for longer than a round trip.
pub const CAPTURED_BYTES_MAX: usize = 16 << 20;

/// Bytes of a write that a transport captures.
pub const INJECT_SIZE: usize = 4096;

/// Bytes of a transfer that goes by several rails in parts: of a shorter one a part takes less time than a message more.
pub const STRIPED_BYTES_MIN: u64 = 4096;

/// Requests to another rank's progress thread that one rank has under way: one reply slot of 64 bytes each.
pub const PROGRESS_THREAD_REPLIES_MAX: usize = 32;

/// Requests in a rank's inbox, from all ranks of its host together; a power of two.
pub const INBOX_SLOTS: usize = 128;

/// Bytes of a staging buffer, for copies that only the owner's progress thread may do.
pub const STAGING_BYTES: usize = 32 * 1024;

/// Completions that a transport holds for its user before `post` answers `Full`.
pub const COMPLETIONS_MAX: usize = 1024;

/// Bytes that ranks publish for each other at start, per rank: addresses of network end points.
pub const PUBLISHED_BYTES_MAX: usize = 1024;

/// Bytes of the payload of a UDP datagram: what IPv4, with its 16 bits for a length, leaves beside the headers.
pub const UDP_PAYLOAD_BYTES_MAX: usize = 65_507;

/// Datagrams of a batch to send: two runs of as many as the kernel cuts a message into.
pub const UDP_OUTGOING_DATAGRAMS_MAX: usize = 2 * UDP_RUN_DATAGRAMS_MAX;

/// Bytes of a batch to send: one of the largest messages, so that it is on its way, and taken in, while the next is assembled.
pub const UDP_OUTGOING_BYTES: usize = 64 * 1024;

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

/// Bytes of a datagram, where the way takes so many: a third of what passes the kernel as one message, rounded to whole words.
pub const UDP_DATAGRAM_BYTES_MAX: usize = UDP_RUN_BYTES_MAX / 3 / 8 * 8;

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

/// Bytes of the scratch by which a collective moves data, per step and rank.
pub const COLLECTIVE_CHUNK_BYTES: usize = 16 * 1024;

const _: () = {
    assert!(RANKS_MAX.ilog2() + SEGMENT_BITS_MIN + SEGMENT_BYTES_MAX.ilog2() <= 64, "the largest job can be addressed");
    assert!(65_536 * REGION_GAP_BYTES < SEGMENT_BYTES_MAX, "the gaps take little of the addresses of the largest job");
    assert!(HOST_REGIONS_MIN.is_power_of_two() && HOST_REGIONS_MAX.is_power_of_two(), "tables fill whole pages");
    assert!(INBOX_SLOTS.is_power_of_two());
    assert!(OPERATION_PLACES.is_power_of_two() && OPERATIONS_IN_FLIGHT_MAX < OPERATION_PLACES, "a place is always free");
    assert!(OPERATION_PLACES_FIRST.is_power_of_two() && OPERATION_PLACES_FIRST <= OPERATION_PLACES);
    assert!(UDP_PAYLOAD_BYTES_MAX <= UDP_OUTGOING_BYTES, "an empty batch has room for every datagram");
    assert!(UDP_LENT_BYTES_MAX / 8 * 9 + 2 * UDP_OUTGOING_BYTES <= UDP_LENT_BYTES, "whole pages of each message are lent");
    assert!(UDP_RUN_BYTES_MAX <= UDP_PAYLOAD_BYTES_MAX && UDP_RUN_BYTES_MAX <= u16::MAX as usize, "a run is a message");
};
