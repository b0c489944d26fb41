//! The library's use of the cores of a node.

use serde::Deserialize;

/// The use that a communication library makes of the cores of a node, before an operation reaches the NIC and after its end. Times are in
/// nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Software {
    /// How operations reach the NIC.
    pub submission: Submission,
    /// Whether several threads of a rank may post operations, so that each call takes a lock.
    pub threads: Threads,
    /// Whether the descriptor of each operation must be built.
    pub descriptors: Descriptors,
    /// What performs an atomic.
    pub atomics: Atomics,
    /// Whether the progress thread that serves other ranks is the one that posts operations.
    pub serving: Serving,
    /// What detects that a message has arrived.
    pub detection: Detection,
    /// Number of cores of a rank besides the one that runs its program.
    pub spare_cores: u32,
    /// Time of the call that posts an operation and of the call that waits for it, besides the times below.
    pub call_ns: f64,
    /// The same for an atomic on the rank's own memory that no NIC performs.
    pub own_call_ns: f64,
    /// Time of the locks of both calls.
    pub lock_ns: f64,
    /// Time from posting into the queue until the progress thread has the operation.
    pub queue_ns: f64,
    /// Time from the end of an operation until the progress thread has reported it to its rank.
    pub notify_ns: f64,
    /// Time to build a descriptor.
    pub descriptor_ns: f64,
    /// Time of a progress thread's work for an operation of another rank.
    pub serve_ns: f64,
    /// Time from the detection of a packet by a detection thread until its rank runs.
    pub signal_ns: f64,
}

impl Software {
    /// Returns the factor by which all work of a rank takes longer than on a core of its own. A detection thread polls continuously; if it shares
    /// the only core with its rank, each of the two gets half of the core.
    pub fn slowdown(&self) -> f64 {
        if self.detection == Detection::Thread && self.spare_cores == 0 { 2.0 } else { 1.0 }
    }
}

/// How operations reach the NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Submission {
    /// The library takes no time: the NIC gets an operation when it is posted, and the rank sees its end immediately.
    #[default]
    Free,
    /// The rank posts them itself.
    Direct,
    /// Through a queue to the progress thread, which posts them.
    ProgressThread,
    /// The rank posts an operation itself if it has no other in flight, else through the progress thread; the progress thread reports the end.
    Bypass,
}

/// How many threads of a rank may post operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Threads {
    /// One, without a lock.
    #[default]
    One,
    /// Several.
    Many,
}

/// The descriptors of operations, which the NIC reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Descriptors {
    /// Prepared beforehand.
    #[default]
    Prepared,
    /// Built for each operation.
    Built,
}

/// What performs an atomic on a word of another rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Atomics {
    /// The NIC of that rank.
    #[default]
    Nic,
    /// The progress thread of that rank; request and reply are puts.
    ProgressThread,
}

/// Which progress thread serves other ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Serving {
    /// The one that posts operations, one task after another.
    #[default]
    Together,
    /// A second one.
    Apart,
}

/// What detects the arrival of a message in memory that must be switched over to the host before a rank can read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Detection {
    /// The rank itself, which polls while it waits in the library.
    #[default]
    Inline,
    /// A thread that polls continuously and signals its rank.
    Thread,
}
