//! Bounds of operations in flight and of what is known of them, with their reasons.

use pelago_base::limits::SEGMENT_BYTES_MAX;

/// Bytes of addresses after each registered region that lead nowhere, so that an access past its end does not reach the next region.
/// The longest element that a program is likely to be off by, times some.
pub const REGION_GAP_BYTES: u64 = 64 * 1024;

/// Address ranges of dropped regions that are kept out of use; the oldest is used again first. Sixteen bytes each.
pub const REGIONS_RETIRED_MAX: usize = 1 << 16;

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

/// Bytes of a transfer that goes by several rails in parts: of a shorter one a part takes less time than a message more.
pub const STRIPED_BYTES_MIN: u64 = 4096;

/// Values that one operation moves to or from places of their own: a list of them takes 1 MiB until the operation ends.
pub const INDEXED_VALUES_MAX: usize = 65_536;

/// Bytes of the scratch by which a collective moves data, per step and rank.
pub const COLLECTIVE_CHUNK_BYTES: usize = 16 * 1024;

const _: () = {
    assert!(65_536 * REGION_GAP_BYTES < SEGMENT_BYTES_MAX, "the gaps take little of the addresses of the largest job");
    assert!(OPERATION_PLACES.is_power_of_two() && OPERATIONS_IN_FLIGHT_MAX < OPERATION_PLACES, "a place is always free");
    assert!(OPERATION_PLACES_FIRST.is_power_of_two() && OPERATION_PLACES_FIRST <= OPERATION_PLACES);
};

/// Libraries, or teams of one, that have operations in the background: each is called at every look at the transport while a rank waits.
pub const BACKGROUND_MAX: usize = 256;
