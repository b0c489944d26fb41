//! The exit code of a process that ends because of a fault of its job.

use pelago_platform::Fault;

/// Returns the exit code of a rank that ends because of `fault`.
pub(crate) fn exit_code(fault: Fault) -> i32 {
    match fault {
        Fault::PeerLost(_) | Fault::Unreachable(_) => 3,
        Fault::Ended => 0,
        _ => 1,
    }
}
