//! The last action of a process of a failed job of several hosts: it asks the launcher to end the other processes.
//!
//! The launcher may immediately end this process as well, and those of its host. Therefore the request is sent when the process exits, after its report, and
//! after the others of its host have had the time for theirs.
//!
//! - **E1** The function that the system calls at exit does not unwind: it locks, sleeps and writes, and none of these panics.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use pelago_base::Duration;
use pelago_platform::Clock;

use crate::OsClock;
use crate::adoption::launcher_store::{SharedStore, locked};

/// Time for the other ranks of the host to report why they end.
const PAUSE: Duration = Duration::from_milliseconds(200);

/// Maximum time for the launcher's reply.
const ABORT_LIMIT: Duration = Duration::from_milliseconds(500);

static AT_EXIT: OnceLock<(SharedStore, i32, OsClock)> = OnceLock::new();

/// Makes the launcher end all processes of the job when this one exits; the launcher exits with `code` if it can.
pub(crate) fn at_exit(store: SharedStore, code: i32, clock: OsClock) {
    if AT_EXIT.set((store, code, clock)).is_ok() {
        // SAFETY: E1. If the system has no room for another function, the launcher only notices the end of this process.
        let _ = unsafe { libc::atexit(abort) };
    }
}

/// Sends the request to the launcher now.
pub(crate) fn abort_now(store: &SharedStore, code: i32, clock: OsClock) {
    locked(store).abort(code, clock.now() + ABORT_LIMIT);
}

extern "C" fn abort() {
    if let Some((store, code, clock)) = AT_EXIT.get() {
        std::thread::sleep(PAUSE.into());
        abort_now(store, *code, *clock);
    }
}
