//! Jobs of several hosts over a network of the kernel's own, which loses datagrams, cuts them short and falls silent. The hosts are
//! network namespaces of this machine. Where that is not allowed, nothing is tested, and a line says so.

mod acp;
mod adopted;
mod fabric;
mod job;
mod kills;
mod lost;
mod network;
mod same_result;
mod shmem;
