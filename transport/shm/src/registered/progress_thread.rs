//! Operations on registered memory that only its owner can execute: atomics, and copies where the system forbids cross-memory attach.
//!
//! A request waits in the inbox of its target. A thread of the target that waits in the library, or else the target's progress thread,
//! executes the request and writes the reply into a slot of the requester. Data pass through the staging buffer of the requester, which every
//! rank of the host maps.

use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use pelago_base::{AtomicOperator, GlobalAddress, Rank, Width};
use pelago_memory::Region;
use pelago_platform::Failure;

use crate::HostMemory;
use crate::host::control::{REQUEST_WORDS, RankStage, ReplySlot};
use crate::host::memory::words;
use crate::registered::location::locate;

/// Maximum time for which a progress thread sleeps while no bell rings: a rank that is killed while it puts a request into the inbox may have woken no
/// thread, for its own request and for those of other ranks.
const WATCH: Duration = Duration::from_secs(1);

/// The thread that serves a rank's registered memory while no thread of the rank waits in the library. Sleeps unless there are requests; ends when
/// dropped.
pub struct ProgressThread {
    host: Arc<HostMemory>,
    me: Rank,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressThread {
    /// Starts the progress thread of `me`.
    ///
    /// # Errors
    /// The system refuses to start a thread.
    pub fn start(host: Arc<HostMemory>, me: Rank) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::Builder::new().name("pelago-progress".into()).stack_size(128 * 1024).spawn({
            let (host, stop) = (host.clone(), stop.clone());
            move || {
                let Some(control) = host.control(me) else { return };
                while !stop.load(Ordering::Acquire) {
                    if !serve(&host, me) {
                        let mut ready = || stop.load(Ordering::Acquire) || !control.inbox.is_empty();
                        control.progress_thread_bell.sleep(Some(WATCH), &mut ready);
                    }
                }
            }
        })?;
        Ok(Self { host, me, stop, thread: Some(thread) })
    }
}

impl Drop for ProgressThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(control) = self.host.control(self.me) {
            control.progress_thread_bell.ring();
        }
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// A request of one rank to the owner of registered memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnerRequest {
    pub(crate) from: Rank,
    pub(crate) reply: u8,
    /// The number of the request among those of its reply slot.
    pub(crate) number: u32,
    pub(crate) address: GlobalAddress,
    pub(crate) task: OwnerTask,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnerTask {
    /// Perform an atomic.
    Atomic { width: Width, operator: AtomicOperator, operand: u64 },
    /// Copy `bytes` bytes from `address` to the requester's staging buffer.
    Fetch { bytes: u64 },
    /// Copy `bytes` bytes from the requester's staging buffer to `address`.
    Store { bytes: u64 },
}

/// The states of a reply slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyStatus {
    Free,
    /// The owner has not taken up the request. The requester may still withdraw it.
    Pending,
    /// The owner executes the request.
    Executing,
    Done,
    OutOfBounds,
    Misaligned,
    Device,
}

impl ReplyStatus {
    /// Returns the word of a slot for the request with this number.
    pub(crate) fn word(self, number: u32) -> u64 {
        u64::from(number) << 32 | self as u64
    }

    pub(crate) fn from_word(word: u64) -> Self {
        let all = [Self::Free, Self::Pending, Self::Executing, Self::Done, Self::OutOfBounds, Self::Misaligned];
        all.get(word as u32 as usize).copied().unwrap_or(Self::Device)
    }

    /// The result of an operation with this reply; `None` while there is no reply.
    pub(crate) fn result(self, at: GlobalAddress, value: u64) -> Option<Result<u64, Failure>> {
        Some(match self {
            Self::Free | Self::Pending | Self::Executing => return None,
            Self::Done => Ok(value),
            Self::OutOfBounds => Err(Failure::OutOfBounds(at)),
            Self::Misaligned => Err(Failure::Misaligned(at)),
            Self::Device => Err(Failure::Device(at)),
        })
    }
}

