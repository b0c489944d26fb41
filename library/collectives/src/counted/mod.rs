//! Operations on blocks of different lengths: with a count for each member.
//!
//! | part | for |
//! |---|---|
//! | `schedule` | which blocks a member sends and receives, and in which order: pure functions of counts and position |
//! | `streams` | a bounded stream of fragments for each pair of members |
//! | `exchange` | the execution of a schedule over the streams |
//!
//! The schedules of plans (`crate::schedule`) need equal blocks: where a message lands depends on them. Counts that change with every call,
//! as in a sort, would need a new plan for every call. Here a message lands in the next slot of the stream between its two members, so that
//! no call prepares anything.

pub(crate) mod exchange;
pub(crate) mod schedule;
pub(crate) mod streams;
