//! Bounds that every implementation of the boundary keeps, with their reasons.

/// Maximum number of payload bytes that a context copies and keeps for operations that are queued or in flight. Above this limit, issuing
/// an operation waits for progress, unless no operation is in flight. 16 MiB cover the bandwidth-delay product of any network of 2026.
pub const CAPTURED_BYTES_MAX: usize = 16 << 20;

/// Maximum number of completions that a transport holds until its user polls them; `post` then returns `Full`.
pub const COMPLETIONS_MAX: usize = 1024;

/// Maximum number of bytes that each rank publishes at start for its peers: addresses of network endpoints.
pub const PUBLISHED_BYTES_MAX: usize = 1024;
