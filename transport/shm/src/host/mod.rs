//! The memory that the ranks of one host share.
//!
//! | file | content |
//! |---|---|
//! | `memory` | the file behind the mapping: creation, attachment, barriers of the start, failed ranks |
//! | `plan` | the sizes and addresses from which the file is created |
//! | `control` | the blocks of atomics at the start of the file: one of the job, one of each rank |
//! | `address_table` | the addresses of all hosts of the job, for transports over a network |
//! | `region_table` | the table of a rank's regions in the memory of the host, which every rank of the host reads |
//! | `imports` | memory of devices of other processes that is open in this one |
//! | `rank_report` | the waits and counters of a rank, for reports of the launcher |
//! | `published` | records by which ranks exchange addresses while they start |

pub(crate) mod address_table;
pub(crate) mod control;
pub(crate) mod imports;
pub(crate) mod memory;
pub(crate) mod plan;
mod published;
pub(crate) mod rank_report;
pub(crate) mod region_table;
