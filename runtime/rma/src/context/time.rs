//! Time, and how much of the world is simulated.

use pelago_base::{Duration, Instant};

use crate::Context;

impl Context {
    /// The present moment; virtual time in a simulation.
    pub fn now(&self) -> Instant {
        self.shared.clock.now()
    }

    /// Lets `duration` of computing pass: in virtual time the clock moves on; on a real machine computing takes its own time, and nothing
    /// happens. It says how long a part of the program takes on the machine that is simulated.
    pub fn compute(&self, duration: Duration) {
        if let Some(time) = self.shared.virtual_time() {
            time.compute(duration);
        }
    }

    /// Whether time passes as a simulated machine says: then [`compute`](Self::compute) is all that a program does where it would compute.
    pub fn has_virtual_time(&self) -> bool {
        self.shared.virtual_time().is_some()
    }

    /// As [`compute`](Self::compute), for as long as the machine that is simulated takes to gather blocks of so many bytes into one piece, or to
    /// scatter them: for whoever packs what is to travel.
    pub fn gathered(&self, bytes: u64) {
        if let Some(time) = self.shared.virtual_time() {
            time.gather(bytes);
        }
    }

    /// Whether transfers move what they are given. `false` in a simulation that was asked for sizes only (`pelago sim --data sizes`): a put, get
    /// or copy of more than 64 bytes between two ranks takes its time there and leaves the memory of both ends as it was; shorter ones,
    /// atomics and collective operations are as ever.
    ///
    /// A program that is told so must neither check nor compute with what such transfers bring. One that never asks gets
    /// [`Error::SizesOnly`](crate::Error::SizesOnly) from its first.
    pub fn moves_data(&self) -> bool {
        self.shared.moves_data()
    }
}