/// Executes one request of `me`'s inbox; returns whether there was one. Skips one whose rank has failed before it was complete: others wait behind it.
pub(crate) fn serve(host: &HostMemory, me: Rank) -> bool {
    let Some(control) = host.control(me) else { return false };
    if control.inbox.is_empty() {
        let has_failed = |rank: &u32| host.control(Rank::new(*rank)).is_some_and(|rank| rank.stage() == RankStage::Failed);
        return control.inbox.claimant().filter(has_failed).is_some_and(|rank| control.inbox.skip(rank));
    }
    let Some(words) = control.inbox.pop() else { return false };
    // A malformed request is dropped: it names no requester to reply to.
    if let Some(request) = OwnerRequest::decode(words)
        && let Some(requester) = host.control(request.from)
        && let Some(reply) = requester.replies.get(usize::from(request.reply))
        && reply.take_up(request.number)
    {
        let (status, value) = match execute(host, me, &request) {
            Ok(value) => (ReplyStatus::Done, value),
            Err(Failure::Misaligned(_)) => (ReplyStatus::Misaligned, 0),
            Err(Failure::Device(_)) => (ReplyStatus::Device, 0),
            Err(_) => (ReplyStatus::OutOfBounds, 0),
        };
        reply.value.store(value, Ordering::Relaxed);
        reply.status.store(status.word(request.number), Ordering::Release);
        requester.bell.ring();
        // A thread of this rank may wait for the write to its memory.
        control.bell.ring();
    }
    true
}

fn execute(host: &HostMemory, me: Rank, request: &OwnerRequest) -> Result<u64, Failure> {
    let outside = Failure::OutOfBounds(request.address);
    let bytes = match request.task {
        OwnerTask::Atomic { width, .. } => width.bytes(),
        OwnerTask::Fetch { bytes } | OwnerTask::Store { bytes } => bytes,
    };
    let place = locate(host, me, request.address, bytes)?;
    let memory = place.region().ok_or(outside)?;
    let requester = host.control(request.from).ok_or(outside)?;
    let staging = || words(&requester.staging).part(0, bytes).map(Region::Host).ok_or(outside);
    let failed = |_| Failure::Device(request.address);
    match request.task {
        OwnerTask::Atomic { width, operator, operand } => {
            memory.atomic(width, operator, operand).map_err(failed)?.ok_or(Failure::Misaligned(request.address))
        }
        OwnerTask::Fetch { .. } => staging()?.copy_from(&memory).map(|()| 0).map_err(failed),
        OwnerTask::Store { .. } => memory.copy_from(&staging()?).map(|()| 0).map_err(failed),
    }
}

