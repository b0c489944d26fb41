//! Bounds that every implementation of the boundary keeps, with their reasons.

/// Bytes that the operations of a context keep while they wait or are on their way; past it, issuing waits for progress, unless
/// nothing else is in flight. Sixteen megabytes keep any network of today busy for longer than a round trip.
pub const CAPTURED_BYTES_MAX: usize = 16 << 20;

/// Completions that a transport holds for its user before `post` answers `Full`.
pub const COMPLETIONS_MAX: usize = 1024;

/// Bytes that ranks publish for each other at start, per rank: addresses of network end points.
pub const PUBLISHED_BYTES_MAX: usize = 1024;
