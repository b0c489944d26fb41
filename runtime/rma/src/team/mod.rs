//! Collective functions: the job, groups, barriers, and memory that all ranks allocate.

pub(crate) mod barrier;
pub(crate) mod group;
pub(crate) mod symmetric;
pub(crate) mod world;
