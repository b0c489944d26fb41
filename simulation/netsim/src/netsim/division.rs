//! A machine divided into regions, which several threads simulate.
//!
//! The regions advance in windows of time. A window ends before any action in it has a consequence in another region, so that the regions need to
//! exchange messages only between windows. The caller reads the notices of earlier windows while the others are simulated: what it posts starts only
//! after the overhead of its NIC, and a window ends before anything that it may still post can start. It works on the first thread, in the time for
//! which that would wait for the others.
//!
//! ```text
//!  other threads    | window 8            | window 9            | window 10
//!  first thread     | window 8 | notices  | window 9 | notices  | window 10
//!                                of 5, 6               of 6, 7
//! ```
//!
//! Events have the same times and keys as on one thread, and the notices are returned in the order of the events that caused them. Hence the result is
//! the same for every number of regions.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{JoinHandle, yield_now};

use super::region::{Posted, Region, TimedNotice};
use crate::machine::spec::{RailKind, RailSpec};
use crate::machine::{Machine, MachineError};
use crate::network::{Border, Map, Messages};
use crate::operation::Notice;
use crate::statistics::{AtomicStatistics, Statistics};
use crate::topology::Topology;

/// Maximum number of threads.
const THREADS_MAX: u32 = 64;

/// The first thread also works for the caller, and gets this part of the network in relation to each other thread.
const SHARE_FIRST: u32 = 1;
const SHARE_OTHER: u32 = 2;

/// Number of events of a window from which on the threads share it: fewer take less time than waking a thread.
const EVENTS_SHARED_MIN: u64 = 200;

/// Number of polls of a thread that waits for the next window, and of polls with a yield of the core after them, before it sleeps: together a hundred
/// microseconds, as waking a thread takes about as long as a window.
const SPINS: u32 = 3000;
const YIELDS: u32 = 300;

/// Number of notices between two looks whether the other threads have finished their window.
const LOOK: u32 = 16;

/// How many notices before its turn the caller gets the token of a notice.
const SOON: usize = 8;

/// The regions of a machine, and their threads.
pub(crate) struct Division {
    /// The regions; `None` while their thread has them.
    regions: Vec<Option<Box<Region>>>,
    /// The threads of the regions; none for the first one.
    workers: Vec<Option<Worker>>,
    map: Arc<Map>,
    /// Posted operations that the regions do not have yet, by region.
    posted: Vec<Vec<Posted>>,
    /// The notices of each region that the caller has not read.
    unread: Vec<UnreadNotices>,
    /// Number of notices that the caller has read since the last look at the other threads.
    read: u32,
    /// The time before which the caller may act.
    limit: u64,
    lookahead: u64,
    overhead: u64,
    /// Whether the regions simulate a window whose notices are not in `unread` yet.
    is_running: bool,
    /// Number of events of all regions up to the last window, and in it.
    events: u64,
    recent: u64,
    /// Number of events of a window from which on the threads share the next one.
    shared_min: u64,
}

/// The notices of some windows of a region, of which the first `read` have been read.
#[derive(Default)]
struct UnreadNotices {
    windows: VecDeque<Vec<TimedNotice>>,
    read: usize,
}

impl UnreadNotices {
    #[inline]
    fn first(&self) -> Option<&TimedNotice> {
        self.windows.front()?.get(self.read)
    }

    /// Takes the first notice, which must exist. `soon` gets the token of a later one.
    #[inline]
    fn take(&mut self, soon: &mut impl FnMut(u64)) -> (u64, Notice) {
        let window = &self.windows[0];
        let TimedNotice { time, notice, .. } = window[self.read];
        self.read += 1;
        if let Some(later) = window.get(self.read + SOON) {
            soon(later.notice.token());
        }
        if self.read == window.len() {
            self.windows.pop_front();
            self.read = 0;
        }
        (time, notice)
    }
}

