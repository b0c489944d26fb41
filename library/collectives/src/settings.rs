//! Settings of the collectives of a team.

use crate::choice::Rails;
use crate::cost::Model;

/// Bytes of a piece, unless a program says otherwise: long beside the time of a message, short beside what a core keeps near.
const FLOWING_BYTES: usize = 64 * 1024;

/// Calls after which one-shot operations of one shape are tried: many enough that the trial is short beside them.
const CALLS_BEFORE_TRIAL: u64 = 16;

/// Memory for operations, and parameters of the machine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of each member for all plans and prepared operations together. Pages are taken when they are first used.
    pub memory_bytes: usize,
    /// Bytes of each member for one plan, at most: longer blocks go in pieces.
    pub plan_bytes: usize,
    /// Bytes of a piece of an operation whose pieces follow one another through members, as those of a long broadcast do. Over networks whose processors move the data, as UDP, pieces are
    /// longer if few members follow one another.
    pub piece_bytes: usize,
    /// Consecutive members on a host; `None`: those that reach each other's memory, if there are equally many on each host.
    pub per_host: Option<u32>,
    /// The cost model; `None`: it is measured, by some barriers and puts.
    pub model: Option<Model>,
    /// Whether plans are for operations that come one at a time: trials then begin each after all members have met, in virtual time at the same
    /// instant, and judge how long it takes. Else operations follow one another, and what counts is how many are done.
    pub apart: bool,
    /// One-shot operations on blocks of 16 KiB or more: after so many calls of the same operation with the same count, a [trial](crate::Choice::Trial) chooses its algorithm;
    /// `None`: the model's stays. Algorithms that were [tuned](crate::Collectives::tune) or [set](crate::Collectives::set) stay as well. The same on all members.
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
