//! Limits of operations in flight, of remembered failures, of registrations, of collectives and of active messages, with their reasons.

use pelago_base::limits::SEGMENT_BYTES_MAX;

/// Number of polls of the transport after which a context publishes its operation counters, if it does not sleep before.
pub const TALLY_ROUNDS: u16 = 1024;

/// Number of unused address bytes behind each registered region. An access that overruns a region by less fails instead of reaching the
/// next region.
pub const REGION_GAP_BYTES: u64 = 64 * 1024;

/// Maximum number of address ranges of dropped regions that stay unused. The oldest range is reused first. Each takes 16 bytes.
pub const REGIONS_RETIRED_MAX: usize = 1 << 16;

/// Maximum number of operations of one context that are queued or in flight. Above this limit, issuing an operation waits for progress. A network may
/// allow fewer: `Capabilities::operations_max`.
pub const OPERATIONS_IN_FLIGHT_MAX: usize = 1024;

/// Maximum number of words of one object by which streams of a device wait for operations: the maximum number of operations in flight.
pub const DEVICE_COMPLETIONS_MAX: usize = OPERATIONS_IN_FLIGHT_MAX;

/// Maximum size of the table of operations in flight. The table grows with demand; the index of an operation is its number modulo the size.
/// Twice the maximum number of operations keeps the search for a free index short.
pub const OPERATION_PLACES: usize = 2 * OPERATIONS_IN_FLIGHT_MAX;

/// Initial size of the table of operations in flight: sufficient for a collective operation.
pub const OPERATION_PLACES_FIRST: usize = 4;

/// Maximum number of groups of failed operations that a context remembers. A group covers operations among 64 consecutive numbers with the
/// same error. Twice the maximum number of operations in flight (about 150 KB) covers the case that all of them fail with different errors.
/// The oldest group is dropped first.
pub const FAILURE_GROUPS_MAX: usize = 2 * OPERATIONS_IN_FLIGHT_MAX;

/// Minimum size in bytes of a transfer that is striped over several rails. A shorter part takes less time than the overhead of another
/// message.
pub const STRIPED_BYTES_MIN: u64 = 4096;

/// Maximum number of values of one indexed operation. Its list of offsets takes 1 MiB until the operation completes.
pub const INDEXED_VALUES_MAX: usize = 65_536;

/// Scratch memory in bytes per step and rank with which the built-in collectives move data.
pub const COLLECTIVE_CHUNK_BYTES: usize = 16 * 1024;

/// Maximum number of functions of a set of active messages: within the 16 bits of a batch entry.
pub const ACTIVE_FUNCTIONS_MAX: usize = 1 << 12;

/// Maximum number of batches in a rank's queue of active messages.
pub const ACTIVE_SLOTS_MAX: u32 = 1 << 16;

/// Maximum size in bytes of a batch of active messages: a sixteenth of the payload that a context captures.
pub const ACTIVE_BATCH_BYTES_MAX: usize = 1 << 20;

/// Maximum number of calls of active messages with outstanding replies; 64 bytes each.
pub const ACTIVE_CALLS_MAX: u32 = 1 << 16;

/// Maximum size in bytes of a reply to an active message: a cache line together with its flag.
pub const ACTIVE_REPLY_BYTES_MAX: usize = 56;

const _: () = {
    assert!(65_536 * REGION_GAP_BYTES < SEGMENT_BYTES_MAX, "the gaps take little of the addresses of the largest job");
    assert!(OPERATION_PLACES.is_power_of_two() && OPERATIONS_IN_FLIGHT_MAX < OPERATION_PLACES, "a place is always free");
    assert!(OPERATION_PLACES_FIRST.is_power_of_two() && OPERATION_PLACES_FIRST <= OPERATION_PLACES);
};

/// Maximum number of libraries, teams of one library, or sets of active messages with background work. A waiting rank calls each at every poll
/// of the transport.
pub const BACKGROUND_MAX: usize = 256;
