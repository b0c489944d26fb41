//! What a process of a job of several hosts does last when the job has failed: it asks the launcher to end the others.
//!
//! The launcher may end this process at once as well, and those of its host. So the request comes when the process exits, after it has said why, and
//! after the others of its host have had the time to do so too.
//!
//! - **E1** The function that the system calls at exit does not unwind: it locks, sleeps and writes, and none of these panics.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use pelago_base::Duration;
use pelago_platform::Clock;

use crate::OsClock;
use crate::adoption::launcher_store::{SharedStore, locked};

/// How long the other ranks of the host have to say why they end.
const PAUSE: Duration = Duration::from_milliseconds(200);

/// How long the launcher may take.
const ABORT_LIMIT: Duration = Duration::from_milliseconds(500);

static AT_EXIT: OnceLock<(SharedStore, i32, OsClock)> = OnceLock::new();

/// Has the launcher end all processes of the job when this one exits; the launcher ends with `code` if it can.
pub(crate) fn at_exit(store: SharedStore, code: i32, clock: OsClock) {
    if AT_EXIT.set((store, code, clock)).is_ok() {
        // SAFETY: E1. Where the system has no room for another function, the launcher sees this process end, and that is all.
        let _ = unsafe { libc::atexit(abort) };
    }
}

/// Asks the launcher now.
pub(crate) fn abort_now(store: &SharedStore, code: i32, clock: OsClock) {
    locked(store).abort(code, clock.now() + ABORT_LIMIT);
}

extern "C" fn abort() {
    if let Some((store, code, clock)) = AT_EXIT.get() {
        std::thread::sleep(PAUSE.into());
        abort_now(store, *code, *clock);
    }
}
