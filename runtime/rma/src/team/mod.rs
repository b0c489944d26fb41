//! What ranks do together: the job, groups, barriers, and memory that all of them allocate.

pub(crate) mod barrier;
pub(crate) mod group;
pub(crate) mod symmetric;
pub(crate) mod world;