impl Division {
    /// Divides a machine among threads; `None` if that is impossible.
    pub(crate) fn new(
        machine: &Machine,
        nodes: u32,
        seed: u64,
        threads: u32,
        topologies: &[Topology],
    ) -> Result<Option<Self>, MachineError> {
        let threads = threads.min(THREADS_MAX) as usize;
        if threads < 2 || obstacle(machine).is_some() {
            return Ok(None);
        }
        let mut weights = vec![SHARE_OTHER; threads];
        weights[0] = SHARE_FIRST;
        let first = Region::new(machine, nodes, seed, Some(topologies))?;
        let overhead = first.rails.iter().map(|rail| rail.overhead).min().unwrap_or(0);
        let fabrics = &first.network.fabrics;
        let lookahead = fabrics.iter().map(|fabric| fabric.lookahead()).min().unwrap_or(0);
        let routers: Vec<_> = fabrics.iter().map(|fabric| fabric.topology.regions(fabric.terminals, &weights)).collect();
        let is_shared = (1..threads).any(|region| routers.iter().flatten().any(|&of| usize::from(of) == region));
        if overhead == 0 || lookahead == 0 || !is_shared {
            return Ok(None);
        }
        let map = Arc::new(first.network.map(&routers));
        let mut regions = vec![Some(Box::new(first))];
        for _ in 1..threads {
            regions.push(Some(Box::new(Region::new(machine, nodes, seed, Some(topologies))?)));
        }
        for (number, region) in regions.iter_mut().enumerate() {
            let Some(region) = region else { continue };
            region.network.border = Some(Box::new(Border::new(number as u8, map.clone(), threads)));
            region.inbox = (0..threads).map(|_| Messages::default()).collect();
        }
        let workers = (0..threads).map(|number| if number == 0 { None } else { Worker::start(number) }).collect();
        Ok(Some(Self {
            regions,
            workers,
            map,
            posted: (0..threads).map(|_| Vec::new()).collect(),
            unread: (0..threads).map(|_| UnreadNotices::default()).collect(),
            read: 0,
            limit: 0,
            lookahead,
            overhead,
            is_running: false,
            events: 0,
            recent: 0,
            shared_min: EVENTS_SHARED_MIN,
        }))
    }

    pub(crate) fn threads(&self) -> u32 {
        self.regions.len() as u32
    }

    /// Starts an operation.
    #[inline]
    pub(crate) fn start(&mut self, posted: Posted) {
        let region = self.map.nics[posted.facts.by as usize];
        self.posted[usize::from(region)].push(posted);
    }

    /// Advances to the next notice. `front` has the events of the caller. `soon` gets tokens that notices will carry soon.
    pub(crate) fn next(&mut self, front: &mut Region, soon: &mut impl FnMut(u64)) -> Option<Notice> {
        loop {
            if let Some(notice) = front.notices.pop_front() {
                return Some(notice);
            }
            let first = (self.unread.iter().enumerate())
                .filter_map(|(number, unread)| unread.first().map(|notice| ((notice.time, notice.key), number)))
                .min();
            let next = first.map_or((self.limit, 0), |(order, _)| order.min((self.limit, 0)));
            if front.step_before(next) {
                continue;
            }
            match first.filter(|((time, _), _)| *time < self.limit) {
                Some(_) if self.is_time_to_look() => _ = self.advance(front),
                Some((_, number)) => {
                    let (time, notice) = self.unread[number].take(soon);
                    front.queue.advance(time);
                    return Some(notice);
                }
                None if self.advance(front) => {}
                None => return None,
            }
        }
    }

    /// Whether all regions have simulated the current window before the caller has read its notices. Looks now and then.
    #[inline]
    fn is_time_to_look(&mut self) -> bool {
        self.read += 1;
        if self.read < LOOK || !self.is_running {
            return false;
        }
        self.read = 0;
        self.regions.iter_mut().zip(&self.workers).all(|(region, worker)| {
            if let (None, Some(worker)) = (&region, worker) {
                *region = worker.done.try_recv().ok();
            }
            region.is_some()
        })
    }

