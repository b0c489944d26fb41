//! Registered memory: memory that the program of a rank owned before it became part of the global address space.
//!
//! | file | content |
//! |---|---|
//! | `location` | the location of a global address of this host, as one rank accesses it |
//! | `cross_memory_attach` | copies from and to another process (`process_vm_readv`, `process_vm_writev`) |
//! | `progress_thread` | requests that only the owner of a region can serve, and the thread that serves them |

pub(crate) mod cross_memory_attach;
pub(crate) mod location;
pub(crate) mod progress_thread;
