//! Time, and properties of the simulation.

use pelago_base::{Duration, Instant};

use crate::Context;

impl Context {
    /// The current time; virtual time in a simulation.
    pub fn now(&self) -> Instant {
        self.shared.clock.now()
    }

    /// Accounts for `duration` of computation: virtual time advances; on a real machine the call does nothing, because computation takes its own
    /// time. The duration states how long a part of the program takes on the simulated machine.
    pub fn compute(&self, duration: Duration) {
        if let Some(time) = self.shared.virtual_time() {
            time.compute(duration);
        }
    }

    /// Whether time is the virtual time of a simulated machine: then [`compute`](Self::compute) replaces the computation of the program.
    pub fn has_virtual_time(&self) -> bool {
        self.shared.virtual_time().is_some()
    }

    /// As [`compute`](Self::compute), for the time that the simulated machine takes to gather blocks of `bytes` bytes in total into one piece, or to
    /// scatter them: for programs that pack data before a transfer.
    pub fn gathered(&self, bytes: u64) {
        if let Some(time) = self.shared.virtual_time() {
            time.gather(bytes);
        }
    }

    /// Whether transfers move their bytes. `false` in a simulation with sizes only (`pelago sim --data sizes`): there, a put, get
    /// or copy of more than 64 bytes between two ranks takes its time and leaves the memory of both ends unchanged; shorter transfers,
    /// atomics and collective operations move their bytes.
    ///
    /// If `false`, the program must neither check nor compute with the data of such transfers. A program that never calls this method gets
    /// [`Error::SizesOnly`](crate::Error::SizesOnly) from its first such transfer.
    pub fn moves_data(&self) -> bool {
        self.shared.moves_data()
    }
}