    /// Ends the current window and begins the next one; `false` if nothing is left to happen.
    fn advance(&mut self, front: &mut Region) -> bool {
        self.collect();
        self.exchange();
        let next = self.regions.iter_mut().flatten().map(|region| region.next_time()).min().unwrap_or(u64::MAX);
        let notices = self.unread.iter().filter_map(|unread| unread.first().map(|notice| notice.time));
        let acts = notices.chain(front.queue.next().map(|(time, _)| time)).min();
        if next == u64::MAX && acts.is_none() {
            let now = self.regions.iter().flatten().map(|region| region.queue.now()).chain([front.queue.now()]).max();
            now.into_iter().for_each(|now| front.queue.advance(now));
            return false;
        }
        // Nothing that the caller posts starts before: the next notice is one of those, or comes from the window.
        let starts = acts.unwrap_or(next).min(next).saturating_add(self.overhead);
        let end = next.saturating_add(self.lookahead).min(starts);
        if end > next {
            self.limit = next;
            self.run(end);
        } else {
            self.limit = end;
        }
        true
    }

    /// Lets all regions simulate until `end`.
    fn run(&mut self, end: u64) {
        self.is_running = true;
        let is_shared = self.recent >= self.shared_min;
        for (region, worker) in self.regions.iter_mut().zip(&self.workers) {
            let is_busy = region.as_mut().is_some_and(|region| region.next_time() < end);
            if let Some(worker) = worker.as_ref().filter(|_| is_shared && is_busy) {
                worker.order(region, end);
            }
        }
        // The first one last, as the others run meanwhile.
        self.regions.iter_mut().flatten().for_each(|region| region.run(end));
    }

    /// Waits until all regions have simulated the current window, and takes their notices.
    fn collect(&mut self) {
        if !std::mem::take(&mut self.is_running) {
            return;
        }
        let before = self.events;
        self.events = 0;
        for ((region, worker), unread) in self.regions.iter_mut().zip(&mut self.workers).zip(&mut self.unread) {
            if let (None, Some(worker)) = (&region, worker) {
                *region = Some(worker.finish());
            }
            let Some(region) = region else { continue };
            self.events += region.statistics.events;
            if !region.timed_notices.is_empty() {
                let capacity = region.timed_notices.capacity();
                unread.windows.push_back(std::mem::replace(&mut region.timed_notices, Vec::with_capacity(capacity)));
            }
        }
        self.recent = self.events - before;
    }

    /// Hands over all messages between regions, and the posted operations.
    fn exchange(&mut self) {
        for from in 0..self.regions.len() {
            for to in (0..self.regions.len()).filter(|&to| to != from) {
                let Ok([Some(from_region), Some(to_region)]) = self.regions.get_disjoint_mut([from, to]) else { continue };
                let Some(border) = &mut from_region.network.border else { continue };
                if !border.out[to].is_empty() {
                    // What came before has been read, and leaves its memory.
                    std::mem::swap(&mut border.out[to], &mut to_region.inbox[from]);
                }
            }
        }
        for (region, posted) in self.regions.iter_mut().flatten().zip(&mut self.posted) {
            // As they all start later than the last window, the region has scheduled the operations of the exchange before, unless there was no window.
            if region.posted.is_empty() {
                std::mem::swap(&mut region.posted, posted);
            } else {
                region.posted.append(posted);
            }
        }
    }

    /// Returns the number of events up to the last complete window.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Returns the counters of all regions. Those of events after the last notice count, too.
    pub(crate) fn statistics(&mut self) -> Statistics {
        self.collect();
        let mut busiest = None;
        let mut sum = Statistics::default();
        for region in self.regions.iter().flatten() {
            sum.add(region.statistics());
            let unit = region.busiest_atomics();
            busiest =
                busiest.into_iter().chain(unit).reduce(|most: (u32, _), unit| if is_busier(unit, most) { unit } else { most });
        }
        sum.busiest_atomics = busiest.map(|(_, unit)| unit);
        sum
    }
}

