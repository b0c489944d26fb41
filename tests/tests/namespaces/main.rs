//! Jobs of several hosts over a virtual network of the kernel that loses datagrams, limits their size and is interrupted. The hosts are
//! network namespaces of one machine. Where namespaces are not allowed, nothing is tested, and a line says so.

mod acp;
mod adopted;
mod fabric;
mod job;
mod kills;
mod lost;
mod network;
mod same_result;
mod shmem;
