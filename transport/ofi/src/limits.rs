//! Bounds of an endpoint of libfabric and of the conversations over it, with their reasons.

use pelago_base::limits::INJECT_SIZE;

/// Bytes of memory for one message or one captured write: the longest write that a rank posts so, and the header of a message, in whole lines of
/// cache.
pub const SLOT_BYTES: usize = INJECT_SIZE + 64;

/// Messages that may arrive while nobody looks, before the provider holds back their senders: some from each of the peers that a rank
/// exchanges halos with.
pub const RECEIVE_SLOTS: usize = 128;

/// Messages and accesses to remote memory that may be under way: more than the round trip of a fabric of today hides.
pub const TRANSMIT_SLOTS: usize = 256;

/// Completions that are taken from the provider by one call: they fill a page at most.
pub const COMPLETIONS_AT_ONCE: usize = 32;

/// Calls for completions in one look: as many as empty the slots, so that a look ends while peers go on.
pub const CALLS_PER_LOOK: usize = (RECEIVE_SLOTS + TRANSMIT_SLOTS) / COMPLETIONS_AT_ONCE;

/// Requests of a rank that another has not answered, and as many for the second halves of copies. They bound what a rank keeps to answer one peer.
pub const REQUESTS_MAX: u32 = 32;

/// How often a message is sent that the provider fails to send: more than a connection needs to be made again.
pub const MESSAGE_TRIES_MAX: u8 = 8;

/// Messages to a peer that may leave behind one that has not: the receiver keeps them until that one comes.
pub const EARLY_MAX: u32 = TRANSMIT_SLOTS as u32;

/// How many looks, [`PROBE_MILLISECONDS`] apart, a peer has to answer the greeting of a rank that waits for it, before another transport is used: five
/// seconds, more than a connection takes whose first packet was lost.
pub const GREETING_LOOKS_MAX: u32 = 25;

/// Regions of one peer whose keys a rank keeps: the heaps, and those that it uses in one phase of a program.
pub const REGIONS_KNOWN_MAX: usize = 256;

/// Bytes of the name of an endpoint: the longest that any provider has, with room; an address is published with a few more.
pub const NAME_BYTES_MAX: usize = 256;

/// Fabrics that are looked at: more than any machine has devices and providers for.
pub const INFOS_MAX: usize = 256;

/// Addresses of peers that are being found out, and peers that are asked whether they live, at once: more than a rank meets in one step of a program.
pub const QUESTIONS_MAX: usize = 64;

/// How often it is looked whether a peer that is waited for lives, in ms: less than any limit of failure, and seldom enough to cost nothing.
pub const PROBE_MILLISECONDS: u64 = 200;

/// When a question for which there was no room is asked again, in ms.
pub const QUESTION_PAUSE_MILLISECONDS: u64 = 1;

/// How often a rank is served that does not look itself while its provider cannot wake a thread, in µs: what a get costs more on such a
/// provider, against the share of a core.
pub const POLL_PAUSE_MICROSECONDS: u32 = 50;

/// How long a progress thread leaves a rank alone at first that looks by itself, in µs: a get from a rank that has just begun to compute waits so
/// long.
pub const EXCUSE_MICROSECONDS_MIN: u32 = 100;

/// The same of a rank that has looked for long: a thousandth of a core, where a sleep and its end cost a microsecond.
pub const EXCUSE_MICROSECONDS_MAX: u32 = 1000;

const _: () = {
    assert!(SLOT_BYTES.is_multiple_of(64), "slots do not share lines");
    assert!(NAME_BYTES_MAX + 64 <= SLOT_BYTES, "a greeting is one message");
    assert!(NAME_BYTES_MAX + 80 <= SLOT_BYTES, "what a rank has published is one message");
    assert!(NAME_BYTES_MAX + 64 <= pelago_platform::limits::PUBLISHED_BYTES_MAX, "an address can be published");
};
