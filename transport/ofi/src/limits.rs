//! Bounds of an endpoint of libfabric and of the conversations over it, with their reasons.

use pelago_base::limits::INJECT_SIZE;

/// Size in bytes of the buffer of one message or one captured write: a put of maximum inject size plus a message header, in whole cache
/// lines.
pub const SLOT_BYTES: usize = INJECT_SIZE + 64;

/// Number of posted receive buffers: messages that may arrive between two polls before the provider applies back pressure. Sufficient for
/// several messages from each halo neighbour.
pub const RECEIVE_SLOTS: usize = 128;

/// Maximum number of messages and RMA operations in flight: more than the round trip of a current fabric hides.
pub const TRANSMIT_SLOTS: usize = 256;

/// Maximum ratio of the slots that accesses to one peer hold to those that are free: one silent peer, whose accesses may hold slots for minutes, leaves
/// a quarter of them to other peers and to answers.
pub const ACCESSES_PER_FREE_SLOT: usize = 3;

/// Maximum number of completions that one read of the completion queue returns: at most one page.
pub const COMPLETIONS_AT_ONCE: usize = 32;

/// Maximum number of reads of the completion queue per poll. They empty all slots once, so that a poll ends although peers continue to
/// send.
pub const CALLS_PER_LOOK: usize = (RECEIVE_SLOTS + TRANSMIT_SLOTS) / COMPLETIONS_AT_ONCE;

/// Maximum number of unanswered requests of one rank to another, and of second halves of copies. The limit bounds the memory with which a
/// rank serves one peer.
pub const REQUESTS_MAX: u32 = 32;

/// Maximum number of blocks of a list posted as one operation, as over udp, which takes over where the fabric does not reach.
pub const LIST_BLOCKS_MAX: usize = 4096;

/// Maximum number of blocks of lists, of 24 bytes each, of all operations that have not ended: those of 16 lists of maximum length.
pub const LISTED_BLOCKS_MAX: usize = 16 * LIST_BLOCKS_MAX;

/// Maximum length in bytes of blocks that travel packed in requests. An access costs a rank about as much as the share of a longer block in a request costs both
/// ends, which copy it.
pub const PACKED_BLOCK_BYTES_MAX: u64 = 1024;

/// Minimum number of bytes that leave together with their signal word: a word. A write as an access, and the signal behind it, take two round trips.
pub const SIGNALLED_BYTES_MIN: usize = 8;

/// Maximum number of transmissions of a message that the provider fails to send. Re-establishing a connection takes fewer.
pub const MESSAGE_TRIES_MAX: u8 = 8;

/// Maximum number of messages to a peer that may overtake an undelivered one. The receiver keeps them until that message arrives.
pub const EARLY_MAX: u32 = TRANSMIT_SLOTS as u32;

/// Number of checks, [`PROBE_MILLISECONDS`] apart, that a peer has to answer a greeting before the rank uses another transport: 5 s, longer
/// than the set-up of a connection whose first packet was lost.
pub const GREETING_LOOKS_MAX: u32 = 25;

/// Maximum number of cached remote keys per peer: the heaps and the regions that one phase of a program uses.
pub const REGIONS_KNOWN_MAX: usize = 256;

/// Maximum number of rails: as many network cards as most nodes have. Each has slots, and a queue that every poll reads.
pub const RAILS_MAX: usize = 4;

/// Maximum length in bytes of the endpoint names of all rails, with 6 bytes for each: longer than four names of any provider. A published address is
/// some bytes longer. Rails whose names do not fit are left out.
pub const NAME_BYTES_MAX: usize = 256;

/// Maximum number of segments in device memory that a rank registers with the fabric: each holds a descriptor and pages of the device's bus window (BAR).
/// Transfers of further ones are staged by their owner.
pub const DEVICE_SEGMENTS_MAX: usize = 64;

/// Maximum number of different reasons for staging whose text a process keeps.
pub const REASONS_MAX: usize = 64;

/// Maximum number of `fi_info` entries that the selection examines: more than the devices and providers of any machine.
pub const INFOS_MAX: usize = 256;

/// Maximum number of concurrent address queries and liveness probes: more than the peers that a rank contacts in one step of a program.
pub const QUESTIONS_MAX: usize = 64;

/// Period in ms of the liveness probes to a peer for which the rank waits: shorter than any failure limit.
pub const PROBE_MILLISECONDS: u64 = 200;

/// Number of failure limits after which a peer is given up that owes an answer over the fabric, as over udp.
pub const SILENCE_FAILURE_LIMITS: u64 = 20;

/// Rate in bytes/s that accesses in flight are allowed in addition: a long one completes as a whole, and gives no sign of life before. A tenth of
/// Gigabit Ethernet, whose links a rank may share with others.
pub const SLOWEST_BYTES_PER_SECOND: u64 = 12_500_000;

/// Time in ms between two checks from which on the rank itself was stopped or computed: a wait for peers begins anew.
pub const PAUSE_MILLISECONDS: u64 = 1_000;

/// Time in ms after which a probe that found no free slot is retried.
pub const QUESTION_PAUSE_MILLISECONDS: u64 = 1;

/// Poll period in µs of the progress thread if the provider has no wait object. It trades the additional latency of a get against the share
/// of a core.
pub const POLL_PAUSE_MICROSECONDS: u32 = 50;

/// Minimum time in µs during which the progress thread does not poll after the rank itself polled. A get from a rank that has just begun to
/// compute waits for this time.
pub const EXCUSE_MICROSECONDS_MIN: u32 = 100;

/// Maximum time in µs during which the progress thread does not poll, for a rank that has polled for long. With 1 µs per sleep and wake-up, the
/// progress thread takes a thousandth of a core.
pub const EXCUSE_MICROSECONDS_MAX: u32 = 1000;

const _: () = {
    assert!(SLOT_BYTES.is_multiple_of(64), "slots do not share lines");
    assert!(NAME_BYTES_MAX + 64 <= SLOT_BYTES, "a greeting is one message");
    assert!(NAME_BYTES_MAX + 80 <= SLOT_BYTES, "what a rank has published is one message");
    assert!(NAME_BYTES_MAX + 64 <= pelago_platform::limits::PUBLISHED_BYTES_MAX, "an address can be published");
};
