//! Settings of the collectives of a team.

use crate::choice::Rails;
use crate::cost::Model;

/// Default bytes of a piece: long relative to the time of a message, short relative to a core's own cache.
const FLOWING_BYTES: usize = 64 * 1024;

/// Default calls before the trial of a one-shot operation: enough that the trial is short in comparison.
const CALLS_BEFORE_TRIAL: u64 = 16;

/// Memory for operations, and parameters of the machine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of each member for all plans, prepared operations and [split](crate::Collectives::split) teams together. Pages are taken when they are first
    /// used.
    pub memory_bytes: usize,
    /// Maximum bytes of each member for one plan: longer blocks are split into pieces. No plan takes more than about half of `memory_bytes`.
    pub plan_bytes: usize,
    /// Bytes of a piece of an operation whose pieces follow one another through members, as in a long broadcast. Over networks whose data the cores
    /// move, such as UDP, pieces are longer if few members follow one another.
    pub piece_bytes: usize,
    /// Consecutive members on a host; `None`: the members that reach each other's memory, if each host has equally many.
    pub per_host: Option<u32>,
    /// The cost model; `None`: it is measured, by some barriers and puts.
    pub model: Option<Model>,
    /// Whether plans are for operations that run one at a time. Trials then start each operation after all members have met, in virtual time at the
    /// same instant, and compare durations. Otherwise trials run operations back to back and compare throughput.
    pub apart: bool,
    /// Calls of a one-shot operation with the same count, on blocks of 16 KiB or more, after which a [trial](crate::Choice::Trial) chooses its
    /// algorithm; `None`: the model's choice stays. Algorithms that were [tuned](crate::Collectives::tune) or [set](crate::Collectives::set) stay as
    /// well. The same on all members.
    pub calls_before_trial: Option<u64>,
    /// The rails of messages; `None`: a trial tries them all, and operations without a trial use the best rail for each peer.
    pub rails: Option<Rails>,
}

impl Default for Settings {
    fn default() -> Self {
        let (memory_bytes, plan_bytes, piece_bytes) = (64 << 20, 4 << 20, FLOWING_BYTES);
        let calls_before_trial = Some(CALLS_BEFORE_TRIAL);
        Self { memory_bytes, plan_bytes, piece_bytes, per_host: None, model: None, apart: false, calls_before_trial, rails: None }
    }
}