#[cfg(test)]
impl Division {
    /// Lets the threads share every window.
    pub(crate) fn share_all(&mut self) {
        self.shared_min = 0;
    }

    /// Checks that no packet, transfer or message is left.
    pub(crate) fn assert_empty(&mut self) {
        self.collect();
        for region in self.regions.iter_mut().flatten() {
            region.network.assert_empty();
            assert_eq!(region.transfers.used(), 0);
            region.network.border.iter().for_each(|border| border.assert_empty());
        }
    }
}

/// Whether an atomic unit was busy longer than another one, or is the first of equals.
fn is_busier((nic, unit): (u32, AtomicStatistics), (other, most): (u32, AtomicStatistics)) -> bool {
    (unit.busy, unit.count, Reverse(nic)) > (most.busy, most.count, Reverse(other))
}

/// Returns why a machine cannot be divided; `None` if it can.
pub(crate) fn obstacle(machine: &Machine) -> Option<&'static str> {
    let of = |rail: &RailSpec| {
        let routes = Topology::chooses_by_queues(&rail.topology);
        let reasons = [
            (rail.lossy(), "packets can be lost"),
            (rail.kind == RailKind::InfinibandUd, "datagrams are not acknowledged"),
            (rail.receive.slots.is_some(), "receive slots are limited"),
            (rail.congestion.is_some(), "NICs control congestion"),
            (rail.router.pfc.is_some(), "routers pause each other"),
            (rail.router.ecn.is_some(), "routers mark packets"),
            (routes, "routes depend on queues"),
            (rail.nic.overhead_ns <= 0.0, "operations start without an overhead"),
            (rail.link.cable_ns + rail.router.credit_ns <= 0.0, "routers notice at once what another one does"),
        ];
        reasons.into_iter().find_map(|(applies, reason)| applies.then_some(reason))
    };
    machine.rails.iter().find_map(of)
}

/// A thread that simulates one region.
struct Worker {
    orders: Option<Sender<(Box<Region>, u64)>>,
    done: Receiver<Box<Region>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts a thread; `None` if the system refuses one, in which case the first thread does its work.
    fn start(number: usize) -> Option<Self> {
        let (orders, received) = channel::<(Box<Region>, u64)>();
        let (finished, done) = channel();
        let work = move || {
            while let Some((mut region, end)) = receive(&received) {
                region.run(end);
                if finished.send(region).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name(format!("region {number}")).spawn(work).ok()?;
        Some(Self { orders: Some(orders), done, thread: Some(thread) })
    }

    /// Lets the thread simulate its region until `end`.
    fn order(&self, region: &mut Option<Box<Region>>, end: u64) {
        let (Some(orders), Some(taken)) = (&self.orders, region.take()) else { return };
        if let Err(refused) = orders.send((taken, end)) {
            *region = Some(refused.0.0);
        }
    }

    /// Waits until the thread has done so; returns the region.
    fn finish(&mut self) -> Box<Region> {
        receive(&self.done).unwrap_or_else(|| match self.thread.take().map(JoinHandle::join) {
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            _ => unreachable!("the thread has no other end before its orders"),
        })
    }
}

/// Receives the next value; `None` if no sender is left. Polls for a moment before it sleeps.
fn receive<T>(receiver: &Receiver<T>) -> Option<T> {
    for poll in 0..SPINS + YIELDS {
        match receiver.try_recv() {
            Err(TryRecvError::Empty) if poll < SPINS => spin_loop(),
            Err(TryRecvError::Empty) => yield_now(),
            received => return received.ok(),
        }
    }
    receiver.recv().ok()
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was or will be passed on by `finish`.
            _ = thread.join();
        }
    }
}