impl ReplySlot {
    /// Begins the execution of a request (owner); `false` if the requester has withdrawn it.
    fn take_up(&self, number: u32) -> bool {
        let [pending, executing] = [ReplyStatus::Pending, ReplyStatus::Executing].map(|status| status.word(number));
        self.status.compare_exchange(pending, executing, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Frees the slot of a request that its owner has not taken up (requester).
    pub(crate) fn withdraw(&self, number: u32) -> bool {
        let [pending, free] = [ReplyStatus::Pending, ReplyStatus::Free].map(|status| status.word(number));
        self.status.compare_exchange(pending, free, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

impl OwnerRequest {
    pub(crate) fn encode(&self) -> [u64; REQUEST_WORDS] {
        let (kind, operator, width, operand, expected) = match self.task {
            OwnerTask::Atomic { width, operator, operand } => {
                let (code, expected) = operator.code();
                (0, u64::from(code), width.bytes(), operand, expected.unwrap_or(0))
            }
            OwnerTask::Fetch { bytes } => (1, 0, 0, bytes, 0),
            OwnerTask::Store { bytes } => (2, 0, 0, bytes, 0),
        };
        let head = kind | operator << 8 | width << 16 | u64::from(self.reply) << 24 | u64::from(self.from) << 32;
        [head, self.address.bits(), operand, expected, self.number.into()]
    }

    pub(crate) fn decode([head, address, operand, expected, number]: [u64; REQUEST_WORDS]) -> Option<Self> {
        let byte = |index: u32| (head >> (8 * index)) as u8;
        let task = match byte(0) {
            0 => OwnerTask::Atomic {
                width: if byte(2) == 4 { Width::Four } else { Width::Eight },
                operator: AtomicOperator::from_code(byte(1), expected)?,
                operand,
            },
            1 => OwnerTask::Fetch { bytes: operand },
            2 => OwnerTask::Store { bytes: operand },
            _ => return None,
        };
        let (from, number) = (Rank::new((head >> 32) as u32), number as u32);
        Some(Self { from, reply: byte(3), number, address: GlobalAddress::from_bits(address), task })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostPlan;
    use pelago_base::SegmentId;

    #[test]
    fn requests_survive_encoding() {
        use AtomicOperator::*;
        let tasks = [
            Load,
            Swap,
            CompareSwap { expected: u64::MAX - 1 },
            Add,
            And,
            Or,
            Xor,
            Max,
            Min,
            MaxSigned,
            MinSigned,
            AddFloat,
            MaxFloat,
            MinFloat,
        ]
        .into_iter()
        .flat_map(|operator| {
            [Width::Four, Width::Eight].map(|width| OwnerTask::Atomic { width, operator, operand: 0xDEAD_BEEF_0BAD_F00D })
        })
        .chain([OwnerTask::Fetch { bytes: 77 }, OwnerTask::Store { bytes: 1 << 40 }]);
        for task in tasks {
            let request = OwnerRequest {
                from: Rank::new(u32::MAX),
                reply: 31,
                number: u32::MAX - 1,
                address: GlobalAddress::from_bits(u64::MAX / 3),
                task,
            };
            assert_eq!(OwnerRequest::decode(request.encode()), Some(request));
        }
    }

    /// A rank is killed between its request and the ring of the bell, or between the two steps of the ring.
    #[test]
    fn a_request_is_served_although_nobody_rings() {
        let [owner, asker] = [0, 1].map(Rank::new);
        let host = Arc::new(HostMemory::create(&HostPlan::local(2, Some(1 << 20))).unwrap().0);
        let word = host.reach().addresses().encode(owner, SegmentId::SYMMETRIC, 0).unwrap();
        let _thread = ProgressThread::start(host.clone(), owner).unwrap();
        let [control, reply] = [host.control(owner).unwrap(), host.control(asker).unwrap()];
        while !control.progress_thread_bell.has_sleeper() {
            std::thread::yield_now();
        }
        let task = OwnerTask::Atomic { width: Width::Eight, operator: AtomicOperator::Add, operand: 7 };
        reply.replies[0].status.store(ReplyStatus::Pending.word(1), Ordering::Relaxed);
        let request = OwnerRequest { from: asker, reply: 0, number: 1, address: word, task };
        control.inbox.push(0, request.encode()).unwrap();
        // Turns a hang into a failure; nothing depends on its length.
        let mut looks = 0..6000;
        while reply.replies[0].status.load(Ordering::Acquire) != ReplyStatus::Done.word(1) {
            assert!(looks.next().is_some(), "the progress thread sleeps for ever");
            std::thread::sleep(WATCH / 100);
        }
    }

    /// A rank is killed between its claim of a place in the inbox and its request: the requests behind it are served once its failure is known.
    #[test]
    fn a_request_of_which_only_the_claim_is_left_is_skipped() {
        let [owner, killed, asker] = [0, 1, 2].map(Rank::new);
        let host = HostMemory::create(&HostPlan::local(3, Some(1 << 20))).unwrap().0;
        host.set_fault_tolerant();
        let word = host.reach().addresses().encode(owner, SegmentId::SYMMETRIC, 0).unwrap();
        let [control, reply] = [host.control(owner).unwrap(), host.control(asker).unwrap()];
        let _never_published = control.inbox.claim(killed.number()).unwrap();
        let task = OwnerTask::Atomic { width: Width::Eight, operator: AtomicOperator::Add, operand: 7 };
        reply.replies[0].status.store(ReplyStatus::Pending.word(1), Ordering::Relaxed);
        let request = OwnerRequest { from: asker, reply: 0, number: 1, address: word, task };
        control.inbox.push(asker.number(), request.encode()).unwrap();
        assert!(!serve(&host, owner) && !serve(&host, owner), "the rank may be slow");
        assert!(host.mark_failed(killed));
        assert!(serve(&host, owner) && serve(&host, owner) && !serve(&host, owner));
        assert_eq!(reply.replies[0].status.load(Ordering::Acquire), ReplyStatus::Done.word(1));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        assert_eq!(OwnerRequest::decode([3, 0, 0, 0, 0]), None);
        assert_eq!(OwnerRequest::decode([u64::from(AtomicOperator::COUNT) << 8, 0, 0, 0, 0]), None);
    }
}
