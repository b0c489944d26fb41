//! What ranks do together: the job, groups, barriers; and going on without ranks that failed.

pub(crate) mod barrier;
pub(crate) mod group;
pub(crate) mod survival;
pub(crate) mod world;
